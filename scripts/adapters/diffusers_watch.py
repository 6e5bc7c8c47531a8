"""Watches a diffusers pipeline while it runs: stages, progress, previews, the trace, cancelling inside a step.

Everything that is told is what the pipeline's own __call__ computed: its methods are wrapped while it runs, nothing is repeated.
"""

import contextlib
import functools
import re
import sys

import torch
from diffusers.utils import torch_utils

EMBEDS = ("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
# The modules whose outputs are blocks of a trace, by their names in a checkpoint.
BLOCKS = re.compile(
    r"(encoder\.|decoder\.)?("
    r"conv_in|conv_out|(down_blocks\.\d+|up_blocks\.\d+|mid_block)\.(resnets|attentions|downsamplers|upsamplers)\.\d+(\.transformer_blocks\.\d+)?)"
    r"|time_embedding|add_embedding|text_model\.(embeddings|encoder\.layers\.\d+|final_layer_norm)|vision_model\.vision_model\.encoder\.layers\.\d+"
)


def networks(pipe):
    """The networks of a pipeline with the prefix that their modules' names lack in checkpoints."""
    for name in ("text_encoder", "text_encoder_2", "unet", "vae", "safety_checker"):
        network = getattr(pipe, name, None)
        if isinstance(network, torch.nn.Module):
            names = [module for module, _ in network.named_modules()]
            prefix = "text_model." if name.startswith("text") and not any(module.startswith("text_model.") for module in names) else ""
            if name == "safety_checker" and not any(module.startswith("vision_model.vision_model.") for module in names):
                prefix = "vision_model."
            yield name, network, prefix


class Timed:
    """A tokenizer whose calls are a stage."""

    def __init__(self, tokenizer, run):
        self._tokenizer, self._run = tokenizer, run

    def __call__(self, *arguments, **named):
        with self._run.stage("tokenize"):
            return self._tokenizer(*arguments, **named)

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)


