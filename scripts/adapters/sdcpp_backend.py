"""stable-diffusion.cpp as a backend of genbench: `proc:"$GENBENCH_CACHE/venvs/sdcpp/bin/python scripts/adapters/sdcpp_backend.py"`.

It knows only the published sizes of models: diffusers folders, single-file checkpoints and GGUF of them. Noise is drawn from the
seed as torch does (`random_source` torch) or as CUDA does (philox); its C API takes no latents.
"""

import ctypes
import json
import os
import secrets

import numpy as np
import sdcpp
from genbench_backend import Backend, BackendError, serve

METHODS = {"euler": "euler", "euler_a": "euler_a", "heun": "heun", "dpm2": "dpm2", "dpmpp_2m": "dpm++2m", "lcm": "lcm", "tcd": "tcd"}
SPACINGS = {"": "discrete", "_karras": "karras", "_exponential": "exponential"}
NAMES = [name + suffix for name in METHODS for suffix in (SPACINGS if name not in ("lcm", "tcd") else [""])]
TYPES = {None: sdcpp.TYPE_OF_FILE, "f32": sdcpp.TYPE_F32, "f16": sdcpp.TYPE_F16, "int8": sdcpp.TYPE_Q8_0}


class StableDiffusionCpp(Backend):
    name = "stable-diffusion.cpp"
    capabilities = ["text_to_image", "image_to_image", "inpainting", "negative_prompt", "previews", "batch"]
    schedulers = NAMES
    load_settings = {"variant", "prediction_type", "precision"}
    image_settings = {"negative_prompt", "width", "height", "steps", "guidance_scale", "scheduler", "timestep_spacing", "eta", "seed", "random_source",
                      "image", "mask", "strength", "image_count", "preview_stride", "clip_skip"}  # fmt: skip
    unavailable = {
        "latents": "the C API takes no noise, only a seed", "trace": "the C API shows no tensors, only pictures", "unet": "steps aren't divided further",
        "tokenize": "not apart from text_encode", "cancel": "the C API can't stop a picture that has begun: cancelled requests end with it",
        "dropped_tokens": "long prompts are encoded in windows",
    }  # fmt: skip

    def __init__(self):
        self.lib = sdcpp.library()
        self.version = self.lib.sd_version().decode()
        self.details = {"commit": self.lib.sd_commit().decode(), "system": self.lib.sd_get_system_info().decode().strip().replace("\n", "; ")}
        self.watch = None
        # ctypes keeps no reference to callbacks.
        self.calls = [sdcpp.LogCall(self.logged), sdcpp.ProgressCall(self.progressed), sdcpp.PreviewCall(self.previewed)]
        self.lib.sd_set_log_callback(self.calls[0], None)
        self.lib.sd_set_progress_callback(self.calls[1], None)

    def logged(self, level, text, _):
        text = text.decode("utf-8", "replace")
        os.write(2, text.encode())
        if self.watch:
            self.watch.logged(text)

    def progressed(self, step, steps, _, __):
        if self.watch:
            self.watch.progressed(step, steps)

    def previewed(self, step, count, frames, noisy, _):
        if self.watch and count:
            self.watch.previewed(step, pixels(frames[0]))

    def load(self, request, run):
        path, precision = request["path"], request.get("precision")
        if not os.path.exists(path):
            raise BackendError("model_not_found", f"{path}: no such file or folder")
        if precision not in TYPES:
            raise BackendError("not_supported", f"precision '{precision}': this has f32, f16 and int8 (Q8_0); left out it's the file's own")
        config = {}
        if os.path.isfile(os.path.join(path, "unet/config.json")):
            with open(os.path.join(path, "unet/config.json")) as file:
                config = json.load(file)
            if config["block_out_channels"][0] != 320:
                raise BackendError("not_supported", f"{path}: {config['block_out_channels']} channels; stable-diffusion.cpp has the published sizes alone, from 320")
        parameters = sdcpp.ContextParameters()
        self.lib.sd_ctx_params_init(ctypes.byref(parameters))
        parameters.model_path, parameters.n_threads = os.fsencode(path), request.get("threads", os.cpu_count())
        parameters.wtype, parameters.vae_decode_only, parameters.rng_type = TYPES[precision], False, sdcpp.CPU_RNG
        parameters.free_params_immediately = False
        if "prediction_type" in request:
            parameters.prediction = self.lib.str_to_prediction({"epsilon": b"eps", "v_prediction": b"v"}.get(request["prediction_type"], b""))
        with run.stage("load"):
            context = self.lib.new_sd_ctx(ctypes.byref(parameters))
        if not context:
            raise BackendError("invalid_model", f"{path}: stable-diffusion.cpp can't load it; its log says why")
        xl = "addition_embed_type" in config and config["addition_embed_type"] is not None
        variant = request.get("variant") or ("sdxl" if xl else "sd20" if config.get("cross_attention_dim") == 1024 else "sd15")
        side = {"sd15": 512, "sd20": 768, "sdxl": 1024}.get(variant, 512)
        info = {"variant": variant, "capabilities": self.capabilities, "native_sizes": [[side, side]], "size_multiple": 64, "default_scheduler": "euler_a",
                "default_steps": 20, "default_guidance_scale": 5.0 if variant == "sdxl" else 7.5}  # fmt: skip
        return info, {"context": context, "info": info}

    def unload(self, model):
        self.lib.free_sd_ctx(model["context"])

    def generate_images(self, model, request, run):
        info, parameters = model["info"], sdcpp.ImageParameters()
        self.lib.sd_img_gen_params_init(ctypes.byref(parameters))
        width, height = request.get("width", info["native_sizes"][0][0]), request.get("height", info["native_sizes"][0][1])
        seed, count = request.get("seed", secrets.randbits(31)), request.get("image_count", 1)
        if width % 64 or height % 64:
            raise BackendError("invalid_input", f"{width}x{height}: sides must be multiples of 64")
        if seed + count >= 1 << 63:
            raise BackendError("not_supported", f"seed {seed}: seeds are below 2^63 here")
        if request.get("random_source", "torch") != "torch":
            raise BackendError("not_supported", "noise is drawn as torch draws it; the generator is chosen at the load")
        name = request.get("scheduler", "euler_a")
        suffix = next((s for s in SPACINGS if s and name.endswith(s)), "")
        if name not in NAMES:
            raise BackendError("not_supported", f"there is no scheduler '{name:.60}' here; there are {', '.join(NAMES)}")
        if request.get("timestep_spacing", "linspace") != "linspace":
            raise BackendError("not_supported", f"timestep spacing '{request['timestep_spacing']}': stable-diffusion.cpp's discrete schedule is 'linspace'")
        sampling = parameters.sample_params
        sampling.sample_method = self.lib.str_to_sample_method(METHODS[name.removesuffix(suffix)].encode())
        sampling.scheduler = self.lib.str_to_scheduler(("lcm" if name == "lcm" else SPACINGS[suffix]).encode())
        sampling.sample_steps, sampling.guidance.txt_cfg = request.get("steps", 20), request.get("guidance_scale", info["default_guidance_scale"])
        if "eta" in request:
            sampling.eta = request["eta"]
        parameters.prompt, parameters.negative_prompt = request["prompt"].encode(), request.get("negative_prompt", "").encode()
        parameters.width, parameters.height, parameters.seed, parameters.batch_count = width, height, seed, count
        if "clip_skip" in request:
            # Counts the layers from the end, from 1; XL and 2.x skip one by themselves.
            parameters.clip_skip = request["clip_skip"] + (1 if info["variant"] == "sd15" else 2)
        kept = []
        for key, field in (("image", "init_image"), ("mask", "mask_image")):
            values = run.read(key, (1, None, height, width))
            if values is not None:
                array = np.ascontiguousarray(np.round(np.moveaxis(values[0], 0, -1) * 255).clip(0, 255).astype(np.uint8))
                kept.append(array)
                setattr(parameters, field, sdcpp.Image(width, height, array.shape[-1], array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))))
        if kept:
            parameters.strength = request.get("strength", 0.8)
        stride = request.get("preview_stride")
        self.lib.sd_set_preview_callback(self.calls[2], sdcpp.PREVIEW_VAE if stride else sdcpp.PREVIEW_NONE, stride or 1, True, False, None)
        run.check()
        self.watch = watch = Watch(run, count)
        try:
            result = self.lib.generate_image(model["context"], ctypes.byref(parameters))
        finally:
            self.watch = None
        run.check()
        if not result:
            raise BackendError("processing_failed", "generate_image returned nothing; the log says why")
        images = [{"image": pixels(result[i]), "safety": "unchecked", "seed": seed + i} for i in range(count)]
        libc = ctypes.CDLL(None)
        for i in range(count):
            libc.free(result[i].data)
        libc.free(result)
        return {"images": images, "scheduler": name, "steps": watch.done, "guidance_scale": sampling.guidance.txt_cfg}


class Watch:
    """Moments that the progress callback and the log tell: the text is encoded, a step is done, sampling is over."""

    def __init__(self, run, count):
        self.run, self.count, self.done, self.image, self.stage = run, count, 0, 0, None
        self.change("text_encode")

    def change(self, stage, index=None):
        if self.stage:
            self.run.end()
        self.stage = stage
        if stage:
            self.run.begin(stage, index)

    def logged(self, text):
        if "get_learned_condition completed" in text:
            self.change(None)
        elif "sampling completed" in text:
            self.image += 1
            self.change("vae_decode" if self.image == self.count else None)
        elif "decode_first_stage completed" in text:
            self.change(None)

    def progressed(self, step, steps):
        if step == 0:
            self.change("step", 0)
            return
        self.change(None)
        self.done = step
        self.run.progress(self.image * steps + step, self.count * steps)
        if step < steps:
            self.change("step", step)

    def previewed(self, step, image):
        self.run.preview(abs(step), image)


def pixels(image):
    """u8 [H, W, 3] of the library's picture, copied."""
    return np.ctypeslib.as_array(image.data, (image.height, image.width, image.channel))[..., :3].copy()


if __name__ == "__main__":
    serve(StableDiffusionCpp())
