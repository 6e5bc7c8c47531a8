"""A small adapter for the tests of genbench_backend.py; also the shortest example of one."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import numpy as np
from genbench_backend import Backend, BackendError, serve


class Toy(Backend):
    name, version, threads = "python-toy", "1.0", 1
    capabilities = ["text_to_image", "latents_input", "previews", "trace", "batch", "text_generation"]
    schedulers, ops = ["euler"], ["silu"]
    image_settings = {"steps", "seed", "latents", "width", "height", "trace_level", "scheduler", "preview_stride", "guidance_scale", "image_count"}
    unavailable = {"prompt_embeds": "the toy has no encoder"}

    def load(self, request, run):
        os.stat(request["path"])
        with run.stage("load"):
            run.check()
            model = np.ones(1 << 22)
        info = {"variant": "sd15", "capabilities": self.capabilities, "native_sizes": [[64, 64]], "size_multiple": 8, "default_scheduler": "euler",
                "default_steps": 4, "default_guidance_scale": 7.5, "parameter_count": model.size, "weight_bytes": model.nbytes}  # fmt: skip
        return info, model

    def generate_images(self, model, request, run):
        width, height, steps = request.get("width", 64), request.get("height", 64), request.get("steps", 4)
        if width % 8 or height % 8:
            raise BackendError("invalid_input", f"{width}x{height}: sides must be multiples of 8")
        if request["prompt"] == "crash":
            os.abort()
        print("this line must not be on stdout")  # as libraries do
        seed, trace = request.get("seed", 0), {}
        noise = run.read("latents", (1, 4, height // 8, width // 8))
        x = np.random.default_rng(seed).normal(size=(1, 4, height // 8, width // 8)) if noise is None else noise.astype(np.float64)
        target = np.random.default_rng(list(request["prompt"].encode())).normal(size=x.shape)
        trace["latents.init"] = x
        for step in range(steps):
            with run.stage("step", step), run.stage("unet", step):
                for _ in range(20):
                    run.check()
                    time.sleep(0.001)
                trace[f"noise_pred.{step}"] = x - target
                x = x - (x - target) / (steps - step + 1)
                trace[f"latents.{step}"] = x
            run.progress(step + 1, steps)
            if step % request.get("preview_stride", steps + 1) == 0:
                run.preview(step + 1, self.pixels(x))
        images = [{"image": self.pixels(x), "safety": "unchecked", "seed": seed}]
        return {"images": images, "scheduler": "euler", "steps": steps, "guidance_scale": request.get("guidance_scale", 7.5), "dropped_tokens": 0,
                "trace": trace if request.get("trace_level", "none") != "none" else None}  # fmt: skip

    def pixels(self, x):
        return np.kron(np.moveaxis(x[0, :3], 0, -1) * 40 + 128, np.ones((8, 8, 1))).clip(0, 255).astype(np.uint8)

    def generate_text(self, model, request, run):
        words = request["prompt"][: request.get("max_tokens", 128)]
        for index, letter in enumerate(words):
            with run.stage("decode", index):
                run.check()
                time.sleep(0.002)
            run.token(ord(letter), letter)
        if request["prompt"] == "long reply":
            words = "x" * (2 << 20)
        return {"text": words, "ids": [ord(letter) for letter in words[:100]], "prompt_ids": [], "finish_reason": "stop",
                "time_to_first_token_ns": 1, "total_ns": 2}  # fmt: skip

    def op(self, request, run):
        values = run.tensors(request["inputs"])["input"].astype(np.float64)
        return {"output": (values / (1 + np.exp(-values))).astype(np.float32)}


if __name__ == "__main__":
    serve(Toy())
