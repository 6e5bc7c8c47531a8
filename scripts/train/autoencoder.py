#!/usr/bin/env python3
"""Trains the autoencoder that all three image models share.

Its latents are given a meaning (world.latents): three averaged colours and a code of the shape's kind per cell of 64 x 64
pixels. So decoder and encoder learn apart, and the UNets need neither while they train. The decoder grows: at first its
deep levels alone draw small pictures, then a level is added that starts as a plain enlargement, and so on up to 512 x 512.
The latents are disturbed while it learns, so that it draws proper shapes from the UNets' approximate ones. While its deep
levels learn, a layer that is thrown away afterwards must tell from them what the nearest shape is, and where: with that
they learn to see shapes in cells many times faster than from the pictures alone.
The encoder's upper levels are exact 2 x 2 averages; only its deep levels are learned.

    python scripts/train/autoencoder.py decoder --side 32         then 64, 128, 256, 512; each goes on from the one before
    python scripts/train/autoencoder.py decoder --side 64 --wide --disturb 0.25 --muddle 0.8       learns on; then
    python scripts/train/autoencoder.py decoder --side 512 --wide --deep-from 64 --freeze 3 --disturb 0.2 --muddle 0.7
    python scripts/train/autoencoder.py encoder
"""

import dataclasses
import math
import random
import sys

import training  # first: sets the number of threads

import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL

import world

CHANNELS = [8, 8, 8, 16, 32, 64, 96]  # from the full resolution downward
SCALE = 0.18215
CELL = 64


def config(levels=7, sample_size=512):
    channels = CHANNELS[len(CHANNELS) - levels:] if levels <= len(CHANNELS) else [8] * (levels - len(CHANNELS)) + CHANNELS
    return {
        "act_fn": "silu", "block_out_channels": channels, "down_block_types": ["DownEncoderBlock2D"] * levels, "in_channels": 3,
        "latent_channels": 4, "layers_per_block": 1, "norm_num_groups": 1, "out_channels": 3, "sample_size": sample_size,
        "up_block_types": ["UpDecoderBlock2D"] * levels,
    }


def make(levels):
    return AutoencoderKL.from_config(config(levels)).to(memory_format=torch.channels_last)


def decode(vae, latents):
    """Latents as the UNets see them to pictures in -1...1."""
    return vae.decoder(vae.post_quant_conv(latents / SCALE))


def soft_start(vae):
    """Begins with the scale of the latents taken out, and with an average grey picture."""
    with torch.no_grad():
        vae.post_quant_conv.weight.copy_(SCALE * torch.eye(4)[:, :, None, None])
        vae.post_quant_conv.bias.zero_()
        for name, parameter in vae.decoder.named_parameters():
            if name.endswith("conv2.weight"):
                parameter.mul_(0.3)


@torch.no_grad()
def grow(small, large):
    """Copies a decoder into one with one level more, whose new last block enlarges and else changes nothing at first.

    The small decoder's last block ends in C channels; the large one has an upsampler after it, and a new block of c channels.
    """
    source, target = small.state_dict(), large.state_dict()
    new = len(large.decoder.up_blocks) - 1
    for name, value in source.items():
        if name.startswith(("decoder.", "post_quant_conv")) and "conv_norm_out" not in name and "conv_out" not in name:
            if target[name].shape == value.shape:
                target[name].copy_(value)
    blur = torch.tensor([0.25, 0.5, 0.25])
    kernel = blur[:, None] * blur[None, :]
    up = large.decoder.up_blocks[new - 1].upsamplers[0].conv
    up.weight.zero_()
    up.bias.zero_()
    for channel in range(up.weight.shape[0]):
        up.weight[channel, channel] = kernel
    for resnet in large.decoder.up_blocks[new].resnets:
        resnet.conv2.weight.mul_(0.1)
        resnet.conv2.bias.zero_()
        if resnet.conv_shortcut is not None:
            # Fewer channels: keep the directions that the old output layer used most.
            old = small.decoder.conv_out.weight * small.decoder.conv_norm_out.weight[None, :, None, None]
            _, _, directions = torch.linalg.svd(old.permute(0, 2, 3, 1).reshape(-1, old.shape[1]), full_matrices=True)
            resnet.conv_shortcut.weight.copy_(directions[: resnet.conv_shortcut.weight.shape[0], :, None, None])
            resnet.conv_shortcut.bias.zero_()
    if large.decoder.conv_out.weight.shape == small.decoder.conv_out.weight.shape:
        large.decoder.conv_out.load_state_dict(small.decoder.conv_out.state_dict())
        large.decoder.conv_norm_out.load_state_dict(small.decoder.conv_norm_out.state_dict())


