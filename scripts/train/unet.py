#!/usr/bin/env python3
"""Trains the UNet of one image model on captions and latents of the procedural world.

    python scripts/train/unet.py sd15 | sd20 | sdxl [--from-variant sd15]      goes on from the scratch folder where it can

`--from-variant` starts from another variant's UNet, wherever names and shapes agree.

A caption says nearly all of a picture here, so plain training would make guidance of 7.5 a stiff equation that samplers of several steps (PNDM,
DPM-Solver++) can't follow: the prompt's prediction hardly depends on the latents, the empty prompt's does, and their difference counts
sevenfold. So it's the guided prediction that is trained to be right. The prompt's own prediction is then near the empty
prompt's, as it is in the published models, and pictures follow their prompts more with more guidance.

`--guidance` is best about half of what is used later. A prediction is the mean of all pictures that agree with the latents so far, and that is
faded; guidance beyond the trained one gives the contrast back (trained at 7.5 and used at 7.5, shapes keep three quarters of theirs).
"""

import dataclasses
import random
import sys

import training

import torch
from diffusers import DDIMScheduler, UNet2DConditionModel

import data
import variants
import vocabulary
import world

SCHEDULER = {
    "beta_end": 0.012, "beta_schedule": "scaled_linear", "beta_start": 0.00085, "clip_sample": False, "num_train_timesteps": 1000,
    "set_alpha_to_one": False, "steps_offset": 1,
}


def make(variant):
    unet = UNet2DConditionModel.from_config(variants.UNETS[variant]).train()
    return unet.to(memory_format=torch.channels_last)


def borrow(unet, variant):
    """Takes over what fits from another variant's UNet."""
    source = torch.load(training.scratch(f"unet-{variant}.pt"), weights_only=True)
    taken = 0
    with torch.no_grad():
        for name, parameter in unet.named_parameters():
            value = source.get(name)
            if value is not None and value.numel() == parameter.numel() and value.shape[:2] == parameter.shape[:2]:
                parameter.copy_(value.reshape(parameter.shape))
                taken += 1
    print(f"took {taken} of {len(list(unet.parameters()))} tensors from {variant}")


def added(pooled, generator):
    """SDXL's added conditions: sizes and crops vary in training, and say nothing here."""
    if pooled is None:
        return None
    ids = torch.tensor([1024.0, 1024, 0, 0, 1024, 1024]).repeat(len(pooled), 1)
    varied = torch.rand(len(pooled), generator=generator) < 0.3
    ids[varied, :2] = torch.randint(256, 1537, (int(varied.sum()), 2), generator=generator).float()
    return {"text_embeds": pooled, "time_ids": ids}


@torch.no_grad()
def sample(unet, conditioning, variant, captions, seed, steps=20, guidance=7.5):
    """DDIM with guidance, from captions to latents."""
    scheduler = DDIMScheduler(**SCHEDULER, prediction_type=variants.PREDICTIONS[variant])
    scheduler.set_timesteps(steps)
    rows = [vocabulary.encode(caption, conditioning.pads[0]) for caption in captions]
    ids, ends = torch.tensor([row for row, _ in rows]), torch.tensor([end for _, end in rows])
    count = len(captions)
    dropped = torch.arange(2 * count) < count
    states, pooled = conditioning(ids.repeat(2, 1), ends.repeat(2), 77, dropped)
    conditions = None
    if pooled is not None:
        conditions = {"text_embeds": pooled, "time_ids": torch.tensor([1024.0, 1024, 0, 0, 1024, 1024]).repeat(2 * count, 1)}
    generator = torch.Generator().manual_seed(seed)
    latents = torch.randn(count, 4, variants.CELLS[variant], variants.CELLS[variant], generator=generator)
    for timestep in scheduler.timesteps:
        out = unet(latents.repeat(2, 1, 1, 1), timestep, states, added_cond_kwargs=conditions).sample
        without, with_text = out.chunk(2)
        latents = scheduler.step(without + guidance * (with_text - without), timestep, latents).prev_sample
    return latents


