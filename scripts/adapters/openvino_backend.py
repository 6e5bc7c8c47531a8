"""OpenVINO GenAI as a backend of genbench: `proc:"$GENBENCH_CACHE/venvs/openvino/bin/python scripts/adapters/openvino_backend.py"`.

Models: folders of OpenVINO IR, or diffusers folders, which are exported once with the environment of `setup.sh export` (cached by
their content). Language models are IR folders or `.gguf` files.
"""

import json
import os
import secrets
import tempfile
import time

import numpy as np
import openvino as ov
import openvino_genai as genai
from exporting import exported
from genbench_backend import Backend, BackendError, serve
from torch_noise import TorchNoise

TYPES = genai.Scheduler.Type
SCHEDULERS = {"ddim": TYPES.DDIM, "pndm": TYPES.PNDM, "lms": TYPES.LMS_DISCRETE, "euler": TYPES.EULER_DISCRETE, "euler_a": TYPES.EULER_ANCESTRAL_DISCRETE, "lcm": TYPES.LCM}
CLASSES = {"DDIMScheduler": "ddim", "PNDMScheduler": "pndm", "LMSDiscreteScheduler": "lms", "EulerDiscreteScheduler": "euler",
           "EulerAncestralDiscreteScheduler": "euler_a", "LCMScheduler": "lcm"}  # fmt: skip


class Noise(genai.Generator):
    """Gives the draws: torch's of the seed, or the given noise in its place; and says when the first one is made."""

    def __init__(self, seed, given, place, drawn):
        super().__init__()
        self.stream, self.given, self.place, self.drawn, self.count = TorchNoise(seed), given, place, drawn, 0

    def next(self):
        return float(self.stream.normals((16,))[0])

    def seed(self, new_seed):
        pass

    def randn_tensor(self, shape):
        self.drawn()
        self.count += 1
        values = self.given if self.given is not None and self.count == self.place else self.stream.normals(tuple(shape))
        return ov.Tensor(np.ascontiguousarray(values.reshape(tuple(shape))))


class Streamer(genai.StreamerBase):
    """Tokens as events, with the characters that are complete with them."""

    def __init__(self, run, tokenizer):
        super().__init__()
        self.run, self.tokenizer, self.ids, self.said = run, tokenizer, [], ""
        run.begin("prefill")

    def write(self, tokens):
        for token in [tokens] if isinstance(tokens, int) else tokens:
            self.run.end()
            self.ids.append(int(token))
            text = self.tokenizer.decode(self.ids)
            new = "" if text.endswith("\ufffd") or not text.startswith(self.said) else text[len(self.said) :]
            self.said += new
            self.run.token(int(token), new)
            self.run.begin("decode", len(self.ids))
        return genai.StreamingStatus.CANCEL if self.run.cancelled else genai.StreamingStatus.RUNNING

    def end(self):
        pass


