#!/usr/bin/env python3
"""Judges pictures by image analysis alone: what colour is the ground, what shapes are there, of which colour, size and place.

Nothing here knows how the training pictures are drawn. The ground is the commonest colour along the border; what differs from it
and hangs together is a shape; its colour is the median inside; its kind comes from the area it fills of its bounding box and of its
hull, from its roundness, its hole, and its symmetry. Colours are named by hue, saturation and lightness.

    python scripts/train/judge.py FOLDER|sd15|sd20|sdxl [--prompts 100] [--steps 20] [--guidance 7.5]     draws with diffusers and judges
    python scripts/train/judge.py --picture FILE.png                                                    says what it sees
"""

import argparse
import colorsys
import json
import pathlib
import random
import sys

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull


def colour_name(rgb):
    """Names a colour from its hue (degrees), saturation and value."""
    hue, saturation, value = colorsys.rgb_to_hsv(*[float(c) for c in rgb])
    hue *= 360
    if value < 0.2:
        return "black"
    if saturation < 0.16:
        return "white" if value > 0.8 else "gray"
    if hue < 18 or hue >= 345:
        return "red" if saturation > 0.6 else "pink"
    if hue < 42:
        return "orange"
    if hue < 70:
        return "yellow"
    if hue < 170:
        return "green"
    if hue < 260:
        return "blue"
    if hue < 300 or (hue < 318 and value < 0.75):
        return "purple"
    return "pink"


def _radii(mask, centre, angles=72):
    """How far the outline is from the centre, per direction."""
    ys, xs = np.nonzero(mask)
    dy, dx = ys - centre[0], xs - centre[1]
    sector = ((np.arctan2(dy, dx) + np.pi) / (2 * np.pi) * angles).astype(int) % angles
    radii = np.zeros(angles)
    np.maximum.at(radii, sector, np.hypot(dx, dy))
    return radii


