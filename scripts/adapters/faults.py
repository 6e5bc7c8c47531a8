"""Test code: twenty known mistakes of diffusion pipelines, planted into diffusers by `diffusers_backend.py --fault NAME`.

Each is `plant(adapter, pipe)`, called after a load. `FAULTS[name]` also says where it must show: the first stage, step or block that
differs from a right engine, and which request shows it (a variant, a sampler, an image to start from).
"""

import functools

import numpy as np
import torch
from diffusers.utils import torch_utils


def change_scheduler(adapter, **changes):
    """Another setting in every scheduler, whatever the model or the request says."""
    adapter.scheduler_changes = lambda scheduler: type(scheduler).from_config(scheduler.config, **changes)


def encoders(pipe):
    return [e for e in (pipe.text_encoder, getattr(pipe, "text_encoder_2", None)) if e is not None]


def inner(encoder):
    """The transformer of a text encoder; its name depends on the version of transformers."""
    return getattr(encoder, "text_model", encoder)


def rewrite_output(encoder, change):
    encoder.register_forward_hook(lambda _, __, output: change(output))


def pad_token(adapter, pipe):
    for tokenizer in [t for t in (pipe.tokenizer, getattr(pipe, "tokenizer_2", None)) if t]:
        tokenizer.pad_token = "!" if tokenizer.pad_token != "!" else tokenizer.eos_token


def layer_choice(adapter, pipe):
    if hasattr(pipe, "text_encoder_2"):

        def last(output):
            output["hidden_states"] = output.hidden_states[:-2] + (output.hidden_states[-1],) * 2
            return output

        for encoder in encoders(pipe):
            rewrite_output(encoder, last)
    else:
        layers = inner(pipe.text_encoder).encoder.layers
        layers[-1].forward = lambda hidden_states, *_, **__: hidden_states


def final_norm(adapter, pipe):
    if hasattr(pipe, "text_encoder_2"):

        def normed(encoder, output):
            norm = inner(encoder).final_layer_norm
            output["hidden_states"] = output.hidden_states[:-2] + (norm(output.hidden_states[-2]), output.hidden_states[-1])
            return output

        for encoder in encoders(pipe):
            rewrite_output(encoder, functools.partial(normed, encoder))
    else:
        inner(pipe.text_encoder).final_layer_norm = torch.nn.Identity()


def pooled_position(adapter, pipe):
    encoder = pipe.text_encoder_2

    def last(output):
        output["text_embeds"] = encoder.text_projection(output.last_hidden_state[:, -1])
        return output

    rewrite_output(encoder, last)


def spacing(adapter, pipe):
    other = {"leading": "trailing", "trailing": "leading", "linspace": "leading"}
    adapter.scheduler_changes = lambda s: type(s).from_config(s.config, timestep_spacing=other[s.config.get("timestep_spacing", "leading")])


def sigma_interpolation(adapter, pipe):
    def change(scheduler):
        if not hasattr(scheduler, "set_timesteps") or "interpolation_type" not in scheduler.config:
            return scheduler
        set_timesteps = scheduler.set_timesteps

        @functools.wraps(set_timesteps)
        def nearest(*arguments, **named):
            set_timesteps(*arguments, **named)
            # The table is read half an entry away from where it belongs.
            sigmas = ((1 - scheduler.alphas_cumprod) / scheduler.alphas_cumprod).sqrt().numpy()
            places = (scheduler.timesteps.numpy() + 0.5).clip(0, len(sigmas) - 1)
            found = np.interp(places, np.arange(len(sigmas)), sigmas).astype(np.float32)
            scheduler.sigmas = torch.from_numpy(np.append(found, scheduler.sigmas[-1:].numpy()))

        scheduler.set_timesteps = nearest
        return scheduler

    adapter.scheduler_changes = change


def karras_rho(adapter, pipe):
    def change(scheduler):
        if hasattr(scheduler, "_convert_to_karras"):

            def convert(in_sigmas, num_inference_steps):
                low, high, rho = float(in_sigmas[-1]), float(in_sigmas[0]), 5.0
                ramp = np.linspace(0, 1, num_inference_steps)
                return (high ** (1 / rho) + ramp * (low ** (1 / rho) - high ** (1 / rho))) ** rho

            scheduler._convert_to_karras = convert
        return scheduler

    adapter.scheduler_changes = change


def last_alpha(adapter, pipe):
    adapter.scheduler_changes = lambda s: type(s).from_config(s.config, set_alpha_to_one=not s.config.get("set_alpha_to_one", True))


def prediction_type(adapter, pipe):
    other = {"epsilon": "v_prediction", "v_prediction": "epsilon"}
    adapter.scheduler_changes = lambda s: type(s).from_config(s.config, prediction_type=other[s.config.get("prediction_type", "epsilon")])


def guidance_order(adapter, pipe):
    def swapped(_, __, output):
        sample = output[0]
        return (torch.cat(sample.chunk(2)[::-1]),) if sample.shape[0] % 2 == 0 else output

    pipe.unet.register_forward_hook(swapped)