class OpenVINO(Backend):
    name, version = "openvino-genai", genai.get_version().split("-")[0]
    capabilities = ["text_to_image", "image_to_image", "inpainting", "negative_prompt", "latents_input", "trace", "text_generation", "image_understanding"]
    schedulers = list(SCHEDULERS)
    load_settings = {"precision", "variant"}
    image_settings = {"negative_prompt", "width", "height", "steps", "guidance_scale", "scheduler", "timestep_spacing", "seed", "random_source", "latents", "image", "mask",
                      "strength", "trace_level"}  # fmt: skip
    text_settings = {"turns", "raw", "image", "temperature", "top_k", "top_p", "min_p", "repetition_penalty"}
    details = {"openvino": ov.__version__.split("-")[0]}
    unavailable = {
        "prompt_embeds": "the pipeline doesn't hand out embeddings", "noise_pred": "its callback shows latents, not predictions",
        "timesteps": "its callback counts steps, it doesn't tell timesteps", "latents.init": "its callback begins after the first step",
        "unet": "durations are told only after the run, without their moments", "tokenize": "not apart from text_encode",
        "previews": "a run whose callback decodes latents ends after that step",
        "trace image": "pixels come as 8 bits only", "blocks": "the networks are compiled as a whole",
    }  # fmt: skip

    def load(self, request, run):
        path, precision = request["path"], request.get("precision", "f32")
        if not os.path.exists(path):
            raise BackendError("model_not_found", f"{path}: no such file or folder")
        if precision not in ("f32", "bf16", "int8"):
            raise BackendError("not_supported", f"precision '{precision}': this has f32, bf16 and int8 (weights)")
        options = {"INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32", "INFERENCE_NUM_THREADS": request.get("threads", os.cpu_count())}
        with run.stage("load"):
            if os.path.isfile(os.path.join(path, "model_index.json")):
                folder = path
                if not os.path.exists(os.path.join(path, "unet/openvino_model.xml")):
                    try:
                        folder = exported("openvino", "export", path, *(["--weights", "int8"] if precision == "int8" else []))
                    except RuntimeError as error:
                        raise BackendError("not_supported", f"{path} isn't OpenVINO IR, and its export failed: {error}") from error
                return self.load_images(folder, request, options)
            return self.load_text(path, request, options)

    def load_images(self, folder, request, options):
        def config(name):
            with open(os.path.join(folder, name)) as file:
                return json.load(file)

        # The three pipelines share the networks of the one that has all.
        inpaint = genai.InpaintingPipeline(folder, "CPU", **options)
        pipes = {0: genai.Text2ImagePipeline(inpaint), 1: genai.Image2ImagePipeline(inpaint), 2: inpaint}
        unet, xl = config("unet/config.json"), os.path.isdir(os.path.join(folder, "text_encoder_2"))
        factor = 2 ** (len(config("vae_decoder/config.json")["block_out_channels"]) - 1)
        side, scheduler = unet["sample_size"] * factor, config("scheduler/scheduler_config.json")
        size = [os.path.getsize(os.path.join(root, name)) for root, _, names in os.walk(folder) for name in names if name.endswith(".bin")]
        info = {
            "variant": request.get("variant") or ("sdxl" if xl else "sd20" if unet.get("use_linear_projection") else "sd15"),
            "capabilities": self.capabilities[:6], "native_sizes": [[side, side]], "size_multiple": factor,
            "prediction_type": scheduler.get("prediction_type", "epsilon"), "default_scheduler": CLASSES.get(scheduler["_class_name"]), "default_steps": 20,
            "default_guidance_scale": 5.0 if xl else 7.5, "weight_bytes": sum(size),
        }  # fmt: skip
        return info, {"pipes": pipes, "folder": folder, "info": info, "factor": factor}

    def load_text(self, path, request, options):
        vision = os.path.isdir(path) and os.path.exists(os.path.join(path, "openvino_language_model.xml"))
        if "projector" in request:
            raise BackendError("not_supported", "OpenVINO GenAI reads no projector files; give a folder that optimum-intel exported")
        pipe = (genai.VLMPipeline if vision else genai.LLMPipeline)(path, "CPU", **options)
        info = {"variant": request.get("variant") or ("smolvlm" if vision else "llama"), "capabilities": ["text_generation"] + ["image_understanding"] * vision}
        return info, {"pipe": pipe, "vision": vision, "info": info}

    def generate_images(self, model, request, run):
        if "folder" not in model:
            raise BackendError("not_supported", "this is a language model")
        info, factor, level = model["info"], model["factor"], request.get("trace_level", "none")
        width, height = request.get("width", info["native_sizes"][0][0]), request.get("height", info["native_sizes"][0][1])
        if level == "block":
            raise BackendError("not_supported", "the networks are compiled as a whole: there is no trace of blocks, only 'step'")
        if "latents" not in request and request.get("random_source", "torch") != "torch":
            raise BackendError("not_supported", "noise is drawn as torch draws it; give other noise as latents")
        if width % factor or height % factor:
            raise BackendError("invalid_input", f"{width}x{height}: sides must be multiples of {factor}")
        latents = run.read("latents", (1, 4, height // factor, width // factor))
        pictures = [run.read(key) for key in ("image", "mask")]
        pipe = model["pipes"][sum(picture is not None for picture in pictures)]
        scheduler = self.set_scheduler(pipe, model, request)
        steps, scale, seed = request.get("steps", 20), request.get("guidance_scale", info["default_guidance_scale"]), request.get("seed", secrets.randbits(63))
        watch = Watch(run, scheduler, level)
        generator = Noise(seed, latents, 1 if pictures[0] is None else 2, watch.drawn)
        named = {"width": width, "height": height, "num_inference_steps": steps, "guidance_scale": scale, "generator": generator, "callback": watch.step}
        if "negative_prompt" in request and scale > 1:
            named["negative_prompt"] = request["negative_prompt"]
        arrays = [ov.Tensor(np.ascontiguousarray(np.broadcast_to(np.round(np.moveaxis(p, 1, -1) * 255).clip(0, 255).astype(np.uint8), (1, height, width, 3)))) for p in pictures if p is not None]
        if arrays:
            del named["width"], named["height"]
            named["strength"] = request.get("strength", 0.8)
        run.begin("text_encode")
        pixels = pipe.generate(request["prompt"], *arrays, **named).data.copy()
        run.check()
        return {"images": [{"image": pixels[0], "safety": "unchecked", "seed": seed}], "scheduler": scheduler, "steps": watch.done,
                "guidance_scale": scale, "dropped_tokens": None, "trace": watch.trace if level != "none" else None}  # fmt: skip

    def set_scheduler(self, pipe, model, request):
        name = request.get("scheduler") or model["info"]["default_scheduler"]
        name = CLASSES.get(name, name)
        if name not in SCHEDULERS:
            raise BackendError("not_supported", f"there is no scheduler '{str(name):.60}' here; there are {', '.join(SCHEDULERS)}")
        with open(os.path.join(model["folder"], "scheduler/scheduler_config.json")) as file:
            config = json.load(file)
        # Where the model's file is silent, diffusers' class decides, whose defaults aren't OpenVINO's.
        config.setdefault("timestep_spacing", "linspace" if name in ("euler", "euler_a", "lms") else "leading")
        if "timestep_spacing" in request:
            config["timestep_spacing"] = request["timestep_spacing"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "scheduler_config.json")
            with open(path, "w") as file:
                json.dump(config, file)
            try:
                pipe.set_scheduler(genai.Scheduler.from_config(path, SCHEDULERS[name]))
            except RuntimeError as error:
                raise BackendError("not_supported", f"OpenVINO GenAI has no such {name}: {str(error).strip().splitlines()[-1]}") from error
        return name

    def generate_text(self, model, request, run):
        if "folder" in model:
            raise BackendError("not_supported", "this model makes images")
        pipe = model["pipe"]
        tokenizer, image, start = pipe.get_tokenizer(), run.read("image", (None, None, 3)), time.monotonic_ns()
        config = genai.GenerationConfig()
        config.max_new_tokens, config.apply_chat_template = request.get("max_tokens", 128), False
        if request.get("temperature", 0) > 0:
            config.do_sample, config.temperature, config.rng_seed = True, request["temperature"], request.get("seed", 0) % (1 << 63)
            for key in ("top_k", "top_p", "min_p"):
                if request.get(key):
                    setattr(config, key, request[key])
        if "repetition_penalty" in request:
            config.repetition_penalty = request["repetition_penalty"]
        turns = [{"role": turn["role"], "content": turn["text"]} for turn in request.get("turns", [])] + [{"role": "user", "content": request["prompt"]}]
        prompt = request["prompt"] if request.get("raw") else tokenizer.apply_chat_template(turns, add_generation_prompt=True)
        streamer = Streamer(run, tokenizer)
        if model["vision"]:
            config.apply_chat_template = not request.get("raw")
            images = [ov.Tensor(np.ascontiguousarray(image[None]))] if image is not None else []
            result = pipe.generate(request["prompt"], images=images, generation_config=config, streamer=streamer)
            prompt_ids, more = None, {"prompt_ids": "the pipeline places image tokens itself and doesn't tell them"}
        else:
            if image is not None:
                raise BackendError("not_supported", "this model takes no image")
            ids = tokenizer.encode(prompt, add_special_tokens=bool(request.get("raw"))).input_ids
            prompt_ids, more = [int(value) for value in ids.data.reshape(-1)], {}
            result = pipe.generate(ids, generation_config=config, streamer=streamer)
        run.check()
        run.close_to()
        ids, metrics = streamer.ids, result.perf_metrics
        # The end mark is streamed like a token; the text has no room for it.
        while ids and ids[-1] == tokenizer.get_eos_token_id():
            ids = ids[:-1]
        length = len(streamer.ids) >= config.max_new_tokens and ids == streamer.ids
        return {"text": tokenizer.decode(ids), "ids": ids, "prompt_ids": prompt_ids, "finish_reason": "length" if length else "stop",
                "time_to_first_token_ns": int(metrics.get_ttft().mean * 1e6), "total_ns": time.monotonic_ns() - start,
                "decode_tokens_per_second": metrics.get_throughput().mean if len(ids) > 1 else None,
                "unavailable": {**more, "prefill_tokens_per_second": "the prefill isn't told apart from the first token's sampling"}}  # fmt: skip


class Watch:
    """What the callback shows: a step ends with it, and the next one begins."""

    def __init__(self, run, scheduler, level):
        self.run, self.pndm, self.level = run, scheduler == "pndm", level
        # Of the other samplers the callback shows the prediction of the noiseless latents.
        if scheduler not in ("ddim", "pndm"):
            self.level = "none"
            run.unavailable["latents"] = f"of {scheduler} the callback shows the noiseless prediction in place of the latents"
        self.trace, self.done, self.entry, self.started = {}, 0, 0, False

    def drawn(self):
        """Noise is drawn after the text was encoded: the first draw ends that stage."""
        if not self.started:
            self.started = True
            self.run.end()
            self.run.begin("step", 0)

    def step(self, index, count, latents):
        if self.run.cancelled:
            return True
        if self.level != "none":
            self.trace[f"latents.{self.entry}"] = np.array(latents.data, np.float32)
        warmup = 1 if self.pndm and count > 1 else 0
        total = count - warmup
        if self.entry + 1 > warmup:
            self.done += 1
        self.run.end()
        if self.entry + 1 > warmup:
            self.run.progress(self.done, total)
        self.entry += 1
        self.run.begin("step" if self.entry < count else "vae_decode", self.entry if self.entry < count else None)
        return self.run.cancelled


if __name__ == "__main__":
    serve(OpenVINO())
