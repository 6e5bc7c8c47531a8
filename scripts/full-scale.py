#!/usr/bin/env python3
"""Compares genbench with diffusers on a model of the real size, with random weights.

    python scripts/full-scale.py sd15|sd20|sdxl FOLDER [--schedulers pndm,euler] [--steps 3] [--size 256x256]

1. FOLDER/model: the published configuration in f16, diffusers layout, weights from diffusers' own initialisation with a fixed
   seed (another variant that is there is removed first: one model on the disk at a time).
2. diffusers in f32 on those weights, a few steps from FOLDER/latents-VARIANT.npy; its trace is FOLDER/diffusers-VARIANT-NAME.safetensors.
   The text encoders are loaded before, and released before, the UNet: sdxl needs about 14 GB of memory.
3. `genbench generate --latents --trace` on the same; the largest relative difference of each trace entry, the PSNR of the image.

Exit code 7 when an entry is beyond the limits of the ladder (embeddings 1e-4, noise_pred and latents 1e-3, image 50 dB).
Needs the packages of scripts/fixtures/requirements.txt and a genbench built with `swift build -c release`.
"""

import argparse
import gc
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts/fixtures"))

PROMPT = "a photo of an astronaut riding a horse on mars"
NEGATIVE = {"sd15": "blurry, low quality", "sd20": "blurry, low quality", "sdxl": None}
GUIDANCE = {"sd15": 7.5, "sd20": 7.5, "sdxl": 5.0}
SIZES = {"sd15": "256x256", "sd20": "256x256", "sdxl": "512x512"}
SCHEDULERS = {"sd15": "pndm", "sd20": "ddim", "sdxl": "euler"}
LIMITS = {"prompt_embeds": 1e-4, "pooled": 1e-4, "negative": 1e-4, "timesteps": 1e-5, "latents.init": 1e-5, "noise_pred": 1e-3, "latents": 1e-3}
LEAST_PSNR = 50.0
SEED = 20


# ---------------------------------------------------------------- the model


def configurations(variant):
    """The published configurations (reference.md section 1), made from the small models' by changing the sizes."""
    import models

    vae = models.vae_config([128, 256, 512, 512], 32, 512, "0.6.0", layers_per_block=2)
    if variant == "sd15":
        unet = models.SD15_UNET | {
            "_diffusers_version": "0.6.0", "attention_head_dim": 8, "block_out_channels": [320, 640, 1280, 1280],
            "cross_attention_dim": 768, "norm_num_groups": 32, "sample_size": 64,
        }  # fmt: skip
        return unet, vae, [models.text_config("CLIPTextModel", 768, 3072, 12, 12, "quick_gelu", 768)]
    if variant == "sd20":
        unet = models.SD20_UNET | {
            "attention_head_dim": [5, 10, 20, 20], "block_out_channels": [320, 640, 1280, 1280],
            "cross_attention_dim": 1024, "norm_num_groups": 32, "sample_size": 96,
        }  # fmt: skip
        return unet, vae | {"sample_size": 768}, [models.text_config("CLIPTextModel", 1024, 4096, 23, 16, "gelu", 512)]
    unet = models.SDXL_UNET | {
        "addition_time_embed_dim": 256, "attention_head_dim": [5, 10, 20], "block_out_channels": [320, 640, 1280],
        "cross_attention_dim": 2048, "norm_num_groups": 32, "projection_class_embeddings_input_dim": 2816,
        "sample_size": 128, "transformer_layers_per_block": [1, 2, 10],
    }  # fmt: skip
    encoders = [
        models.text_config("CLIPTextModel", 768, 3072, 12, 12, "quick_gelu", 768),
        models.text_config("CLIPTextModelWithProjection", 1280, 5120, 32, 20, "gelu", 1280),
    ]
    return unet, vae | {"sample_size": 1024, "scaling_factor": 0.13025, "force_upcast": True}, encoders


PARAMETERS = {"sd15": 859_520_964, "sd20": 865_910_724, "sdxl": 2_567_463_684}


def amplify(module):
    """torch's default initialisation has a third of the variance that keeps the scale: this gives it the rest."""
    for parameter in module.parameters():
        if parameter.ndim >= 2:
            parameter.mul_(math.sqrt(3))