def heads(adapter, pipe):
    for name, module in pipe.unet.named_modules():
        if name.endswith(("attn1", "attn2")):
            width = module.to_q.out_features
            module.heads = module.heads * 2 if width % (module.heads * 2) == 0 else max(1, module.heads // 2)


def geglu_halves(adapter, pipe):
    for name, module in pipe.unet.named_modules():
        if name.endswith("ff.net.0.proj"):
            module.weight.data = torch.cat(module.weight.data.chunk(2)[::-1])
            module.bias.data = torch.cat(module.bias.data.chunk(2)[::-1])


def time_ids(adapter, pipe):
    # Crop, original size, target size in place of original size, crop, target size.
    def wrong(_, arguments, named):
        ids = named["added_cond_kwargs"]["time_ids"]
        named["added_cond_kwargs"] = named["added_cond_kwargs"] | {"time_ids": ids[:, [2, 3, 0, 1, 4, 5]]}
        return arguments, named

    pipe.unet.register_forward_pre_hook(wrong, with_kwargs=True)


def flip_sine_cosine(adapter, pipe):
    pipe.unet.time_proj.flip_sin_to_cos = not pipe.unet.time_proj.flip_sin_to_cos


def asymmetric_padding(adapter, pipe):
    for block in pipe.vae.encoder.down_blocks:
        for down in block.downsamplers or []:
            down.padding, down.conv.padding = 1, (1, 1)


def vae_scale(adapter, pipe):
    pipe.vae.register_to_config(scaling_factor=0.13025 if pipe.vae.config.scaling_factor > 0.15 else 0.18215)


def rounding(adapter, pipe):
    adapter.to_bytes = lambda values: np.floor(values * 255)


def safety_resize(adapter, pipe):
    extractor = pipe.feature_extractor
    extractor.resample = 2  # bilinear in place of bicubic
    if hasattr(extractor, "_valid_kwargs_names"):
        extractor.size = {"height": 224, "width": 224} if not isinstance(extractor.size, dict) else extractor.size


def seed_stream(adapter, pipe):
    """Noise drawn pixel by pixel, with the channels inside."""
    import diffusers

    draw = torch_utils.randn_tensor

    def other(shape, *arguments, **named):
        shape = tuple(shape)
        return draw((shape[0], *shape[2:], shape[1]), *arguments, **named).movedim(-1, 1).contiguous() if len(shape) == 4 else draw(shape, *arguments, **named)

    import sys

    del diffusers
    for module in [m for m in list(sys.modules.values()) if getattr(m, "__dict__", {}).get("randn_tensor") is draw]:
        module.randn_tensor = other


def negative_prompt_xl(adapter, pipe):
    pipe.register_to_config(force_zeros_for_empty_prompt=False)


# name: (plant, variant, changes of the request that shows it, where it shows first)
FAULTS = {
    "pad-token": (pad_token, "sd15", {}, "text_encode: text_model.embeddings.0"),
    "layer-choice": (layer_choice, "sd15", {}, "text_encode: the last layer, then prompt_embeds"),
    "final-norm": (final_norm, "sd15", {}, "text_encode: text_model.final_layer_norm.0, prompt_embeds"),
    "pooled-position": (pooled_position, "sdxl", {}, "text_encode: pooled_prompt_embeds"),
    "spacing": (spacing, "sd15", {"scheduler": "ddim"}, "scheduler: timesteps"),
    "sigma-interpolation": (sigma_interpolation, "sdxl", {"scheduler": "euler"}, "latents: latents.init, by the first sigma"),
    "karras-rho": (karras_rho, "sd15", {"scheduler": "dpmpp_2m_karras"}, "scheduler: timesteps"),
    "last-alpha": (last_alpha, "sd15", {"scheduler": "ddim"}, "scheduler: the last latents alone"),
    "prediction-type": (prediction_type, "sd15", {"scheduler": "ddim"}, "scheduler: latents.0 with the same noise_pred.0"),
    "guidance-order": (guidance_order, "sd15", {}, "guidance: noise_pred.0 with the same conv_out.0"),
    "heads": (heads, "sd15", {}, "unet: down_blocks.0.attentions.0.transformer_blocks.0.0"),
    "geglu-halves": (geglu_halves, "sd15", {}, "unet: down_blocks.0.attentions.0.transformer_blocks.0.0"),
    "time-ids": (time_ids, "sdxl", {}, "unet: time_embedding is the same, the first resnet differs"),
    "flip-sine-cosine": (flip_sine_cosine, "sd15", {}, "unet: time_embedding.0"),
    "asymmetric-padding": (asymmetric_padding, "sd15", {"image": True}, "image_encode: encoder.down_blocks.0.downsamplers.0"),
    "vae-scale": (vae_scale, "sd15", {}, "vae_decode: decoder.conv_in.0 with the same latents"),
    "rounding": (rounding, "sd15", {}, "the 8-bit picture alone"),
    "safety-resize": (safety_resize, "sd15", {"checks_safety": True}, "safety: vision_model.vision_model.encoder.layers.0"),
    "seed-stream": (seed_stream, "sd15", {"latents": False}, "latents: latents.init"),
    "negative-prompt-xl": (negative_prompt_xl, "sdxl", {"negative_prompt": None}, "text_encode: negative_prompt_embeds"),
}


def named(name):
    if name not in FAULTS:
        raise SystemExit(f"there is no fault '{name}'; there are {', '.join(FAULTS)}")
    return FAULTS[name][0]
