"""Captions and latents of many scenes, made once and kept in the scratch folder."""

import random
import time

import training

import torch

import vocabulary
import world


def captioned(count, cells, seed, pad, name):
    """Token ids [N, 77], the positions of the end [N], latents [N, 4, cells, cells] and the scenes' attributes [N, 6]."""
    path = training.scratch(f"data-{name}-{count}-{cells}-{seed}.pt")
    if path.exists():
        return torch.load(path, weights_only=True)
    begun = time.time()
    rng = random.Random(seed)
    ids, ends, parts, attributes = [], [], [], []
    for start in range(0, count, 250):
        scenes = [world.random_scene(rng) for _ in range(min(250, count - start))]
        for scene in scenes:
            row, end = vocabulary.encode(world.any_caption(rng, scene), pad)
            ids.append(row)
            ends.append(end)
            thing = scene.things[0]
            attributes.append([
                world.ALL_KINDS.index(thing.kind), world.COLOUR_NAMES.index(thing.colour), world.COLOUR_NAMES.index(scene.background),
                list(world.PLACES).index(thing.place), list(world.SIZES).index(thing.size), len(scene.things) - 1,
            ])
        parts.append(world.latents(scenes, cells, world.render(scenes, cells * 4)).half())
    result = torch.tensor(ids, dtype=torch.int16), torch.tensor(ends), torch.cat(parts), torch.tensor(attributes)
    torch.save(result, path)
    print(f"{path.name}: {count} scenes in {time.time() - begun:.0f} s", flush=True)
    return result


ATTRIBUTE_SIZES = [len(world.ALL_KINDS), len(world.COLOUR_NAMES), len(world.COLOUR_NAMES), len(world.PLACES), len(world.SIZES), 3]