class Watch:
    """Inside `with Watch(...) as watch`, call the pipeline with `callback_on_step_end=watch.on_step_end`; `watch.trace` holds the trace.

    latents: takes the place of the noise of an image-to-image run (text-to-image takes it as an argument).
    preview: decodes latents for a preview; `stride` says after how many steps.
    """

    def __init__(self, pipe, run, steps, level="none", latents=None, stride=None, preview=None, guided=True):
        self.pipe, self.run, self.steps, self.level, self.latents = pipe, run, steps, level, latents
        self.stride, self.preview, self.guided = stride, preview, guided
        self.trace, self.blocks, self.timesteps = {}, {}, []
        self.entry, self.progress, self.draws, self.floor, self.original_sample = 0, 0, 0, 0, None
        self.completes = None

    # What is wrapped

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        pipe = self.pipe
        self.floor = self.run.depth
        self.wrap(pipe, "encode_prompt", self.watched_encode_prompt)
        self.wrap(pipe, "prepare_latents", lambda call: self.staged(call, "latents"))
        self.wrap(pipe.scheduler, "scale_model_input", self.watched_scale)
        self.wrap(pipe.scheduler, "step", self.watched_step)
        self.wrap(pipe.vae, "decode", lambda call: self.staged(call, "vae_decode"))
        self.wrap(pipe.vae, "encode", lambda call: self.staged(call, "image_encode"))
        if getattr(pipe, "safety_checker", None) is not None:
            self.wrap(pipe, "run_safety_checker", lambda call: self.staged(call, "safety"))
        for name in ("tokenizer", "tokenizer_2"):
            tokenizer = getattr(pipe, name, None)
            if tokenizer is not None:
                self.replace(pipe, name, Timed(tokenizer, self.run))
        for kind, network, prefix in networks(pipe):
            self.watch_network(kind, network, prefix)
        if self.latents is not None:
            self.replace_draws()
        return self

    def __exit__(self, *_):
        self.stack.close()
        self.run.close_to(self.floor)

    def replace(self, owner, name, value):
        """Sets an attribute of the object itself until the end."""
        had = name in vars(owner)
        before = vars(owner).get(name)
        object.__setattr__(owner, name, value)
        self.stack.callback(lambda: object.__setattr__(owner, name, before) if had else object.__delattr__(owner, name))

    def wrap(self, owner, name, make):
        call = getattr(owner, name)
        # The pipelines look at signatures to see what a scheduler takes.
        self.replace(owner, name, functools.wraps(call)(make(call)))

    def staged(self, call, stage):
        def watched(*arguments, **named):
            self.run.check()
            with self.run.stage(stage):
                return call(*arguments, **named)

        return watched

    def watch_network(self, kind, network, prefix):
        stage = {"unet": "unet" if self.guided else "unet_cond", "text_encoder": "text_encode", "text_encoder_2": "text_encode"}.get(kind)
        if stage:

            def begin(*_):
                self.run.begin(stage, self.entry if kind == "unet" else None)

            def end(*_):
                self.run.end()

            self.stack.callback(network.register_forward_pre_hook(begin).remove)
            self.stack.callback(network.register_forward_hook(end).remove)
        for name, module in network.named_modules():
            name = prefix + name
            if BLOCKS.fullmatch(name):
                self.stack.callback(module.register_forward_pre_hook(lambda *_: self.run.check()).remove)
                if self.level == "block":
                    self.stack.callback(module.register_forward_hook(functools.partial(self.keep_block, name)).remove)

    def keep_block(self, name, _, __, output):
        if self.run.depth and any(stage == "preview" for stage, _ in self.run._open):
            return
        output = output if isinstance(output, torch.Tensor) else output[0]
        count = self.blocks.get(name, 0)
        self.blocks[name] = count + 1
        self.trace[f"{name}.{count}"] = output.detach().float().cpu().clone()

    def replace_draws(self):
        """The second draw of image-to-image is the noise; the first is the VAE's posterior."""
        draw = torch_utils.randn_tensor

        def watched(shape, *arguments, **named):
            self.draws += 1
            if self.draws == 2:
                return self.latents.to(named.get("device") or "cpu", named.get("dtype") or torch.float32).expand(shape)
            return draw(shape, *arguments, **named)

        for module in [m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get("randn_tensor") is draw]:
            module.randn_tensor = watched
            self.stack.callback(setattr, module, "randn_tensor", draw)

    # What is seen

    def keep(self, name, value):
        if self.level != "none" and value is not None:
            self.trace.setdefault(name, value[:1].detach().float().cpu().clone() if value.ndim > 1 else value.detach().float().cpu().clone())

    def watched_encode_prompt(self, call):
        def watched(*arguments, **named):
            result = call(*arguments, **named)
            for name, value in zip(EMBEDS, result):
                if value is not None and (self.guided or not name.startswith("negative")):
                    self.keep(name, value)
            return result

        return watched

    def watched_scale(self, call):
        def watched(sample, *arguments, **named):
            self.run.check()
            self.run.begin("step", self.entry)
            return call(sample, *arguments, **named)

        return watched

    def watched_step(self, call):
        def watched(model_output, timestep, sample, *arguments, **named):
            self.keep("latents.init", sample)
            self.keep(f"noise_pred.{self.entry}", model_output)
            self.timesteps.append(float(timestep))
            with self.run.stage("scheduler", self.entry):
                result = call(model_output, timestep, sample, *arguments, **named)
            self.original_sample = result[1] if isinstance(result, tuple) and len(result) > 1 and isinstance(result[1], torch.Tensor) else None
            return result

        return watched

    def entries(self):
        """Which entries of the timestep list complete a step, by the rule of the pipelines' own progress bar."""
        count, order = self.pipe._num_timesteps, self.pipe.scheduler.order
        full = len(self.pipe.scheduler.timesteps)
        skipped = full - count
        warmup = count - (self.steps * order - skipped)
        return [i == count - 1 or (i + 1 > warmup and (i + 1) % order == 0) for i in range(count)]

    def on_step_end(self, _, index, timestep, values):
        self.completes = self.completes or self.entries()
        latents = values["latents"]
        self.keep(f"latents.{self.entry}", latents)
        total = sum(self.completes)
        if self.completes[self.entry]:
            self.progress += 1
            if self.stride and (self.progress % self.stride == 0 or self.progress == total):
                with self.run.stage("preview", self.progress):
                    image, safety = self.preview(self.original_sample if self.original_sample is not None else latents)
                self.run.preview(self.progress, image, safety)
        self.run.end()
        if self.completes[self.entry]:
            self.run.progress(self.progress, total)
        self.entry += 1
        self.run.check()
        return values

    def finished(self, image):
        """The whole trace, as arrays. image: [1, 3, H, W], 0...1."""
        if self.level == "none":
            return None
        trace = {name: value.numpy() for name, value in self.trace.items()}
        return trace | {"timesteps": torch.tensor(self.timesteps).numpy(), "image": image}