def shape_name(mask):
    """Names a filled outline; None where it is none of the known shapes."""
    filled = ndimage.binary_fill_holes(mask)
    area = filled.sum()
    hole = (area - mask.sum()) / area
    ys, xs = np.nonzero(filled)
    height, width = np.ptp(ys) + 1, np.ptp(xs) + 1
    extent = area / (height * width)
    edge = np.stack([ys, xs], 1)[(filled & ~ndimage.binary_erosion(filled))[ys, xs]]
    try:
        hull = ConvexHull(np.concatenate([edge + d for d in ((-.5, -.5), (-.5, .5), (.5, -.5), (.5, .5))])).volume
    except Exception:
        return None
    solidity = area / hull
    ratio = width / height
    if hole > 0.08 and solidity > 0.93 and 0.65 < extent < 0.88:
        return "ring"
    if solidity > 0.93:
        if extent > 0.89 and 0.8 < ratio < 1.25:
            return "square"
        if extent > 0.68 and 0.8 < ratio < 1.25:
            # A heart is nearly convex as well; its widest row is high, a circle's is in the middle.
            rows = np.array([filled[y].sum() for y in range(ys.min(), ys.max() + 1)])
            upper = rows[: len(rows) // 2].sum() / rows.sum()
            return "circle" if 0.42 < upper < 0.58 else "heart" if upper >= 0.58 else None
        if 0.4 < extent < 0.66:
            return "triangle"
    rows = np.array([filled[y].sum() for y in range(ys.min(), ys.max() + 1)])
    upper = rows[: len(rows) // 2].sum() / rows.sum()
    if solidity < 0.84 and extent < 0.62:
        return "star"
    if solidity > 0.8 and upper > 0.54 and extent > 0.5:
        return "heart"
    if 0.84 <= solidity and 0.4 < extent < 0.66 and upper < 0.45:
        return "triangle"
    return "star" if solidity < 0.84 else None


def see(image):
    """What is in a picture [H, W, 3] of 0...1: {"background": name, "shapes": [{kind, colour, x, y, size}]}."""
    height, width = image.shape[:2]
    factor = max(1, min(height, width) // 256)
    small = image[: height // factor * factor, : width // factor * factor]
    small = small.reshape(height // factor, factor, width // factor, factor, 3).mean((1, 3))
    band = max(2, small.shape[0] // 32)
    border = np.concatenate([small[:band].reshape(-1, 3), small[-band:].reshape(-1, 3), small[:, :band].reshape(-1, 3), small[:, -band:].reshape(-1, 3)])
    ground = np.median(border, 0)
    differs = np.abs(small - ground).max(2) > 0.22
    # White on yellow, gray on pink: smaller steps, if they are large areas.
    if differs.mean() < 0.01:
        differs = np.abs(small - ground).max(2) > 0.1
    differs = ndimage.binary_opening(differs, iterations=1)
    labels, count = ndimage.label(differs)
    shapes = []
    for label in range(1, count + 1):
        mask = labels == label
        filled = ndimage.binary_fill_holes(mask)
        if filled.sum() < 0.003 * mask.size:
            continue
        ys, xs = np.nonzero(filled)
        inner = ndimage.binary_erosion(mask, iterations=2)
        pixels = small[inner if inner.sum() > 10 else mask]
        colour = np.median(pixels, 0)
        dark = (pixels.max(1) < 0.35).mean()
        yellow = ((pixels[:, 0] > 0.6) & (pixels[:, 1] > 0.55) & (pixels[:, 2] < 0.4)).mean()
        striped = dark > 0.2 and yellow > 0.2
        shapes.append({
            "kind": "hazard" if striped else shape_name(mask), "colour": "striped" if striped else colour_name(colour),
            "x": float((xs.min() + xs.max() + 1) / 2 / small.shape[1]), "y": float((ys.min() + ys.max() + 1) / 2 / small.shape[0]), "size": float(np.sqrt(filled.mean())),
        })
    shapes.sort(key=lambda s: -s["size"])
    return {"background": colour_name(ground), "shapes": shapes}


def prompts(count, seed=2026):
    """Held-out one-shape scenes and their captions."""
    import training  # noqa: F401
    import world

    rng = random.Random(seed)
    scenes = [world.random_scene(rng, count=1, only_held_out=True, hazard=False) for _ in range(count)]
    return [(world.caption(rng, scene), scene) for scene in scenes]


def pipeline(folder):
    import training  # noqa: F401
    import diffusers
    import torch

    name = json.loads((folder / "model_index.json").read_text())["_class_name"]
    pipe = getattr(diffusers, name).from_pretrained(str(folder), safety_checker=None, torch_dtype=torch.float32)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def place_of(shape):
    column = "left" if shape["x"] < 0.4 else "right" if shape["x"] > 0.6 else ""
    row = "top" if shape["y"] < 0.4 else "bottom" if shape["y"] > 0.6 else ""
    return f"{row} {column}".strip() or "center"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--picture")
    parser.add_argument("--prompts", type=int, default=100)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--guidance", type=float, default=7.5)
    parser.add_argument("--sheet", help="write a contact sheet of the pictures here")
    parser.add_argument("--sheet-count", type=int, default=24)
    parser.add_argument("--smoke", action="store_true")
    found = parser.parse_args()
    if found.picture:
        from PIL import Image

        print(json.dumps(see(np.asarray(Image.open(found.picture).convert("RGB")) / 255), indent=1))
        return
    import training
    import torch

    torch.set_grad_enabled(False)
    folder = pathlib.Path(found.model) if pathlib.Path(found.model).exists() else training.MODELS / found.model
    pipe = pipeline(folder)
    count = 2 if found.smoke else found.prompts
    right = {"kind": 0, "colour": 0, "background": 0, "place": 0, "one": 0, "both": 0}
    pictures = []
    for index, (caption, scene) in enumerate(prompts(count)):
        out = pipe(caption, num_inference_steps=found.steps, guidance_scale=found.guidance,
                   generator=torch.Generator().manual_seed(index), output_type="np").images[0]
        seen = see(out)
        thing, shape = scene.things[0], (seen["shapes"] or [{"kind": None, "colour": None, "x": 0, "y": 0}])[0]
        good = {
            "kind": shape["kind"] == thing.kind, "colour": shape["colour"] == thing.colour,
            "background": seen["background"] == scene.background, "place": place_of(shape) == thing.place,
            "one": len(seen["shapes"]) == 1,
        }
        good["both"] = good["kind"] and good["colour"]
        for key, value in good.items():
            right[key] += bool(value)
        if not good["both"] or not good["background"]:
            print(f"{index}: {caption!r}: saw {shape['colour']} {shape['kind']} on {seen['background']}", flush=True)
        if len(pictures) < found.sheet_count:
            step = max(1, out.shape[0] // 192)
            pictures.append(torch.nn.functional.adaptive_avg_pool2d(torch.from_numpy(out).permute(2, 0, 1), 192))
    print(f"{folder.name}: {count} held-out prompts, {found.steps} steps, guidance {found.guidance}: "
          + ", ".join(f"{key} {100 * value / count:.0f} %" for key, value in right.items()))
    if found.sheet:
        from PIL import Image

        rows = [torch.cat(pictures[i:i + 6], 2) for i in range(0, len(pictures) // 6 * 6, 6)]
        Image.fromarray((torch.cat(rows, 1).permute(1, 2, 0) * 255).round().byte().numpy()).save(found.sheet)


if __name__ == "__main__":
    main()