def write_half(module, path, rename=lambda name: name):
    """Converts in place, then writes: one copy in f32 is never beside one in f16."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    for parameter in module.parameters():
        parameter.data = parameter.data.half()
    tensors = {rename(name): tensor.contiguous() for name, tensor in module.state_dict().items() if "position_ids" not in name}
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise ValueError(f"{path}: {name} overflows f16")
    save_file(tensors, path, metadata={"format": "pt"})


def make_model(variant, folder):
    import models
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    marker = folder / "variant"
    if folder.exists():
        if marker.exists() and marker.read_text() == variant:
            print(f"{folder}: the {variant} model is there already", file=sys.stderr)
            return
        shutil.rmtree(folder)
    unet_config, vae_config, text_configs = configurations(variant)
    started = time.time()

    torch.manual_seed(SEED)
    unet = UNet2DConditionModel.from_config(unet_config)
    count = sum(parameter.numel() for parameter in unet.parameters())
    if count != PARAMETERS[variant]:
        raise ValueError(f"UNet: expected {PARAMETERS[variant]:,} parameters, found {count:,}")
    amplify(unet)
    if variant != "sd20":
        models.pass_noise_through(unet, 0.2)
    write_half(unet, folder / "unet/diffusion_pytorch_model.safetensors")
    models.write_json(folder / "unet/config.json", unet_config)
    del unet
    gc.collect()

    torch.manual_seed(SEED + 1)
    vae = AutoencoderKL.from_config(vae_config)
    amplify(vae)
    vae.eval()
    models.calibrate_decoder(vae, 1 / vae.config.scaling_factor, SEED + 2, side=16)
    models.calibrate_encoder(vae, SEED + 3, side=128)
    write_half(vae, folder / "vae/diffusion_pytorch_model.safetensors")
    models.write_json(folder / "vae/config.json", vae_config)
    del vae
    gc.collect()

    for index, config in enumerate(text_configs):
        suffix = "" if index == 0 else f"_{index + 1}"
        torch.manual_seed(SEED + 4 + index)
        kind = CLIPTextModelWithProjection if "Projection" in config["architectures"][0] else CLIPTextModel
        encoder = kind(CLIPTextConfig.from_dict(config))
        write_half(
            encoder,
            folder / f"text_encoder{suffix}/model.safetensors",
            lambda name: name if name.startswith(("text_model.", "text_projection")) else "text_model." + name,
        )
        models.write_json(folder / f"text_encoder{suffix}/config.json", config)
        del encoder
        gc.collect()

    pads = {"sd15": ["<|endoftext|>"], "sd20": ["!"], "sdxl": ["<|endoftext|>", "!"]}[variant]
    for index, pad in enumerate(pads):
        models.write_tokenizer(folder / ("tokenizer" if index == 0 else "tokenizer_2"), pad, pad, copy=True)
    for name in ("scheduler/scheduler_config.json", "model_index.json"):
        value = json.loads((models.MODELS / variant / name).read_text())
        if variant == "sd15" and name == "model_index.json":
            value |= {"safety_checker": [None, None], "feature_extractor": [None, None], "requires_safety_checker": False}
        models.write_json(folder / name, value)
    marker.write_text(variant)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{folder}: {variant}, {size / 1e9:.2f} GB, {time.time() - started:.0f} s", file=sys.stderr)


# ---------------------------------------------------------------- the oracle


def run_diffusers(variant, work, options):
    """Two phases, so that text encoders and UNet are never in memory together."""
    import diffusers
    import numpy as np
    import torch
    from pipelines import SCHEDULERS as KINDS
    from safetensors.numpy import save_file
    from watch import Trace

    torch.set_num_threads(options.threads)
    folder = work / "model"
    cls = diffusers.StableDiffusionXLPipeline if variant == "sdxl" else diffusers.StableDiffusionPipeline
    load = {"torch_dtype": torch.float32, "local_files_only": True}

    pipe = cls.from_pretrained(folder, unet=None, vae=None, **load)
    embeds = pipe.encode_prompt(
        prompt=PROMPT, device="cpu", num_images_per_prompt=1, do_classifier_free_guidance=True, negative_prompt=NEGATIVE[variant]
    )
    del pipe
    gc.collect()

    absent = {"text_encoder": None, "tokenizer": None}
    if variant == "sdxl":
        absent |= {"text_encoder_2": None, "tokenizer_2": None}
    pipe = cls.from_pretrained(folder, **absent, **load)
    pipe.set_progress_bar_config(disable=True)
    own = pipe.scheduler.config
    noise = torch.from_numpy(np.load(work / f"latents-{variant}.npy"))
    named = {"prompt_embeds": embeds[0], "negative_prompt_embeds": embeds[1]}
    if variant == "sdxl":
        named |= {"pooled_prompt_embeds": embeds[2], "negative_pooled_prompt_embeds": embeds[3]}
    width, height = options.size
    for scheduler in options.schedulers:
        kind, changes = KINDS[scheduler]
        pipe.scheduler = getattr(diffusers, kind).from_config(own, **changes)
        started = time.time()
        with Trace(pipe) as trace:
            image = pipe(
                **named, num_inference_steps=options.steps, guidance_scale=GUIDANCE[variant], width=width, height=height,
                latents=noise.clone(), output_type="pt", callback_on_step_end=trace.on_step_end,
            ).images  # fmt: skip
        trace.keep_embeds(embeds)
        tensors = {name: value.numpy().astype(np.float32) for name, value in trace.tensors.items()}
        save_file(tensors | {"image": image.numpy()}, work / f"diffusers-{variant}-{scheduler}.safetensors")
        print(
            f"diffusers {variant} {scheduler}: {trace.calls} calls, {time.time() - started:.0f} s, "
            f"last latents std {float(tensors[f'latents.{trace.calls - 1}'].std()):.2f}, image std {float(image.std()):.3f}",
            file=sys.stderr,
        )


# ---------------------------------------------------------------- the comparison


def run_genbench(variant, work, options, scheduler):
    width, height = options.size
    command = [
        str(options.genbench), "generate", "--model", str(work / "model"), "--prompt", PROMPT, "--scheduler", scheduler,
        "--steps", str(options.steps), "--guidance-scale", str(GUIDANCE[variant]), "--width", str(width), "--height", str(height),
        "--latents", str(work / f"latents-{variant}.npy"), "--trace", str(work / f"genbench-{variant}-{scheduler}.safetensors"),
        "--output", str(work / f"genbench-{variant}-{scheduler}.png"), "--no-safety-checker",
    ]  # fmt: skip
    if NEGATIVE[variant] is not None:
        command += ["--negative-prompt", NEGATIVE[variant]]
    command += options.extra
    print(" ".join(f'"{part}"' if " " in part else part for part in command), file=sys.stderr)
    subprocess.run(command, check=True)


def limit(name):
    for prefix in sorted(LIMITS, key=len, reverse=True):
        if name.startswith(prefix):
            return LIMITS[prefix]
    return None


def compare(variant, work, scheduler):
    """Prints the table; returns whether all entries are within the limits."""
    import numpy as np
    from safetensors.numpy import load_file

    expected = load_file(work / f"diffusers-{variant}-{scheduler}.safetensors")
    found = load_file(work / f"genbench-{variant}-{scheduler}.safetensors")
    good = True

    def row(name, value, verdict):
        nonlocal good
        good &= verdict
        print(f"{name:32} {value:>14} {'' if verdict else 'TOO FAR'}")

    def order(name):
        stem, _, index = name.rpartition(".")
        return (int(index), stem) if index.isdigit() else (-1, name)

    print(f"\n{variant} {scheduler}: largest relative difference")
    for name in sorted(expected, key=order):
        if name == "image":
            continue
        a, b = expected[name].astype(np.float64), found.get(name)
        if b is None:
            # What diffusers shows and the trace format doesn't have.
            if name != "negative_pooled_prompt_embeds":
                row(name, "missing", False)
            continue
        if a.size != b.size:
            row(name, f"{list(b.shape)}, not {list(a.shape)}", False)
            continue
        difference = np.abs(a.reshape(-1) - b.astype(np.float64).reshape(-1)).max()
        scale = np.abs(a).max()
        relative = difference / scale if scale > 0 else difference
        row(name, f"{relative:.2e}", bool(relative <= limit(name)))
    a, b = expected["image"].astype(np.float64), found["image"].astype(np.float64)
    error = float(np.mean((a - b) ** 2)) if a.shape == b.shape else math.inf
    psnr = math.inf if error == 0 else -10 * math.log10(error)
    row("image (PSNR, dB)", f"{psnr:.1f}", psnr >= LEAST_PSNR)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", choices=list(PARAMETERS))
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--genbench", type=pathlib.Path, default=ROOT / ".build/release/genbench", help="the program (default: .build/release/genbench)")
    parser.add_argument("--schedulers", help="comma-separated; default: the model's own")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--size", help="WxH; default 256x256, for sdxl 512x512")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--make-only", action="store_true", help="write the model, and stop")
    parser.add_argument("--oracle-only", action="store_true", help="write the model, run diffusers, and stop")
    parser.add_argument("--compare-only", action="store_true", help="the model and diffusers' trace are there: run genbench and compare")
    parser.add_argument("--remove-model", action="store_true", help="delete FOLDER/model at the end")
    parser.add_argument("extra", nargs="*", help="after --: more arguments for genbench generate")
    options = parser.parse_args()
    options.schedulers = (options.schedulers or SCHEDULERS[options.variant]).split(",")
    options.size = tuple(int(side) for side in (options.size or SIZES[options.variant]).split("x"))
    variant, work = options.variant, options.folder
    work.mkdir(parents=True, exist_ok=True)

    if not options.compare_only:
        import oracles  # noqa: F401
        import numpy as np
        import torch

        make_model(variant, work / "model")
        width, height = options.size
        noise = torch.randn((1, 4, height // 8, width // 8), generator=torch.Generator().manual_seed(SEED))
        np.save(work / f"latents-{variant}.npy", noise.numpy())
        if options.make_only:
            return 0
        run_diffusers(variant, work, options)
        if options.oracle_only:
            return 0
    good = True
    for scheduler in options.schedulers:
        run_genbench(variant, work, options, scheduler)
        good &= compare(variant, work, scheduler)
    if options.remove_model:
        shutil.rmtree(work / "model")
    return 0 if good else 7


if __name__ == "__main__":
    sys.exit(main())
