#!/usr/bin/env python3
"""Quality per millisecond: how well pictures follow their prompts after how many steps of which sampler, and after how long.

Pictures and times are genbench's own (`genbench run`). Adherence is the share of held-out prompts whose shape, colour and ground
are all right (judge.see); sharpness the steepest slopes of a picture as a share of its contrast, 1 being a hard edge.

    python scripts/train/quality.py sd15 [--genbench PROGRAM] [--prompts 24] [--output FOLDER]

writes quality-sd15.tsv and, through gnuplot, quality-sd15.png.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
from PIL import Image

import judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = [1, 2, 3, 5, 8, 12, 20, 30]
SAMPLERS = ["ddim", "pndm", "euler", "dpmpp_2m", "unipc"]


def sharpness(image):
    """The slope between neighbours that one in three hundred exceeds, as a share of the picture's range."""
    grey = image.mean(2)
    slope = np.concatenate([np.abs(np.diff(grey, axis=0)).ravel(), np.abs(np.diff(grey, axis=1)).ravel()])
    contrast = np.ptp(grey)
    return float(np.percentile(slope, 99.7) / contrast) if contrast > 0.05 else 0.0


def measure(program, variant, prompts, steps, samplers, folder):
    """Runs genbench; the samples of each (sampler, steps): [(index of the prompt, picture's path, ns)]."""
    lines = folder / "prompts.txt"
    lines.write_text("".join(caption + "\n" for caption, _ in prompts))
    out = folder / "run"
    subprocess.run(
        [program, "run", "--variant", variant, "--prompts", lines, "--steps", ",".join(map(str, steps)), "--scheduler", ",".join(samplers),
         "--guidance-scale", "7.5", "--no-plots", "--gate", "off", "--out", out], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    run = json.loads((out / "run.json").read_text())
    index = {caption: number for number, (caption, _) in enumerate(prompts)}
    return {
        (case["parameters"]["scheduler"], case["parameters"]["steps"]): [
            (index[sample["prompt"]], out / sample["image"], sample["e2e_ns"]) for session in case["sessions"] for sample in session["samples"]]
        for case in run["cases"]
    }


def draw(table, figure, title):
    """Four curves: adherence and sharpness over steps and over milliseconds."""
    panels = []
    for column, label, top in ((3, "prompts followed / %", 105), (4, "sharpness / %", "*")):
        for axis, name in ((2, "steps"), (5, "milliseconds an image (median)")):
            curves = ", ".join(
                f"'{table}' index {number} using {axis}:(100*${column}) with linespoints pt 7 ps 0.6 title '{sampler}'"
                for number, sampler in enumerate(SAMPLERS))
            panels.append(f"set xlabel '{name}'\nset ylabel '{label}'\nset yrange [0:{top}]\nplot {curves}")
    script = (
        f"set terminal pngcairo size 1200,850 font 'sans,10'\nset output '{figure}'\nset multiplot layout 2,2 title '{title}'\n"
        "set grid\nset logscale x\nset key bottom right\n" + "\n".join(panels) + "\nunset multiplot\n")
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=["sd15", "sd20", "sdxl"])
    parser.add_argument("--genbench", default=str(ROOT / ".build/release/genbench"))
    parser.add_argument("--prompts", type=int, default=24)
    parser.add_argument("--output", default=".")
    parser.add_argument("--smoke", action="store_true")
    found = parser.parse_args()
    prompts = list(dict(judge.prompts(2 if found.smoke else found.prompts)).items())
    steps, samplers = (STEPS[:2], SAMPLERS[:1]) if found.smoke else (STEPS, SAMPLERS)
    output = pathlib.Path(found.output)
    output.mkdir(parents=True, exist_ok=True)
    lines = ["# sampler\tsteps\tadherence\tsharpness\tmilliseconds"]
    with tempfile.TemporaryDirectory() as scratch:
        results = measure(found.genbench, found.variant, prompts, steps, samplers, pathlib.Path(scratch))
        for sampler in samplers:
            for count in steps:
                right, sharp = [], []
                for number, path, _ in results[sampler, count]:
                    picture = np.asarray(Image.open(path).convert("RGB")) / 255
                    seen, scene = judge.see(picture), prompts[number][1]
                    shape = (seen["shapes"] or [{"kind": None, "colour": None}])[0]
                    thing = scene.things[0]
                    right.append(shape["kind"] == thing.kind and shape["colour"] == thing.colour and seen["background"] == scene.background)
                    sharp.append(sharpness(picture))
                took = np.median([ns for _, _, ns in results[sampler, count]]) / 1e6
                lines.append(f"{sampler}\t{count}\t{np.mean(right):.3f}\t{np.mean(sharp):.3f}\t{took:.1f}")
                print(lines[-1], flush=True)
            lines.append("\n")
    table = output / f"quality-{found.variant}.tsv"
    table.write_text("\n".join(lines).rstrip("\n") + "\n")
    if shutil.which("gnuplot") and not found.smoke:
        draw(table, output / f"quality-{found.variant}.png", f"Small {found.variant}: {len(prompts)} held-out prompts, guidance 7.5")


if __name__ == "__main__":
    main()
