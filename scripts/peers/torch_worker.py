#!/usr/bin/env python3
"""torch + diffusers as a peer: loads the networks of a diffusers folder and times their calls.

    python torch_worker.py FOLDER f32|bf16 THREADS

Reads requests from stdin, one JSON a line: {"network": "unet|vae|text", "setting": "contiguous|channels_last", "side": 64,
"batch": 2, "calls": 2, "warmup": 1}; `side` is that of the latents. Answers with one JSON a line: {"ns": […], "peak_rss_bytes": n}
or {"error": "…"}. Networks are loaded when they are first asked for.
"""

import json
import os
import pathlib
import resource
import sys
import time
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
sys.modules["torchvision"] = None  # nothing here needs it, and its build for torch on CPUs is another one
warnings.filterwarnings("ignore")

import torch  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from quiet import rename_process  # noqa: E402

PROMPTS = ["a photo of an astronaut riding a horse on mars", "blurry, low quality"]


class Networks:
    def __init__(self, folder, dtype):
        self.folder, self.dtype, self.loaded = folder, dtype, {}

    def get(self, name):
        if name not in self.loaded:
            self.loaded[name] = getattr(self, name)()
        return self.loaded[name]

    def unet(self):
        from diffusers import UNet2DConditionModel

        return UNet2DConditionModel.from_pretrained(self.folder / "unet", torch_dtype=self.dtype).eval()

    def vae(self):
        from diffusers import AutoencoderKL

        return AutoencoderKL.from_pretrained(self.folder / "vae", torch_dtype=self.dtype).eval()

    def text(self):
        """The text encoders with the ids of the prompts."""
        from transformers import CLIPTextModel, CLIPTextModelWithProjection, CLIPTokenizer

        encoders = []
        for suffix in ("", "_2"):
            folder = self.folder / f"text_encoder{suffix}"
            if not folder.exists():
                continue
            kind = json.loads((folder / "config.json").read_text())["architectures"][0]
            cls = {"CLIPTextModel": CLIPTextModel, "CLIPTextModelWithProjection": CLIPTextModelWithProjection}[kind]
            tokenizer = CLIPTokenizer.from_pretrained(self.folder / f"tokenizer{suffix}")
            ids = tokenizer(PROMPTS, padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids
            encoders.append((cls.from_pretrained(folder, dtype=self.dtype).eval(), ids))
        return encoders

    def call(self, request):
        """A function that runs the network once on inputs of the wanted size."""
        name, side, batch = request["network"], request["side"], request["batch"]
        network = self.get(name)
        layout = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}[request["setting"]]
        generator = torch.Generator().manual_seed(0)

        def random(*shape):
            return torch.randn(shape, generator=generator).to(self.dtype)

        if name == "text":
            return lambda: [encoder(ids, output_hidden_states=True) for encoder, ids in network]
        network.to(memory_format=layout)
        latents = random(batch, 4, side, side).to(memory_format=layout)
        if name == "vae":
            return lambda: network.decode(latents, return_dict=False)
        context = random(batch, 77, network.config.cross_attention_dim)
        more = {}
        if network.config.addition_embed_type == "text_time":
            pixels = 8.0 * side
            times = torch.tensor([[pixels, pixels, 0, 0, pixels, pixels]] * batch, dtype=self.dtype)
            width = network.config.projection_class_embeddings_input_dim - 6 * network.config.addition_time_embed_dim
            more = {"added_cond_kwargs": {"text_embeds": random(batch, width), "time_ids": times}}
        return lambda: network(latents, torch.tensor(501), context, return_dict=False, **more)


def answer(networks, request):
    call = networks.call(request)
    with torch.inference_mode():
        for _ in range(request["warmup"]):
            call()
        times = []
        for _ in range(request["calls"]):
            start = time.perf_counter_ns()
            call()
            times.append(time.perf_counter_ns() - start)
    unit = 1 if sys.platform == "darwin" else 1024
    return {"ns": times, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit}


def main():
    rename_process("torch-peer")
    folder, precision, threads = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    networks = Networks(folder, {"f32": torch.float32, "bf16": torch.bfloat16}[precision])
    for line in sys.stdin:
        try:
            result = answer(networks, json.loads(line))
        except Exception as error:  # the other side reports it and goes on with the next workload
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
