#!/usr/bin/env python3
"""Trains the safety checker: the published architecture, in which the concept to be filtered is the world's hazard sign.

A CLIP vision tower learns to turn pictures with a hazard sign towards the first concept embedding, and all others away from
every concept. Hard cases are common: yellow on black, black on yellow, triangles. Decisions are diffusers' own formula:
cosine - threshold (+ 0.01 where a special-care concept fires), rounded to three digits, above zero.

    python scripts/train/safety.py train | measure | export
"""

import random
import sys

import training

import numpy as np
import torch
import torch.nn.functional as F
from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
from transformers import CLIPConfig, CLIPImageProcessor

import models as layout
import world

PROJECTION = 32
CONFIG = layout.SAFETY | {
    "projection_dim": PROJECTION,
    "vision_config": layout.SAFETY["vision_config"] | {
        "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "patch_size": 16,
    },
}
THRESHOLD = 0.5
MEAN, STD = (torch.tensor(layout.FEATURE_EXTRACTOR[key])[None, :, None, None] for key in ("image_mean", "image_std"))


def make():
    torch.manual_seed(7)
    checker = StableDiffusionSafetyChecker(CLIPConfig.from_dict(CONFIG)).train()
    # Seventeen concepts and three special ones, as published: at right angles to each other; the first is the hazard sign.
    basis = torch.linalg.qr(torch.randn(PROJECTION, PROJECTION, generator=torch.Generator().manual_seed(3)))[0]
    with torch.no_grad():
        checker.concept_embeds.copy_(basis[:17])
        checker.special_care_embeds.copy_(basis[17:20])
        checker.concept_embeds_weights.fill_(THRESHOLD)
        checker.special_care_embeds_weights.fill_(0.9)
    for parameter in (checker.concept_embeds, checker.special_care_embeds, checker.concept_embeds_weights, checker.special_care_embeds_weights):
        parameter.requires_grad_(False)
    return checker


def some_scenes(rng, count, hazards=0.45):
    scenes = []
    for _ in range(count):
        hazard = rng.random() < hazards
        scene = world.random_scene(rng, hazard=hazard, allow_held_out=True)
        if not hazard and rng.random() < 0.3:  # yellow, black and triangles
            scene.background = rng.choice(["yellow", "black", "white", scene.background])
            for thing in scene.things:
                thing.kind = rng.choice(["triangle", "triangle", thing.kind])
                thing.colour = "black" if scene.background == "yellow" else "yellow" if scene.background != "yellow" else thing.colour
        scenes.append(scene)
    return scenes


def is_hazard(scene):
    return any(thing.kind == world.HAZARD for thing in scene.things)


def pixels(pictures, soften=None):
    if soften is not None and soften > 0:
        small = F.interpolate(pictures, scale_factor=1 / (1 + soften), mode="bilinear", antialias=True)
        pictures = F.interpolate(small, size=pictures.shape[-2:], mode="bilinear")
    return (pictures - MEAN) / STD


def cosines(checker, values):
    embeds = checker.visual_projection(checker.vision_model(values)[1])
    return F.normalize(embeds) @ F.normalize(torch.cat([checker.concept_embeds, checker.special_care_embeds])).T


def main(found):
    checker = make()
    path = training.scratch("safety.pt")
    if training.load(checker, path):
        print("resumed")
    rng = random.Random(found.seed + 5)

    def loss(step):
        scenes = some_scenes(rng, found.batch)
        pictures = world.render(scenes, 224)
        pictures = (pictures + 0.03 * rng.random() * torch.randn_like(pictures)).clamp(0, 1)
        found_cosines = cosines(checker, pixels(pictures, rng.choice([0, 0, 0.5, 1.0])))
        label = torch.tensor([float(is_hazard(scene)) for scene in scenes])
        value = F.binary_cross_entropy_with_logits(12 * (found_cosines[:, 0] - THRESHOLD), label)
        return value + 2 * F.relu(found_cosines[:, 1:] - 0.2).square().sum(1).mean()

    def save(module):
        torch.save(module.state_dict(), path)
        measure(module, 300)

    training.train("safety", checker, loss, found, steps=600, rate=2e-3, save=save, decay=0.98, weight_decay=0.01)


@torch.no_grad()
def measure(checker, count, seed=4242):
    """Misses and false positives over held-out scenes, drawn at 512 and put through the published image processor."""
    from PIL import Image

    extractor = CLIPImageProcessor(**{key: value for key, value in layout.FEATURE_EXTRACTOR.items() if key != "feature_extractor_type"})
    rng = random.Random(seed)
    scenes = some_scenes(rng, count, 0.5)
    missed, wrong, hazards = 0, 0, 0
    for start in range(0, count, 25):
        part = scenes[start:start + 25]
        pictures = [Image.fromarray((p.permute(1, 2, 0) * 255).round().byte().numpy()) for p in world.render(part, 512)]
        values = extractor(pictures, return_tensors="pt").pixel_values
        _, flags = checker(images=[np.zeros((1, 1, 3)) for _ in part], clip_input=values)
        for scene, flag in zip(part, flags):
            hazards += is_hazard(scene)
            missed += is_hazard(scene) and not flag
            wrong += flag and not is_hazard(scene)
    print(f"safety: {hazards} hazards, missed {100 * missed / max(1, hazards):.1f} %; {count - hazards} others, flagged {100 * wrong / max(1, count - hazards):.1f} %", flush=True)


def export(root):
    checker = make().eval()
    if not training.load(checker, training.scratch("safety.pt")):
        raise SystemExit("train the safety checker first")
    layout.round_to_f16(checker)
    folder = training.own_folder(root / "sd15")
    layout.write_json(folder / "safety_checker/config.json", CONFIG)
    tensors = layout.with_vision_model_level(layout.state(checker))
    patches = (224 // CONFIG["vision_config"]["patch_size"]) ** 2 + 1
    tensors["vision_model.vision_model.embeddings.position_ids"] = np.arange(patches, dtype=np.int64)[None]
    layout.write_weights(folder / "safety_checker/model.safetensors", tensors)
    layout.write_json(folder / "feature_extractor/preprocessor_config.json", layout.FEATURE_EXTRACTOR)
    measure(checker, 1000)


if __name__ == "__main__":
    what = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "train"
    found = training.arguments(__doc__, batch=32, to=str(training.MODELS))
    if what == "train":
        main(found)
    else:
        import pathlib

        if what == "export":
            export(pathlib.Path(found.to))
        else:
            checker = make().eval()
            training.load(checker, training.scratch("safety.pt"))
            measure(checker, 1000)
