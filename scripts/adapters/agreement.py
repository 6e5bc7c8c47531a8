"""How far a backend is from genbench with the same noise, sampler by sampler.

    python scripts/adapters/agreement.py --backend "COMMAND" --model FOLDER [--genbench PROGRAM] [--schedulers a,b] [--steps 20]
        [--backend-model PATH] [--size WxH] [--prompt TEXT] [--negative TEXT] [--load KEY=VALUE] [--cases samplers|options|all] [--json FILE]

Runs each sampler that the backend lists (and, with `options`, other settings: absent and empty negative prompts, guidance off,
guidance rescale, clip skip, image-to-image, inpainting) in genbench and in the backend from the same latents. Prints a line each: the PSNR
of the pictures, the largest relative difference of latents and predictions where the backend tells them. Exit code 7 when one is
below 50 dB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from genbench_backend import read_safetensors
from try_backend import Client, Failure, psnr, relative, write_png

OPTIONS = {
    "negative-absent": {"negative_prompt": None}, "negative-empty": {"negative_prompt": ""},
    "no-guidance": {"guidance_scale": 1.0}, "guidance-rescale": {"guidance_rescale": 0.7}, "clip-skip": {"clip_skip": 1},
    "ddim-eta": {"scheduler": "ddim", "eta": 0.5}, "trailing": {"scheduler": "euler", "timestep_spacing": "trailing"},
    "linspace": {"scheduler": "dpmpp_2m", "timestep_spacing": "linspace"}, "img2img": {"image": True, "strength": 0.6},
    "img2img-euler_a": {"image": True, "strength": 0.5, "scheduler": "euler_a"}, "inpaint": {"image": True, "mask": True, "strength": 0.75},
}  # fmt: skip
FLAGS = {
    "scheduler": "--scheduler", "negative_prompt": "--negative-prompt", "guidance_scale": "--guidance-scale",
    "guidance_rescale": "--guidance-rescale", "clip_skip": "--clip-skip", "eta": "--eta", "timestep_spacing": "--timestep-spacing",
    "strength": "--strength", "steps": "--steps", "seed": "--seed", "width": "--width", "height": "--height",
}  # fmt: skip


def picture(width, height):
    """Soft stripes and a disc, u8 RGB."""
    y, x = np.mgrid[0:height, 0:width]
    disc = np.hypot(x - 0.5 * width, y - 0.5 * height) < 0.25 * height
    return np.stack([128 + 100 * np.sin(6 * x / width), 128 + 100 * np.cos(5 * y / height), np.where(disc, 220, 60)], -1).astype(np.uint8)


def mask(width, height):
    y, x = np.mgrid[0:height, 0:width]
    return np.where(np.hypot(x - 0.6 * width, y - 0.4 * height) < 0.3 * height, 255, 0).astype(np.uint8)


class Comparison:
    def __init__(self, words):
        self.words, self.folder = words, tempfile.mkdtemp(prefix="genbench-agreement-")
        self.client = Client(words.backend, timeout=3600, errors=None if words.verbose else subprocess.DEVNULL)
        settings = dict(pair.split("=", 1) for pair in words.load)
        self.model = self.client.ask("load", path=words.backend_model or words.model, **settings)["model"]
        self.width, self.height = (int(side) for side in words.size.split("x")) if words.size else self.model["native_sizes"][0]
        self.settings = {"prompt": words.prompt, "negative_prompt": words.negative, "steps": words.steps, "seed": 11, "width": self.width, "height": self.height}
        self.latents = np.random.default_rng(5).normal(size=(1, 4, self.height // self.factor(), self.width // self.factor())).astype(np.float32)
        np.save(self.path("latents.npy"), self.latents)
        write_png(self.path("image.png"), picture(self.width, self.height))
        write_png(self.path("mask.png"), np.repeat(mask(self.width, self.height)[..., None], 3, -1))

    def path(self, name):
        return os.path.join(self.folder, name)

    def factor(self):
        with open(os.path.join(self.words.model, "vae/config.json")) as file:
            return 2 ** (len(json.load(file)["block_out_channels"]) - 1)

    def genbench(self, settings):
        command = [self.words.genbench, "generate", "--model", self.words.model, "--prompt", settings["prompt"], "--latents", self.path("latents.npy"),
                   "--trace", self.path("trace.safetensors"), "--output", self.path("out.png"), "--no-safety-checker"]  # fmt: skip
        for key, flag in FLAGS.items():
            if settings.get(key) is not None:
                command += [flag, str(settings[key])]
        for key in ("image", "mask"):
            if settings.get(key):
                command += [f"--{key}", self.path(f"{key}.png")]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
        return read_safetensors(self.path("trace.safetensors"))

    def backend(self, settings):
        request = {key: value for key, value in settings.items() if key not in ("image", "mask")}
        request["latents"] = self.client.give(self.latents)
        if settings.get("image"):
            request["image"] = self.client.give(np.moveaxis(picture(self.width, self.height), -1, 0)[None].astype(np.float32) / 255)
        if settings.get("mask"):
            request["mask"] = self.client.give(mask(self.width, self.height)[None, None].astype(np.float32) / 255)
        level = "step" if "trace" in self.model["capabilities"] else None
        reply = self.client.ask("generate_images", model=self.model["id"], trace_level=level, checks_safety=False, **request)
        pixels = self.client.take(reply["images"][0]["image"])
        return pixels, self.client.take(reply["trace"]) if reply.get("trace") else {}

    def compare(self, changes):
        settings = self.settings | changes
        row = {"settings": changes}
        try:
            ours = self.genbench(settings)
        except RuntimeError as error:
            return row | {"error": f"genbench: {error}"}
        try:
            pixels, theirs = self.backend(settings)
        except Failure as failure:
            return row | {"error": str(failure)}
        bytes_ = np.round(np.moveaxis(ours["image"][0], 0, -1) * 255).clip(0, 255).astype(np.uint8)
        # Inpainting's kept pixels are put back by genbench alone: there the picture of the trace is compared.
        row["psnr_db"] = round(float(psnr(theirs["image"], ours["image"]) if "image" in theirs else psnr(pixels, bytes_)), 2)
        for group in ("latents", "noise_pred", "timesteps", "prompt_embeds"):
            errors = [relative(theirs[name], ours[name]) for name in ours if name.startswith(group) and name in theirs and theirs[name].shape == ours[name].shape]
            lengths = [name for name in ours if name.startswith(group) and name in theirs and theirs[name].shape != ours[name].shape]
            row[group] = max(errors) if errors else f"another shape: {lengths[0]}" if lengths else None
        return row


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--backend", required=True)
    words.add_argument("--model", required=True, help="a diffusers folder")
    words.add_argument("--backend-model", help="what the backend loads, when it isn't that folder")
    words.add_argument("--genbench", default=os.environ.get("GENBENCH", "genbench"))
    words.add_argument("--schedulers")
    words.add_argument("--steps", type=int, default=20)
    words.add_argument("--size")
    words.add_argument("--prompt", default="a large red circle on a blue background")
    words.add_argument("--negative", default="blurry")
    words.add_argument("--load", action="append", default=[])
    words.add_argument("--cases", choices=["samplers", "options", "all"], default="samplers")
    words.add_argument("--json")
    words.add_argument("--verbose", action="store_true")
    words = words.parse_args()
    comparison = Comparison(words)
    names = words.schedulers.split(",") if words.schedulers else comparison.client.welcome.get("schedulers") or []
    cases = {name: {"scheduler": name} for name in names} if words.cases != "options" else {}
    cases |= OPTIONS if words.cases != "samplers" else {}
    rows, status = {}, 0
    for name, changes in cases.items():
        rows[name] = row = comparison.compare(changes)
        if "error" in row:
            print(f"{name:24} {row['error'][:160]}", flush=True)
            continue
        numbers = " ".join(f"{key} {row[key]:.1e}" if isinstance(row[key], float) else f"{key} {row[key]}" for key in ("latents", "noise_pred", "timesteps") if row[key] is not None)
        print(f"{name:24} {row['psnr_db']:7.2f} dB  {numbers}", flush=True)
        status = max(status, 7 if not row["psnr_db"] >= 50 else 0)
    if words.json:
        with open(words.json, "w") as file:
            json.dump({"welcome": comparison.client.welcome, "model": comparison.model, "rows": rows}, file, indent=1, default=float)
    comparison.client.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