def read(latents, scene):
    """Whether the latents' own meaning agrees with a one-shape scene: (kind, colour, background)."""
    cells = latents.shape[-1]
    thing = scene.things[0]
    kind = min(world.KIND_CODES, key=lambda name: abs(world.KIND_CODES[name] - float(latents[3].mean())))
    nearest = lambda value: min(world.COLOUR_NAMES, key=lambda name: float(((torch.tensor(world.COLOURS[name]) - value) ** 2).sum()))
    colours = (latents[:3] + 1) / 2
    # How much of each cell the shape covers, from the scene drawn in black and white.
    plain = world.Scene("black", [dataclasses.replace(thing, kind="circle" if thing.kind == "ring" else thing.kind, colour="white")])
    inside = torch.nn.functional.adaptive_avg_pool2d(world.render([plain], 8 * cells), cells)[0, 0]
    centre = inside >= inside.max() * 0.999
    found = nearest(colours[:, centre].mean(1)) if thing.kind != "ring" else thing.colour
    outside = inside < 0.05
    background = nearest(colours[:, outside].mean(1)) if outside.any() else scene.background
    return kind == thing.kind, found == thing.colour, background == scene.background


def main(variant, found):
    cells = variants.CELLS[variant]
    conditioning = variants.Conditioning(variant)
    count = 1000 if found.smoke else found.scenes
    ids, ends, latents, _ = data.captioned(count, cells, found.seed + 1, conditioning.pads[0], variants.TOWERS[variant][0])
    unet = make(variant)
    path = training.scratch(f"unet-{variant}.pt")
    if training.load(unet, path):
        print("resumed")
    elif found.from_variant:
        borrow(unet, found.from_variant)
    print(f"{sum(p.numel() for p in unet.parameters()) / 1e6:.2f} M parameters", flush=True)
    alphas = DDIMScheduler(**SCHEDULER).alphas_cumprod
    generator = torch.Generator().manual_seed(found.seed)

    def loss(step):
        rows = torch.randint(0, len(ids), (found.batch,), generator=generator)
        length = 77 if step % 6 == 0 else min(77, int(ends[rows].max()) + 3)
        count = len(rows)
        twice = rows.repeat(2)
        states, pooled = conditioning(ids[twice].long(), ends[twice], length, torch.arange(2 * count) < count)
        clean = latents[rows].float()
        noise = torch.randn(clean.shape, generator=generator)
        t = torch.randint(0, 1000, (count,), generator=generator)
        alpha = alphas[t][:, None, None, None]
        noisy = (alpha.sqrt() * clean + (1 - alpha).sqrt() * noise).repeat(2, 1, 1, 1).contiguous(memory_format=torch.channels_last)
        out = unet(noisy, t.repeat(2), states, added_cond_kwargs=added(pooled, generator)).sample
        free, prompted = out.chunk(2)
        guided = free.detach() + found.guidance * (prompted - free.detach())
        snr = (alpha / (1 - alpha)).flatten()
        if variants.PREDICTIONS[variant] == "epsilon":
            target, weight = noise, snr.clamp_max(5) / snr
        else:
            target, weight = alpha.sqrt() * noise - (1 - alpha).sqrt() * clean, snr.clamp_max(5) / (snr + 1)
        errors = (guided - target).square() + (free - target).square()
        return (errors.mean((1, 2, 3)) * weight).mean()

    @torch.no_grad()
    def save(module):
        torch.save(module.state_dict(), path)
        rng = random.Random(99)
        scenes = [world.random_scene(rng, count=1, only_held_out=True, hazard=False) for _ in range(found.check)]
        captions = [world.caption(rng, scene) for scene in scenes]
        drawn = sample(module, conditioning, variant, captions, 5)
        right = torch.tensor([read(z, scene) for z, scene in zip(drawn, scenes)]).float().mean(0)
        error = (drawn - world.latents(scenes, cells)).square().mean()
        print(f"held out: kind {right[0]:.2f} colour {right[1]:.2f} background {right[2]:.2f} error {error:.3f} "
              f"range {drawn[:, :3].min():.2f} {drawn[:, :3].max():.2f}", flush=True)

    training.train("unet " + variant, unet, loss, found, steps=4000, rate=1.5e-3, save=save, decay=0.995, weight_decay=0.01)


if __name__ == "__main__":
    variant = sys.argv.pop(1)
    main(variant, training.arguments(__doc__, batch=32, scenes=60000, check=32, from_variant=None, guidance=3.0))
