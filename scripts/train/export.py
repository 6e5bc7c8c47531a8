#!/usr/bin/env python3
"""Writes trained models from the scratch folder into the repository, as diffusers folders in half precision.

    python scripts/train/export.py sd15 sd20 sdxl [--to FOLDER]        default: Fixtures/Models
    python scripts/train/export.py --resume [--from FOLDER]                            the other way: scratch checkpoints from the repository's models
"""

import os
import pathlib
import shutil
import sys

import training

import numpy as np
import torch
from diffusers import AutoencoderKL
from safetensors.torch import load_file

import autoencoder
import describer
import models as layout  # scripts/fixtures/models.py: file layout of the published models
import safety
import text
import unet as unets
import variants
import vlm_layout
import vocabulary


def write_tokenizer(folder, pad, root):
    start, end = "<|startoftext|>", "<|endoftext|>"
    folder.mkdir(parents=True, exist_ok=True)
    token = layout.special_token
    layout.write_json(folder / "special_tokens_map.json", {
        "bos_token": token(start), "eos_token": token(end), "pad_token": pad, "unk_token": token(end)})
    layout.write_json(folder / "tokenizer_config.json", {
        "add_prefix_space": False, "bos_token": {"__type": "AddedToken"} | token(start), "do_lower_case": True,
        "eos_token": {"__type": "AddedToken"} | token(end), "errors": "replace", "model_max_length": 77, "pad_token": pad,
        "tokenizer_class": "CLIPTokenizer", "unk_token": {"__type": "AddedToken"} | token(end)})
    for name in ("vocab.json", "merges.txt"):
        shutil.copyfile(vocabulary.FOLDER / name, folder / name)


def text_config(tower, layers, projected):
    config = text.config(tower)
    kind = "CLIPTextModelWithProjection" if projected else "CLIPTextModel"
    found = layout.text_config(kind, config.hidden_size, config.intermediate_size, layers, config.num_attention_heads, config.hidden_act, text.WIDTH)
    return found | {"vocab_size": config.vocab_size}


def write_vae(folder, variant):
    levels = 8 if variant == "sdxl" else 7
    vae = autoencoder.finished(levels)
    config = autoencoder.config(levels, variants.NATIVE[variant])
    version = {"sd15": "0.6.0", "sd20": "0.10.0.dev0", "sdxl": "0.20.0.dev0"}[variant]
    config = {"_class_name": "AutoencoderKL", "_diffusers_version": version} | config
    if variant == "sdxl":
        config |= {"force_upcast": True, "scaling_factor": 0.13025}
        with torch.no_grad():  # the same latents behind another factor
            vae.post_quant_conv.weight.mul_(0.13025 / autoencoder.SCALE)
            vae.quant_conv.weight[:4].mul_(autoencoder.SCALE / 0.13025)
            vae.quant_conv.bias[:4].mul_(autoencoder.SCALE / 0.13025)
    layout.write_json(folder / "config.json", config)
    tensors = layout.state(vae)
    layout.write_weights(folder / "diffusion_pytorch_model.safetensors", layout.with_old_attention_names(tensors) if variant == "sd15" else tensors)


def write_unet(folder, variant):
    model = unets.make(variant)
    if not training.load(model, training.scratch(f"unet-{variant}.pt")):
        raise SystemExit(f"unet-{variant}.pt: train it first")
    version = {"sd15": "0.9.0", "sd20": "0.10.0.dev0", "sdxl": "0.19.0.dev0"}[variant]
    base = {"sd15": layout.SD15_UNET, "sd20": layout.SD20_UNET, "sdxl": layout.SDXL_UNET}[variant]
    layout.write_json(folder / "config.json", base | {"_diffusers_version": version} | variants.UNETS[variant])
    layout.write_weights(folder / "diffusion_pytorch_model.safetensors", layout.state(model))


def write_text(folder, variant):
    for index, tower in enumerate(variants.TOWERS[variant]):
        name = "text_encoder" if index == 0 else "text_encoder_2"
        model = variants.trained_tower(tower, variant == "sdxl")
        projected = variant == "sdxl" and tower == "second"
        tensors = layout.state(model)
        if variant == "sd20":
            tensors = layout.without_text_model_level(tensors)
        else:
            tensors = layout.with_text_model_level(tensors)
        if variant == "sd15":
            tensors["text_model.embeddings.position_ids"] = np.arange(77, dtype=np.int64)[None]
        layout.write_json(folder / name / "config.json", text_config(tower, 4 if variant == "sdxl" else 3, projected))
        layout.write_weights(folder / name / "model.safetensors", tensors)


