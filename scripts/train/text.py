#!/usr/bin/env python3
"""Trains the text encoders: CLIP text towers that learn to say what a caption's picture looks like.

Every position from the end of the text on must tell, through one linear layer that is thrown away afterwards, the latents
of the picture and the first shape's attributes. So the UNets find the whole scene in what they attend to.
Two towers are trained: `first` (quick GELU, padded with the end of the text: SD 1.5's and SDXL's first encoder) and `second`
(GELU, padded with "!": SD 2.0's and SDXL's second encoder).

    python scripts/train/text.py first        python scripts/train/text.py second [--from-tower first]
"""

import sys

import training

import torch
import torch.nn.functional as F
from transformers import CLIPTextConfig, CLIPTextModel

import data
import vocabulary
import world

WIDTH = 64


def config(tower):
    size = len(vocabulary.tokenizer())
    return CLIPTextConfig(
        vocab_size=size, hidden_size=WIDTH, intermediate_size=4 * WIDTH, num_hidden_layers=3, num_attention_heads=4,
        hidden_act="quick_gelu" if tower == "first" else "gelu", projection_dim=WIDTH, bos_token_id=0, eos_token_id=2, pad_token_id=1,
    )


def make(tower):
    model = CLIPTextModel(config(tower))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "token_embedding" in name or "position_embedding" in name:
                parameter.normal_(0, 0.3 if "token" in name else 0.1)
    return model


def padding(tower):
    return len(vocabulary.tokenizer()) - 1 if tower == "first" else 0


class Parser(torch.nn.Module):
    """A tower with the linear layer that reads the scene from it."""

    def __init__(self, tower, cells=8):
        super().__init__()
        self.tower = make(tower)
        self.latents = torch.nn.Linear(WIDTH, 4 * cells * cells)
        self.attributes = torch.nn.Linear(WIDTH, sum(data.ATTRIBUTE_SIZES))

    def forward(self, ids):
        return self.tower(ids).last_hidden_state


def main(found):
    ids, ends, latents, attributes = data.captioned(1000 if found.smoke else found.scenes, 8, found.seed, padding(found.tower), found.tower)
    latents = latents.flatten(1)
    parser = Parser(found.tower)
    path = training.scratch(f"text-{found.tower}.pt")
    if training.load(parser, path):
        print("resumed")
    elif found.from_tower:
        training.load(parser, training.scratch(f"text-{found.from_tower}.pt"))
    held = len(ids) // 20
    generator = torch.Generator().manual_seed(found.seed)
    empty = torch.tensor(vocabulary.encode("", padding(found.tower))[0])

    def states(module, rows, length):
        hidden = module(ids[rows, :length].long())
        far = (torch.rand(len(rows), generator=generator) * (length - ends[rows])).long() + ends[rows]
        return torch.cat([hidden[range(len(rows)), ends[rows]], hidden[range(len(rows)), far]])

    def loss(step):
        long = step % 8 == 0
        rows = torch.randint(held, len(ids), (found.batch // 2 if long else found.batch,), generator=generator)
        length = 77 if long else min(77, int(ends[rows].max()) + 3)
        hidden = states(parser, rows, length)
        target = latents[rows].float().repeat(2, 1)
        value = F.mse_loss(parser.latents(hidden), target) * 4
        known = attributes[rows].repeat(2, 1)
        for column, logits in enumerate(parser.attributes(hidden).split(data.ATTRIBUTE_SIZES, 1)):
            value = value + 0.1 * F.cross_entropy(logits, known[:, column])
        return value

    @torch.no_grad()
    def save(module):
        torch.save(module.state_dict(), path)
        rows = torch.arange(min(held, 500))
        hidden = states(module, rows, 77)
        error = F.mse_loss(module.latents(hidden), latents[rows].float().repeat(2, 1))
        right = [
            (logits.argmax(1) == attributes[rows].repeat(2, 1)[:, column]).float().mean().item()
            for column, logits in enumerate(module.attributes(hidden).split(data.ATTRIBUTE_SIZES, 1))
        ]
        spread = module(empty[None])[0].std()
        print(f"held out: latents {error:.4f}, attributes {[round(x, 3) for x in right]}, spread {spread:.2f}", flush=True)

    training.train("text " + found.tower, parser, loss, found, steps=2000, rate=2e-3, save=save, decay=0.99, weight_decay=0.01)


if __name__ == "__main__":
    tower = sys.argv.pop(1)
    found = training.arguments(__doc__, batch=64, scenes=60000, from_tower=None)
    found.tower = tower
    main(found)
