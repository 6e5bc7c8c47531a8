"""diffusers as a backend of genbench: `proc:"python scripts/adapters/diffusers_backend.py"`.

Models are diffusers folders. `--fault NAME` plants a mistake (faults.py), which is for tests of what finds it.
"""

import argparse
import inspect
import os
import secrets
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
sys.modules["torchvision"] = None  # transformers then resizes with Pillow, as the models' authors did

import diffusers  # noqa: E402
import diffusers_schedulers as schedulers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from diffusers_watch import Watch  # noqa: E402
from genbench_backend import Backend, BackendError, serve  # noqa: E402
from PIL import Image  # noqa: E402

TASKS = {("image",): "Img2Img", ("image", "mask"): "Inpaint", (): ""}
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


class Diffusers(Backend):
    name, version = "diffusers", diffusers.__version__
    capabilities = [
        "text_to_image", "image_to_image", "inpainting", "negative_prompt", "previews", "safety_checker", "latents_input", "trace",
        "batch", "reduce_memory",
    ]  # fmt: skip
    schedulers = schedulers.NAMES
    load_settings = {"variant", "prediction_type", "safety", "reduce_memory", "precision"}
    image_settings = {
        "negative_prompt", "width", "height", "steps", "guidance_scale", "guidance_rescale", "scheduler", "timestep_spacing", "eta",
        "seed", "random_source", "latents", "image", "mask", "strength", "image_count", "checks_safety", "preview_stride", "trace_level",
        "long_prompt", "clip_skip",
    }  # fmt: skip
    details = {"torch": torch.__version__, "transformers": transformers.__version__}
    threads = torch.get_num_threads()
    # What a planted mistake may change; see faults.py.
    scheduler_changes, to_bytes = None, staticmethod(lambda values: np.round(values * 255))
    plant = None

    def __init__(self, ops=None):
        self.torch_ops = ops
        self.ops = list(ops.OPS) if ops else []

    def op(self, request, run):
        return self.torch_ops.compute(request["op"], request.get("attributes", {}), run.tensors(request["inputs"]))

    def load(self, request, run):
        path = request["path"]
        if "threads" in request:
            torch.set_num_threads(request["threads"])
        if not os.path.exists(path):
            raise BackendError("model_not_found", f"{path}: no such folder")
        if not os.path.isfile(os.path.join(path, "model_index.json")):
            raise BackendError("not_supported", f"{path}: expected a diffusers folder with model_index.json; single files need configurations that are fetched from a hub")
        if request.get("precision", "f32") not in TYPES:
            raise BackendError("not_supported", f"precision '{request['precision']}': this has {', '.join(TYPES)}")
        with run.stage("load"):
            pipe = diffusers.DiffusionPipeline.from_pretrained(path, torch_dtype=TYPES[request.get("precision", "f32")], local_files_only=True)
            self.prepare(pipe, request)
        run.check()
        return self.describe(pipe, request), pipe

    def prepare(self, pipe, request):
        pipe.set_progress_bar_config(disable=True)
        checker = getattr(pipe, "safety_checker", None)
        if request.get("safety") == "required" and checker is None:
            raise BackendError("invalid_model", "a safety checker is required, and the model has none")
        if request.get("safety") == "off" and checker is not None:
            pipe.safety_checker = None
        if "prediction_type" in request:
            pipe.scheduler = type(pipe.scheduler).from_config(pipe.scheduler.config, prediction_type=request["prediction_type"])
        if request.get("reduce_memory"):
            pipe.vae.enable_tiling()
            pipe.enable_attention_slicing()
        if self.plant:
            self.plant(self, pipe)

    def describe(self, pipe, request):
        xl = getattr(pipe, "text_encoder_2", None) is not None
        variant = request.get("variant") or ("sdxl" if xl else "sd20" if pipe.unet.config.use_linear_projection else "sd15")
        weights = [w for part in pipe.components.values() if isinstance(part, torch.nn.Module) for w in part.parameters()]
        files = [os.path.join(folder, name) for folder, _, names in os.walk(request["path"]) for name in names if name.endswith(".safetensors")]
        side = pipe.unet.config.sample_size * pipe.vae_scale_factor
        capabilities = [c for c in self.capabilities if c != "safety_checker" or getattr(pipe, "safety_checker", None)]
        return {
            "variant": variant, "capabilities": capabilities, "native_sizes": [[side, side]], "size_multiple": pipe.vae_scale_factor,
            "prediction_type": pipe.scheduler.config.get("prediction_type", "epsilon"), "default_scheduler": schedulers.name_of(pipe.scheduler),
            "default_steps": 20, "default_guidance_scale": 5.0 if xl else 7.5,
            "parameter_count": sum(w.numel() for w in weights), "weight_bytes": sum(map(os.path.getsize, files)),
        }  # fmt: skip

    def generate_images(self, base, request, run):
        pipe, named, steps, scheduler = self.arguments(base, request, run)
        seed, count = request.get("seed", secrets.randbits(63)), request.get("image_count", 1)
        level = request.get("trace_level", "none")
        if level == "block" and count > 1:
            raise BackendError("not_supported", "a trace of blocks is of one image; image_count must be 1")
        latents = run.read("latents", (1, pipe.unet.config.in_channels, named["height"] // pipe.vae_scale_factor, named["width"] // pipe.vae_scale_factor))
        if latents is not None and count > 1:
            raise BackendError("invalid_input", f"latents are of one image; image_count is {count}")
        latents = None if latents is None else torch.from_numpy(latents.copy())
        if latents is not None and "image" not in named:
            named["latents"] = latents.to(pipe.unet.dtype)
        named["generator"] = [torch.Generator().manual_seed((seed + index) % (1 << 64)) for index in range(count)]
        if "image" in named and "height" not in inspect.signature(pipe.__call__).parameters:
            del named["height"], named["width"]
        checker = getattr(pipe, "safety_checker", None)
        watch = Watch(pipe, run, steps, level, latents if "image" in named else None, request.get("preview_stride"),
                      lambda sample: self.preview(pipe, sample, checker), named["guidance_scale"] > 1)  # fmt: skip
        with torch.inference_mode(), watch:
            output = pipe(**named, num_images_per_prompt=count, output_type="pt", callback_on_step_end=watch.on_step_end)
        pixels = output.images.float().cpu().numpy()
        if not np.isfinite(pixels).all():
            raise BackendError("processing_failed", "the image isn't finite (NaN or infinite)")
        flags = (getattr(output, "nsfw_content_detected", None) or [False] * count) if checker is not None else [None] * count
        images = [
            {"image": self.to_bytes(np.moveaxis(values, 0, -1)).clip(0, 255).astype(np.uint8), "seed": (seed + index) % (1 << 64),
             "safety": {None: "unchecked", True: "filtered", False: "passed"}[flag]}
            for index, (values, flag) in enumerate(zip(pixels, flags))
        ]  # fmt: skip
        return {"images": images, "scheduler": scheduler, "steps": watch.progress, "guidance_scale": named["guidance_scale"],
                "dropped_tokens": self.dropped(base, request), "trace": watch.finished(pixels[:1])}  # fmt: skip

    def arguments(self, base, request, run):
        """The pipeline of the task with its scheduler, and what it is called with."""
        task = TASKS.get(tuple(key for key in ("image", "mask") if key in request))
        if task is None:
            raise BackendError("invalid_input", "a mask needs an image")
        xl = getattr(base, "text_encoder_2", None) is not None
        side = base.unet.config.sample_size * base.vae_scale_factor
        width, height = request.get("width", side), request.get("height", side)
        if width % base.vae_scale_factor or height % base.vae_scale_factor:
            raise BackendError("invalid_input", f"{width}x{height}: sides must be multiples of {base.vae_scale_factor}")
        if "latents" not in request and request.get("random_source", "torch") != "torch":
            raise BackendError("not_supported", f"random source '{request['random_source']}': diffusers draws with torch's; give the latents instead")
        if request.get("long_prompt") == "chunk":
            raise BackendError("not_supported", "diffusers cuts long prompts; it doesn't encode them in windows")
        if request.get("long_prompt") == "error" and self.dropped(base, request):
            raise BackendError("invalid_input", f"prompt: {self.dropped(base, request)} tokens too many; shorten it or allow truncation")
        more = {"force_zeros_for_empty_prompt": base.config.force_zeros_for_empty_prompt} if xl else {"requires_safety_checker": False}
        kind = getattr(diffusers, f"StableDiffusion{'XL' if xl else ''}{task}Pipeline")
        parts = dict(base.components)
        if not request.get("checks_safety", True) and not xl:
            parts["safety_checker"] = None
        pipe = kind(**parts, **more)
        pipe.set_progress_bar_config(disable=True)
        changes = {"timestep_spacing": request["timestep_spacing"]} if "timestep_spacing" in request else {}
        name = request.get("scheduler") or type(base.scheduler).__name__
        pipe.scheduler = schedulers.make(name, base.scheduler.config, changes)
        if changes and pipe.scheduler.config.get("timestep_spacing") is None:
            raise BackendError("not_supported", f"{type(pipe.scheduler).__name__} has no timestep spacings")
        if self.scheduler_changes:
            pipe.scheduler = self.scheduler_changes(pipe.scheduler)
        named = {
            "prompt": request["prompt"], "negative_prompt": request.get("negative_prompt"), "width": width, "height": height,
            "num_inference_steps": request.get("steps", 20), "guidance_scale": request.get("guidance_scale", 5.0 if xl else 7.5),
        }  # fmt: skip
        for key in ("guidance_rescale", "eta", "clip_skip"):
            if request.get(key):
                if key not in inspect.signature(pipe.__call__).parameters:
                    raise BackendError("not_supported", f"{kind.__name__} has no '{key}'")
                named[key] = request[key]
        if request.get("clip_skip") and request["clip_skip"] >= base.text_encoder.config.num_hidden_layers:
            raise BackendError("invalid_input", f"clip_skip {request['clip_skip']}: the text encoder has {base.text_encoder.config.num_hidden_layers} layers")
        for key, argument in (("image", "image"), ("mask", "mask_image")):
            values = run.read(key)
            if values is not None:
                values = np.moveaxis(values[0], 0, -1)
                named[argument] = Image.fromarray(np.round(values * 255).clip(0, 255).astype(np.uint8).squeeze()).resize((width, height), Image.LANCZOS)
        if "image" in named:
            named["strength"] = request.get("strength", 0.8)
            if named["num_inference_steps"] * named["strength"] < 1:
                raise BackendError("invalid_input", f"strength {named['strength']} leaves no step of {named['num_inference_steps']}")
        return pipe, named, named["num_inference_steps"], request.get("scheduler") or schedulers.name_of(base.scheduler)

    @staticmethod
    def dropped(pipe, request):
        """Tokens beyond the encoder's window."""
        parts = [t for t in (pipe.tokenizer, getattr(pipe, "tokenizer_2", None)) if t]
        return max(max(0, len(t(request["prompt"], truncation=False).input_ids) - t.model_max_length) for t in parts)

    def preview(self, pipe, sample, checker):
        scale = pipe.vae.config.scaling_factor
        image = pipe.vae.decode(sample[:1].to(pipe.vae.dtype) / scale, return_dict=False)[0]
        flags = pipe.run_safety_checker(image, image.device, image.dtype)[1] if checker is not None else None
        values = (image[0].float() / 2 + 0.5).clamp(0, 1).permute(1, 2, 0).cpu().numpy() * (0 if flags and flags[0] else 1)
        return np.round(values * 255).astype(np.uint8), "unchecked" if flags is None else "filtered" if flags[0] else "passed"


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--fault", metavar="NAME")
    words = words.parse_args()
    import torch_ops

    adapter = Diffusers(torch_ops)
    if words.fault:
        import faults

        adapter.plant = faults.named(words.fault)
        adapter.details = adapter.details | {"fault": words.fault}
    serve(adapter)
