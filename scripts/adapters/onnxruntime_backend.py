"""ONNX Runtime as a backend of genbench: `proc:"$GENBENCH_CACHE/venvs/onnxruntime/bin/python scripts/adapters/onnxruntime_backend.py"`.

diffusers' pipelines (prompts, loop, samplers), in which every network is a session of ONNX Runtime. Models are diffusers folders; they're
exported once for each size (export_onnx.py, cached by their content).
"""

import json
import os
import sys
from types import SimpleNamespace

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import diffusers_backend  # noqa: E402, I001  (sets what must be set before diffusers)
import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from diffusers.models.autoencoders.vae import DiagonalGaussianDistribution  # noqa: E402
from exporting import exported  # noqa: E402
from genbench_backend import BackendError, serve  # noqa: E402


class Network(torch.nn.Module):
    """A session in the place of a network; `config` is that of the network it stands for."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, config, names, owner):
        super().__init__()
        self.config, self.names, self.owner, self.sessions = config, names, owner, {}

    def use(self, folder):
        """Takes the sessions of an export."""
        if self.sessions.get("folder") != folder:
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self.owner.threads
            self.sessions = {name: onnxruntime.InferenceSession(os.path.join(folder, f"{name}.onnx"), options, ["CPUExecutionProvider"]) for name in self.names}
            self.sessions["folder"] = folder

    def run(self, name, **inputs):
        session = self.sessions[name]
        wanted = {entry.name for entry in session.get_inputs()}
        given = {key: value.detach().numpy() for key, value in inputs.items() if key in wanted}
        # diffusers keeps no references to what a session returns.
        return [torch.from_numpy(np.asarray(value)) for value in session.run(None, given)]

    def to(self, *_, **__):
        return self


class TextEncoder(Network):
    def forward(self, ids, attention_mask=None, output_hidden_states=False, return_dict=True, **_):
        last, pooled, *hidden = self.run(self.names[0], ids=ids.long())
        # The encoder with a projection has the pooled vector first.
        return Output(pooled if self.names[0].endswith("2") else last, last_hidden_state=last, hidden_states=tuple(hidden))


class Output(tuple):
    """A result that is reached by place and by name."""

    def __new__(cls, first, **named):
        made = super().__new__(cls, (first,))
        made.__dict__.update(named)
        return made


class UNet(Network):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        width = self.config.get("projection_class_embeddings_input_dim")
        self.add_embedding = SimpleNamespace(linear_1=SimpleNamespace(in_features=width))

    def forward(self, sample, timestep, encoder_hidden_states=None, added_cond_kwargs=None, return_dict=True, **_):
        timestep = torch.as_tensor(timestep, dtype=torch.float32).reshape(1)
        return (self.run("unet", sample=sample, timestep=timestep, states=encoder_hidden_states, **(added_cond_kwargs or {}))[0],)


class VAE(Network):
    def decode(self, latents, return_dict=True, generator=None):
        return (self.run("vae_decoder", latents=latents)[0],)

    def encode(self, pixels):
        return SimpleNamespace(latent_dist=DiagonalGaussianDistribution(self.run("vae_encoder", pixels=pixels)[0]))


class OnnxRuntime(diffusers_backend.Diffusers):
    name, version = "onnxruntime", onnxruntime.__version__
    capabilities = [c for c in diffusers_backend.Diffusers.capabilities if c not in ("safety_checker", "reduce_memory")]
    load_settings = {"variant", "prediction_type", "precision"}
    details = diffusers_backend.Diffusers.details | {"diffusers": diffusers.__version__}
    unavailable = {"blocks": "a session shows no inner tensors: traces end at step level", "safety": "the checker isn't exported"}

    def load(self, request, run):
        path = request["path"]
        if not os.path.exists(path):
            raise BackendError("model_not_found", f"{path}: no such folder")
        if not os.path.isfile(os.path.join(path, "model_index.json")):
            raise BackendError("not_supported", f"{path}: expected a diffusers folder with model_index.json, which is exported from")
        if request.get("precision", "f32") != "f32":
            raise BackendError("not_supported", f"precision '{request['precision']}': this has f32 alone")
        self.threads = request.get("threads", os.cpu_count())
        with run.stage("load"):

            def config(kind, folder):
                # Without memory for weights; it only fills in the defaults.
                with torch.device("meta"):
                    return kind.from_config(kind.load_config(os.path.join(path, folder))).config

            unet = UNet(config(diffusers.UNet2DConditionModel, "unet"), ["unet"], self)
            vae = VAE(config(diffusers.AutoencoderKL, "vae"), ["vae_decoder", "vae_encoder"], self)
            parts = {"unet": unet, "vae": vae}
            for name in ("text_encoder", "text_encoder_2"):
                if os.path.isdir(os.path.join(path, name)):
                    parts[name] = TextEncoder(transformers.CLIPTextConfig.from_pretrained(os.path.join(path, name)), [name], self)
            with open(os.path.join(path, "model_index.json")) as file:
                index = json.load(file)
            for name in ("tokenizer", "tokenizer_2"):
                if os.path.isdir(os.path.join(path, name)):
                    parts[name] = transformers.CLIPTokenizer.from_pretrained(os.path.join(path, name))
            parts["scheduler"] = getattr(diffusers, index["scheduler"][1]).from_pretrained(path, subfolder="scheduler")
            if "text_encoder_2" in parts:
                parts["force_zeros_for_empty_prompt"] = index.get("force_zeros_for_empty_prompt", True)
            else:
                parts |= {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
            pipe = getattr(diffusers, index["_class_name"])(**parts)
            self.prepare(pipe, request)
            pipe.genbench_model = path
            side = unet.config["sample_size"] * pipe.vae_scale_factor
            self.use(pipe, side, side)
        run.check()
        info = self.describe(pipe, request)
        info.pop("parameter_count")
        info["weight_bytes"] = sum(os.path.getsize(entry) for entry in os.scandir(unet.sessions["folder"]) if entry.is_file())
        return info, pipe

    def use(self, pipe, width, height):
        """Takes the networks of that size, which are exported when they aren't there."""
        try:
            folder = exported("onnx", "onnxruntime", pipe.genbench_model, "--size", f"{width}x{height}")
        except RuntimeError as error:
            raise BackendError("processing_failed", f"the export for {width}x{height} failed: {error}") from error
        for part in pipe.components.values():
            if isinstance(part, Network):
                part.use(folder)

    def generate_images(self, base, request, run):
        if request.get("trace_level") == "block":
            raise BackendError("not_supported", "a session shows no inner tensors: there is no trace of blocks, only 'step'")
        if request.get("clip_skip") and not hasattr(base, "text_encoder_2"):
            raise BackendError("not_supported", "clip_skip: the final norm isn't a network of its own here")
        side = base.unet.config["sample_size"] * base.vae_scale_factor
        width, height = request.get("width", side), request.get("height", side)
        if width % base.vae_scale_factor or height % base.vae_scale_factor:
            raise BackendError("invalid_input", f"{width}x{height}: sides must be multiples of {base.vae_scale_factor}")
        self.use(base, width, height)
        return super().generate_images(base, request, run)


if __name__ == "__main__":
    serve(OnnxRuntime())
