"""What is compared: groups of workloads that share a model and run alternately."""

import dataclasses
import pathlib
import subprocess

from engines import (
    Failure, GenbenchImage, GenbenchImages, GenbenchText, GenbenchVision, LlamaBench, MtmdCli, SdCli, Torch, TorchWorker,
)  # fmt: skip

PROMPT_TOKENS, NEW_TOKENS = 256, 128
GIB = 1 << 30


@dataclasses.dataclass
class Workload:
    """One line of the table; `aim` is the ratio that is wanted of the peer's time to genbench's."""

    name: str
    title: str
    unit: str
    aim: float | None


@dataclasses.dataclass
class Group:
    """Workloads that are measured together; `files` makes what is missing, `memory` is what must be free."""

    name: str
    workloads: list
    ours: object
    peers: list
    files: object = lambda: None
    memory: int = 0

    def close(self):
        for peer in self.peers:
            getattr(peer, "close", lambda: None)()


class Files:
    """The models, made where they are missing."""

    def __init__(self, root, python, models, cache):
        self.root, self.python, self.models, self.cache = root, python, models, cache
        self.q4 = cache / "SmolLM2-135M-Instruct.Q4_1.gguf"
        self.q8 = models / "SmolLM2-135M-Instruct.Q8_0.gguf"
        self.vision = models / "smolvlm"

    def run(self, *command):
        finished = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if finished.returncode != 0:
            raise Failure(f"{pathlib.Path(str(command[1])).name}: " + (finished.stderr.strip().splitlines() or ["failed"])[-1])

    def diffusers(self, variant):
        return self.models / variant / "model"

    def make_diffusers(self, variant):
        folder = self.models / variant
        if not (folder / "model/model_index.json").exists():
            self.run(self.python, self.root / "scripts/full-scale.py", variant, folder, "--make-only")

    def make_q4(self):
        if not self.q4.exists():
            self.run("sh", self.root / "scripts/get-smollm2.sh", self.cache)

    def make_q8(self):
        self.make_q4()
        if not self.q8.exists():
            self.models.mkdir(parents=True, exist_ok=True)
            self.run(self.python, self.root / "scripts/peers/make_files.py", "q8_0", self.q4, self.q8)

    def make_vision(self):
        self.make_q4()
        if not (self.vision / "image.png").exists():
            self.run(self.python, self.root / "scripts/peers/make_files.py", "smolvlm", self.q4, self.vision)


def groups(options, files):
    """All groups, in the order in which they are measured."""
    program, threads, python = options.genbench, options.threads, options.python
    calls = 1 if options.quick else 2
    result = []

    def unets(variant, side, precision, aim, memory, vae_aim=None):
        suffix = "" if precision == "f32" else "-" + precision
        worker = TorchWorker(python, files.diffusers(variant), precision, threads)
        name = f"unet-{variant}-{side}{suffix}"
        number = {"f32": "fp32", "bf16": "bf16"}[precision]
        workloads = [Workload(name, f"{variant} UNet, batch 2, {side}² latents, {number}", "s", aim)]
        stages = {name: "unet"}
        peers = [Torch(worker, name, "unet", side, 2, calls if side == 64 else calls + 1)]
        if vae_aim:
            stages["vae-512"] = "vae_decode"
            workloads.append(Workload("vae-512", "VAE decode, 512×512, fp32", "s", vae_aim))
            peers.append(Torch(worker, "vae-512", "vae", 64, 1, 1))
        ours = GenbenchImages(program, files.diffusers(variant), side * 8, threads, stages, 2 if side == 64 else 4, precision=precision)
        result.append(Group(name, workloads, ours, peers, lambda: files.make_diffusers(variant), memory))

    def texts(variant, memory):
        name = f"text-encoders-{variant}"
        worker = TorchWorker(python, files.diffusers(variant), "f32", threads)
        title = f"{variant} text encoder{'s' if variant == 'sdxl' else ''}, both prompts, fp32"
        ours = GenbenchImages(program, files.diffusers(variant), 64, threads, {name: "text_encode"}, 1, 4)
        result.append(Group(name, [Workload(name, title, "s", 1.2)], ours, [Torch(worker, name, "text", 8, 2, 3)],
                            lambda: files.make_diffusers(variant), memory))  # fmt: skip

    def language(label, model, make):
        decode, prefill = f"decode-{label}", f"prefill-{label}"
        title = f"SmolLM2-135M {label.upper()}"
        workloads = [
            Workload(decode, f"{title}, decode of {NEW_TOKENS} tokens", "s/token", 1.2),
            Workload(prefill, f"{title}, prefill of {PROMPT_TOKENS} tokens", "s/token", 1.2),
        ]
        # Every word is one token.
        ours = GenbenchText(program, model, threads, "the" + " the" * (PROMPT_TOKENS - 1), decode, prefill, NEW_TOKENS, PROMPT_TOKENS)
        peers = [LlamaBench(options.peers / "llama-bench", model, threads, decode, prefill, NEW_TOKENS, PROMPT_TOKENS)]
        result.append(Group(f"smollm2-{label}", workloads, ours, peers, make))

    unets("sd15", 32, "f32", 1.5, 6 * GIB)
    unets("sd15", 64, "f32", 1.5, 7 * GIB, vae_aim=1.5)
    texts("sd15", 3 * GIB)

    def images(precision, aim):
        name = "image-sd15-256" + ("" if precision == "f32" else "-" + precision)
        arithmetic = {"f32": "", "bf16": ", bf16 arithmetic"}[precision]
        workloads = [
            Workload(name, f"sd15 image 256×256, 4 steps, f16 weights{arithmetic}", "s", aim),
            Workload(name + "-process", "the same with loading, whole process", "s", None),
        ]
        ours = GenbenchImage(program, files.diffusers("sd15"), 256, 4, threads, name, precision)
        peers = [SdCli(options.peers / "sd-cli", files.diffusers("sd15"), 256, 4, threads, name)]
        result.append(Group(name, workloads, ours, peers, lambda: files.make_diffusers("sd15"), 5 * GIB))

    images("f32", 6)
    language("q4_1", files.q4, files.make_q4)
    language("q8_0", files.q8, files.make_q8)

    vision = "vision-smolvlm"
    workloads = [Workload(vision, "SmolVLM-256M vision tower, one 512×512 tile", "s", 1.2)]
    ours = GenbenchVision(program, files.vision, threads, vision, 64)
    result.append(Group(vision, workloads, ours, [MtmdCli(options.peers / "llama-mtmd-cli", files.vision, threads, vision)], files.make_vision))

    images("bf16", None)
    unets("sd15", 32, "bf16", 1.2, 4 * GIB)
    unets("sd15", 64, "bf16", 1.2, 4 * GIB)
    unets("sdxl", 64, "f32", 1.3, 13 * GIB)
    unets("sdxl", 64, "bf16", None, 8 * GIB)
    texts("sdxl", 6 * GIB)

    scaling = "threads-2-over-1"
    model = files.diffusers("sd15")
    two, one = (GenbenchImages(program, model, 256, count, {scaling: "unet"}, 3) for count in (2, 1))
    workloads = [Workload(scaling, "sd15 UNet, 32² latents, fp32: 2 threads, peer is 1 thread", "s", 1.85)]
    result.append(Group(scaling, workloads, two, [one], lambda: files.make_diffusers("sd15"), 3 * GIB))
    return result