def export(variant, root):
    folder = training.own_folder(root / variant)
    for part in ("unet", "vae", "text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "scheduler"):
        shutil.rmtree(folder / part, ignore_errors=True)
    write_unet(folder / "unet", variant)
    write_vae(folder / "vae", variant)
    write_text(folder, variant)
    write_tokenizer(folder / "tokenizer", "!" if variant == "sd20" else "<|endoftext|>", root)
    if variant == "sdxl":
        write_tokenizer(folder / "tokenizer_2", "!", root)
    index = {
        "feature_extractor": [None, None], "safety_checker": [None, None], "scheduler": ["diffusers", "PNDMScheduler"],
        "text_encoder": ["transformers", "CLIPTextModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
        "unet": ["diffusers", "UNet2DConditionModel"], "vae": ["diffusers", "AutoencoderKL"],
    }
    if variant == "sd15":
        scheduler = {"_class_name": "PNDMScheduler", "_diffusers_version": "0.6.0"} | layout.SCHEDULER
        head = {"_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.6.0"}
        if (folder / "safety_checker").exists():
            index |= {"feature_extractor": ["transformers", "CLIPImageProcessor"], "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"]}
        else:
            head["requires_safety_checker"] = False
    elif variant == "sd20":
        scheduler = {"_class_name": "DDIMScheduler", "_diffusers_version": "0.8.0"} | layout.SCHEDULER | {"prediction_type": "v_prediction"}
        head = {"_class_name": "StableDiffusionPipeline", "_diffusers_version": "0.10.0.dev0", "requires_safety_checker": False}
        index["scheduler"][1] = "DDIMScheduler"
    else:
        scheduler = {"_class_name": "EulerDiscreteScheduler", "_diffusers_version": "0.19.0.dev0"} | layout.SCHEDULER | {
            "interpolation_type": "linear", "prediction_type": "epsilon", "sample_max_value": 1.0, "timestep_spacing": "leading",
            "use_karras_sigmas": False}
        head = {"_class_name": "StableDiffusionXLPipeline", "_diffusers_version": "0.19.0.dev0", "force_zeros_for_empty_prompt": True,
                "add_watermarker": None}
        for part in ("feature_extractor", "safety_checker"):
            index.pop(part)
        index["scheduler"][1] = "EulerDiscreteScheduler"
        index |= {"text_encoder_2": ["transformers", "CLIPTextModelWithProjection"], "tokenizer_2": ["transformers", "CLIPTokenizer"]}
    layout.write_json(folder / "scheduler/scheduler_config.json", scheduler)
    layout.write_json(folder / "model_index.json", head | dict(sorted(index.items())))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{folder}: {size / 1e6:.2f} MB")


@torch.no_grad()
def resume(root):
    """Scratch checkpoints from trained models: what is needed to go on training them."""
    for variant in variants.UNETS:
        folder = root / variant
        if folder.is_symlink():
            continue
        path = folder / "unet/diffusion_pytorch_model.safetensors"
        if path.exists():
            state = {name: tensor.float() for name, tensor in load_file(path).items()}
            torch.save(state, training.scratch(f"unet-{variant}.pt"))
        if variant == "sdxl" or not path.exists():
            continue
        parser = text.Parser(variants.TOWERS[variant][0])
        state = {name.removeprefix("text_model."): tensor.float() for name, tensor in
                 load_file(folder / "text_encoder/model.safetensors").items() if tensor.is_floating_point()}
        inner = getattr(parser.tower, "text_model", parser.tower)
        inner.load_state_dict(state, strict=False)
        torch.save(parser.state_dict(), training.scratch(f"text-{variants.TOWERS[variant][0]}.pt"))
    vae = AutoencoderKL.from_pretrained(str(root / "sd15/vae"))
    torch.save(vae.state_dict(), training.scratch("decoder-512.pt"))
    torch.save(vae.state_dict(), training.scratch("encoder.pt"))
    checker = safety.make()
    path = root / "sd15/safety_checker/model.safetensors"
    if path.exists():
        state = {name.replace("vision_model.vision_model.", "vision_model."): tensor.float() for name, tensor in load_file(path).items()
                 if tensor.is_floating_point()}
        checker.load_state_dict(state, strict=False)
        torch.save(checker.state_dict(), training.scratch("safety.pt"))
    folder = root / "smolvlm"
    if not folder.is_symlink() and (folder / "mmproj.gguf").exists():
        seeing = describer.Seeing(describer.make()[0])
        vlm_layout.read(folder, seeing.model)
        torch.save(seeing.state_dict(), training.scratch("vlm.pt"))


if __name__ == "__main__":
    root = training.MODELS
    for option in {"--to", "--from"} & set(sys.argv):
        at = sys.argv.index(option)
        root = pathlib.Path(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    if "--resume" in sys.argv:
        resume(root)
        raise SystemExit
    for variant in sys.argv[1:]:
        export(variant, root)
