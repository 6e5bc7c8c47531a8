#!/usr/bin/env python3
"""How good pictures are after how many steps of which sampler, and after how long: a table and a figure.

Adherence is the share of held-out prompts whose shape, colour and ground are all right (judge.see); sharpness the steepest
slopes of the picture, as a share of its contrast. Milliseconds are diffusers' on this machine: for the shape of the curve only.

    python scripts/train/quality.py sd15 [--prompts 24] [--output FOLDER]      writes quality-sd15.tsv and quality-sd15.png
"""

import argparse
import pathlib
import shutil
import subprocess
import time

import training

import diffusers
import numpy as np
import torch

import judge

STEPS = [1, 2, 3, 5, 8, 12, 20, 30]
SAMPLERS = {
    "ddim": ("DDIMScheduler", {}), "pndm": ("PNDMScheduler", {"skip_prk_steps": True}), "euler": ("EulerDiscreteScheduler", {}),
    "dpmpp_2m": ("DPMSolverMultistepScheduler", {}), "unipc": ("UniPCMultistepScheduler", {}),
}


def sharpness(image):
    """The 99th percentile of the slope between neighbours, as a share of the picture's range; 1 is a hard edge."""
    grey = image.mean(2)
    slope = np.concatenate([np.abs(np.diff(grey, axis=0)).ravel(), np.abs(np.diff(grey, axis=1)).ravel()])
    contrast = np.ptp(grey)
    return float(np.percentile(slope, 99.7) / contrast) if contrast > 0.05 else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant")
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--output", default=str(training.SCRATCH))
    parser.add_argument("--smoke", action="store_true")
    found = parser.parse_args()
    torch.set_grad_enabled(False)
    pipe = judge.pipeline(training.MODELS / found.variant)
    prompts = judge.prompts(2 if found.smoke else found.prompts)
    folder = pathlib.Path(found.output)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / f"quality-{found.variant}.tsv"
    lines = ["sampler\tsteps\tadherence\tsharpness\tmilliseconds"]
    for name, (kind, more) in SAMPLERS.items():
        pipe.scheduler = getattr(diffusers, kind).from_config(pipe.scheduler.config, **more)
        for steps in STEPS[:2] if found.smoke else STEPS:
            right, sharp, elapsed = 0, [], []
            for index, (caption, scene) in enumerate(prompts):
                begun = time.monotonic()
                image = pipe(caption, num_inference_steps=steps, guidance_scale=7.5, generator=torch.Generator().manual_seed(index),
                             output_type="np").images[0]
                elapsed.append(time.monotonic() - begun)
                seen, thing = judge.see(image), scene.things[0]
                shape = (seen["shapes"] or [{"kind": None, "colour": None}])[0]
                right += shape["kind"] == thing.kind and shape["colour"] == thing.colour and seen["background"] == scene.background
                sharp.append(sharpness(image))
            lines.append(f"{name}\t{steps}\t{right / len(prompts):.3f}\t{np.mean(sharp):.3f}\t{1000 * np.median(elapsed):.1f}")
            print(lines[-1], flush=True)
        lines.append("\n")
    table.write_text("\n".join(lines) + "\n")
    if shutil.which("gnuplot"):
        plots = ", ".join(
            f"'{table}' using {{x}}:(100*$3) index {index} every ::{1 if index == 0 else 0} with linespoints title '{name}'"
            for index, name in enumerate(SAMPLERS))
        script = (
            f"set terminal pngcairo size 1100,450 font 'sans,10'\nset output '{folder / f'quality-{found.variant}.png'}'\n"
            "set multiplot layout 1,2\nset grid\nset key bottom right\nset yrange [0:105]\nset ylabel 'prompts followed / %'\n"
            f"set xlabel 'steps'\nset logscale x\nplot {plots.replace('{x}', '2')}\n"
            f"set xlabel 'milliseconds an image (median)'\nplot {plots.replace('{x}', '5')}\nunset multiplot\n")
        subprocess.run(["gnuplot"], input=script, text=True, check=True)


if __name__ == "__main__":
    main()