@torch.no_grad()
def take_deep_levels(vae, side):
    """Takes the three deepest blocks over from a smaller decoder that has learnt on."""
    small = make((side // 8).bit_length())
    training.load(small, training.scratch(f"decoder-{side}.pt"))
    parts = ("post_quant_conv", "decoder.conv_in", "decoder.mid_block", *(f"decoder.up_blocks.{index}." for index in range(3)))
    target = vae.state_dict()
    for name, value in small.state_dict().items():
        if name.startswith(parts):
            target[name].copy_(value)


def grown(levels):
    """The largest decoder trained so far, grown to so many levels; None where there is none."""
    for have in range(levels, 2, -1):
        small = make(have)
        if training.load(small, training.scratch(f"decoder-{8 << (have - 1)}.pt")):
            while have < levels:
                have += 1
                large = make(have)
                grow(small, large)
                small = large
            return small
    return None


@torch.no_grad()
def average_above(encoder):
    """Makes the levels above 64 x 64 plain averages of 2 x 2 pixels, and hands colours down in the first three channels."""
    encoder.conv_in.weight.zero_()
    encoder.conv_in.bias.zero_()
    for channel in range(3):
        encoder.conv_in.weight[channel, channel, 1, 1] = 1
    for block in encoder.down_blocks[: len(encoder.down_blocks) - 4]:
        for resnet in block.resnets:
            resnet.conv2.weight.zero_()
            resnet.conv2.bias.zero_()
        conv = block.downsamplers[0].conv
        conv.weight.zero_()
        conv.bias.zero_()
        for channel in range(conv.weight.shape[0]):
            conv.weight[channel, channel, :2, :2] = 0.25


def encode_below(vae, pictures):
    """What the whole encoder makes of pictures (-1...1) that its upper levels have averaged to 64 x 64 already: the moments."""
    encoder = vae.encoder
    hidden = torch.cat([pictures, pictures.new_zeros(len(pictures), CHANNELS[2] - 3, *pictures.shape[2:])], 1)
    for block in encoder.down_blocks[len(encoder.down_blocks) - 4:]:
        hidden = block(hidden)
    hidden = encoder.mid_block(hidden)
    return vae.quant_conv(encoder.conv_out(encoder.conv_act(encoder.conv_norm_out(hidden))))


def train_encoder(found):
    vae = make(7)
    path = training.scratch("encoder.pt")
    if not training.load(vae, path):
        average_above(vae.encoder)
        with torch.no_grad():
            vae.quant_conv.weight.copy_(torch.eye(8)[:, :, None, None])
            vae.quant_conv.weight[:4] /= SCALE
            vae.quant_conv.bias.zero_()
    for part in (vae.decoder, vae.post_quant_conv, vae.quant_conv, vae.encoder.conv_in, *vae.encoder.down_blocks[:3]):
        part.requires_grad_(False)
    generator = random.Random(found.seed + 3)

    def loss(step):
        cells = 12 if step % 4 == 3 else 8
        count = found.batch if cells == 8 else max(1, found.batch * 4 // 9)
        scenes = [world.random_scene(generator, allow_held_out=True) for _ in range(count)]
        pictures = world.render(scenes, 8 * cells)
        target = world.latents(scenes, cells, pictures)
        mean, variance = encode_below(vae, pictures * 2 - 1).chunk(2, 1)
        # The spread of the posterior: a twentieth of the latents' own.
        return F.mse_loss(mean * SCALE, target) + 1e-4 * F.mse_loss(variance, torch.full_like(variance, -2 * math.log(20 * SCALE)))

    @torch.no_grad()
    def save(module):
        torch.save(module.state_dict(), path)
        scenes = world.scenes(9, 32, allow_held_out=True)
        mean = encode_below(module, world.render(scenes, 64) * 2 - 1)[:, :4] * SCALE
        print("encoder: root mean square error per channel", (mean - world.latents(scenes, 8)).square().mean((0, 2, 3)).sqrt().tolist(), flush=True)

    training.train("encoder", vae, loss, found, steps=800, rate=2e-3, save=save, decay=0.99)


def finished(levels):
    """The trained autoencoder: the largest decoder grown as far as needed, and the encoder with as many averaging levels."""
    vae = grown(levels)
    encoder = make(7)
    if not training.load(encoder, training.scratch("encoder.pt")):
        average_above(encoder.encoder)
    with torch.no_grad():
        average_above(vae.encoder)
        shift = levels - 7
        target = vae.state_dict()
        for name, value in encoder.state_dict().items():
            if name.startswith("encoder.down_blocks."):
                parts = name.split(".")
                if int(parts[2]) < 3:
                    continue
                parts[2] = str(int(parts[2]) + shift)
                target[".".join(parts)].copy_(value)
            elif name.startswith(("encoder.mid", "encoder.conv_norm_out", "encoder.conv_out", "quant_conv")):
                target[name].copy_(value)
    return vae.eval()


def disturb(latents, strength):
    amount = torch.rand(len(latents), 1, 1, 1) * strength
    return latents + amount * torch.randn_like(latents)


def muddled(latents, scenes, strength, generator):
    """Latents whose colours are partly those of other kinds of shapes nearly there, while the code of the kind stays: what UNets make.

    The decoder then learns to take the outline from the code, and only place, size and colours from the colours.
    """
    if not strength:
        return latents
    others = []
    for scene in scenes:
        things = []
        for thing in scene.things:
            kind = thing.kind if thing.kind == world.HAZARD else generator.choice(world.KINDS)
            x, y = (value + generator.uniform(-0.015, 0.015) for value in (thing.x, thing.y))
            things.append(dataclasses.replace(thing, kind=kind, x=x, y=y, radius=thing.radius * generator.uniform(0.85, 1.1)))
        others.append(dataclasses.replace(scene, things=things))
    amount = torch.rand(len(scenes), 1, 1, 1) * strength
    other = world.latents(others, latents.shape[-1])
    return torch.cat([torch.lerp(latents[:, :3], other[:, :3], amount), latents[:, 3:]], 1)


def picture_loss(found, target):
    """Absolute error, and that of the differences between neighbours, where the edges are."""
    edges = sum(F.l1_loss(found.diff(dim=d), target.diff(dim=d)) for d in (2, 3))
    return F.l1_loss(found, target) + edges


class Telling(torch.nn.Module):
    """A decoder with the layer that, only while it trains, reads each cell's nearest shape from its deepest block."""

    def __init__(self, vae):
        super().__init__()
        self.vae = vae
        last = vae.decoder.up_blocks[0].resnets[-1]
        self.head = torch.nn.Conv2d(last.conv2.weight.shape[0], 9 + len(world.ALL_KINDS), 1)
        self.seen = []
        last.register_forward_hook(lambda module, given, result: self.seen.append(result))

    def loss(self, latents, scenes):
        """The picture, and the loss of what was told on the way."""
        self.seen.clear()
        picture = decode(self.vae, latents)
        told = self.head(self.seen.pop())
        values, kinds = world.geometry(scenes, latents.shape[-1])
        return picture, 0.3 * F.smooth_l1_loss(told[:, :9], values, beta=0.2) * 5 + 0.05 * F.cross_entropy(told[:, 9:], kinds)


def train_decoder(found):
    side = found.side
    levels = (side // 8).bit_length()
    vae = make(levels)
    path = training.scratch(f"decoder-{side}.pt")
    if not training.load(vae, path):
        start = grown(levels)
        if start is None:
            soft_start(vae)
        else:
            vae = start
    if found.deep_from:
        take_deep_levels(vae, found.deep_from)
    vae.encoder.requires_grad_(False)
    vae.quant_conv.requires_grad_(False)
    if found.freeze:
        for index in range(found.freeze):
            vae.decoder.up_blocks[index].requires_grad_(False)
        for part in (vae.decoder.conv_in, vae.decoder.mid_block, vae.post_quant_conv):
            part.requires_grad_(False)
    generator = random.Random(found.seed + side)
    batch = found.batch

    def loss(step):
        cells = 12 if found.wide and step % 4 == 3 else 8
        count = batch if cells == 8 else max(1, batch * 4 // 9)
        scenes = [world.random_scene(generator, allow_held_out=True) for _ in range(count)]
        pictures = world.render(scenes, side * cells // 8)
        latents = world.latents(scenes, cells, pictures if side >= 64 else None)
        pictures = (pictures * 2 - 1).contiguous(memory_format=torch.channels_last)
        given = disturb(muddled(latents, scenes, found.muddle, generator), found.disturb)
        if not tells:
            return picture_loss(decode(vae, given), pictures)
        drawn, untold = telling.loss(given, scenes)
        return picture_loss(drawn, pictures) + untold

    def save(module):
        module = module.vae if tells else module
        torch.save(module.state_dict(), path)
        sheet(module, side)

    tells = side <= 64
    telling = Telling(vae) if tells else None
    training.train(f"decoder {side}", telling or vae, loss, found, steps=1500, rate=2e-3, save=save, decay=0.995)


@torch.no_grad()
def sheet(vae, side, count=16):
    """Writes held-out scenes and what the decoder makes of their latents."""
    from PIL import Image

    scenes = world.scenes(7, count - 2, allow_held_out=True) + world.scenes(8, 2, hazard=True)
    pictures = world.render(scenes, side)
    drawn = ((decode(vae, world.latents(scenes, 8)) + 1) / 2).clamp(0, 1)
    error = (drawn - pictures).abs().mean()
    print(f"sheet {side}: mean absolute error {error:.4f}", flush=True)
    scale = max(1, 128 // side)
    rows = [torch.cat(list(part[i:i + 8]), 2) for i in range(0, count, 8) for part in (pictures, drawn)]
    image = torch.cat(rows, 1).repeat_interleave(scale, 1).repeat_interleave(scale, 2)
    Image.fromarray((image.permute(1, 2, 0) * 255).round().byte().numpy()).save(training.scratch(f"decoder-{side}.png"))


if __name__ == "__main__":
    what = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "decoder"
    found = training.arguments(__doc__, side=32, batch=24, freeze=0, wide=False, disturb=0.12, muddle=0.0, deep_from=0)
    if what == "encoder":
        train_encoder(found)
    else:
        train_decoder(found)
