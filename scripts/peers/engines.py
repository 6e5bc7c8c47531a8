"""The programs that are compared: each runs some workloads once and returns their times.

A side has `workloads`, `settings` (the first round tries all of them, later rounds those that were best) and
`measure(setting, wanted, quiet)`, which returns {workload: Sample}.
"""

import dataclasses
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

from quiet import ForeignLoad

TIMEOUT = 1800


class Unsupported(Exception):
    """The program says that it doesn't do this."""


class Failure(Exception):
    """The program failed, or printed what can't be right."""


@dataclasses.dataclass
class Sample:
    """Times of one workload in one round, in seconds."""

    seconds: list
    foreign: float | None = None
    memory: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Finished:
    out: str
    err: str
    seconds: float
    foreign: float | None
    peak_rss: int


def execute(command, quiet):
    """Runs a program once in quiet; its output, its wall time, what others took meanwhile, its peak memory."""
    command = [str(part) for part in command]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, quiet, ForeignLoad() as load:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        try:
            _, status, usage = wait(process)
        except BaseException:
            process.kill()
            process.wait()
            raise
        seconds = time.monotonic() - start
        out.seek(0)
        err.seek(0)
        texts = out.read(), err.read()
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        last = next((line for line in reversed(texts[1].splitlines()) if line.strip()), "nothing on stderr")
        kind = Unsupported if code in (64, 69) else Failure
        raise kind(f"{pathlib.Path(command[0]).name}: exit {code}: {last.strip()}")
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return Finished(*texts, seconds, load.share, usage.ru_maxrss * unit)


def wait(process):
    """wait4 with a deadline; the process is then marked as waited for."""
    deadline = time.monotonic() + TIMEOUT
    pause = 0.002
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return pid, status, usage
        if time.monotonic() > deadline:
            raise Failure(f"{process.args[0]}: still running after {TIMEOUT} s")
        time.sleep(pause)
        pause = min(0.05, pause * 1.5)


def find(pattern, text, program):
    """All numbers that the pattern finds in a program's output; at least one."""
    found = [float(value) for value in re.findall(pattern, text)]
    if not found:
        raise Failure(f"{program}: no '{pattern}' in its output; is it another version?")
    return found


# ---------------------------------------------------------------- genbench


def setting_name(threads, precision):
    return f"threads={threads}" + ("" if precision == "f32" else f" precision={precision}")


def passed_runs(document):
    """The samples of a run.json with one case."""
    case = document["cases"][0]
    if case["status"] != "pass":
        raise Failure(f"genbench: case {case['status']}: {case.get('status_reason')}")
    return [sample for session in case["sessions"] for sample in session["samples"]]


class GenbenchImages:
    """`genbench run` on one model at one size: every stage's samples after the first."""

    name = "genbench"

    def __init__(self, program, model, side, threads, stages, steps=2, repetitions=2, precision="f32"):
        self.program, self.model, self.side, self.steps, self.repetitions = program, model, side, steps, repetitions
        self.threads, self.precision, self.stages = threads, precision, stages
        self.workloads = list(stages)
        self.settings = [setting_name(threads, precision)]

    def measure(self, _, wanted, quiet):
        stages = {self.stages[workload] for workload in wanted}
        # The first sample of everything is dropped. For the UNet alone a second image isn't needed, only more steps.
        steps, repetitions = self.steps, self.repetitions
        if stages == {"unet"}:
            steps, repetitions = max(3, steps), 1
        elif "unet" not in stages:
            steps = 1
        with tempfile.TemporaryDirectory() as folder:
            finished = execute(
                [self.program, "run", "--model", self.model, "--prompts", 1, "--negative-prompt", "blurry, low quality",
                 "--size", f"{self.side}x{self.side}", "--steps", steps, "--scheduler", "euler",
                 "--repetitions", repetitions, "--warmup", 0, "--threads", self.threads, "--precision", self.precision,
                 "--no-plots", "--out", folder, "--json"],
                quiet,
            )  # fmt: skip
        document = json.loads(finished.out)
        runs = passed_runs(document)
        sessions = document["cases"][0]["sessions"]
        memory = {
            "peak_rss_bytes": finished.peak_rss,
            "peak_anonymous_bytes": max(max(session["memory"]["anonymous_bytes"], default=0) for session in sessions),
            "load_ns": sessions[0]["load_ns"],
        }
        result = {}
        for workload in wanted:
            if self.stages[workload] == "unet":
                times = [ns for run in runs for ns in run["step_parts_ns"]["unet"]]
            else:
                times = [run["stages_ns"][self.stages[workload]] for run in runs]
            if len(times) < 2:
                raise Failure(f"genbench: {len(times)} samples of {workload}, expected at least 2")
            result[workload] = Sample([ns / 1e9 for ns in times[1:]], finished.foreign, memory)
        return result


class GenbenchImage:
    """`genbench generate`: one whole image in a fresh process."""

    name = "genbench"

    def __init__(self, program, model, side, steps, threads, workload, precision="f32"):
        self.command = [program, "generate", "--precision", precision, "--model", model, "--width", side, "--height", side, "--steps", steps, *IMAGE,
                        "--scheduler", "euler", "--threads", threads, "--guidance-scale", 7, "--json", "--no-safety-checker"]  # fmt: skip
        self.workloads = [workload, workload + "-process"]
        self.settings = [setting_name(threads, precision)]

    def measure(self, _, wanted, quiet):
        with tempfile.TemporaryDirectory() as folder:
            finished = execute([*self.command, "--output", pathlib.Path(folder) / "image.png"], quiet)
        timings = json.loads(finished.out)["timings_ns"]
        inside = sum(timings[stage] for stage in ("tokenize", "text_encode", "latents", "step", "vae_decode"))
        memory = {"peak_rss_bytes": finished.peak_rss}
        samples = zip(self.workloads, ([inside / 1e9], [finished.seconds]))
        return {workload: Sample(seconds, finished.foreign, memory) for workload, seconds in samples if workload in wanted}


IMAGE = ["--prompt", "a photo of an astronaut riding a horse on mars", "--negative-prompt", "blurry, low quality", "--seed", "1"]


class GenbenchText:
    """`genbench complete --raw`: seconds a token, taken in or made."""

    name = "genbench"

    def __init__(self, program, model, threads, prompt, decode, prefill, new_tokens, prompt_tokens):
        self.base = [program, "complete", "--model", model, "--raw", "--json", "--threads", threads]
        self.prompt, self.decode, self.prefill = prompt, decode, prefill
        self.new_tokens, self.prompt_tokens = new_tokens, prompt_tokens
        self.workloads = [decode, prefill]
        self.settings = [f"threads={threads}"]

    def measure(self, _, wanted, quiet):
        result = {}
        if self.decode in wanted:
            finished = execute([*self.base, "--prompt", "Once", "--max-tokens", self.new_tokens + 1], quiet)
            answer = json.loads(finished.out)
            if len(answer["ids"]) != self.new_tokens + 1:
                raise Failure(f"genbench: made {len(answer['ids'])} tokens, expected {self.new_tokens + 1}")
            result[self.decode] = self.sample(answer["decode_tokens_per_s"], finished)
        if self.prefill in wanted:
            finished = execute([*self.base, "--prompt", self.prompt, "--max-tokens", 1], quiet)
            answer = json.loads(finished.out)
            if len(answer["prompt_ids"]) != self.prompt_tokens:
                raise Failure(f"genbench: the prompt has {len(answer['prompt_ids'])} tokens, expected {self.prompt_tokens}")
            result[self.prefill] = self.sample(answer["prefill_tokens_per_s"], finished)
        return result

    def sample(self, rate, finished):
        return Sample([1 / rate], finished.foreign, {"peak_rss_bytes": finished.peak_rss})


class GenbenchVision:
    """`genbench run` with an image of one tile: from its pixels to the language model's embeddings, without the first time."""

    name = "genbench"

    def __init__(self, program, files, threads, workload, tokens_per_tile):
        self.tokens_per_tile = tokens_per_tile
        self.command = [program, "run", "--model", files / "model.gguf", "--mmproj", files / "mmproj.gguf", "--image",
                        files / "image.png", "--prompts", 1, "--max-tokens", 1, "--repetitions", 3, "--warmup", 0, "--threads", threads,
                        "--no-plots", "--json"]  # fmt: skip
        self.workloads = [workload]
        self.settings = [f"threads={threads}"]

    def measure(self, _, wanted, quiet):
        with tempfile.TemporaryDirectory() as folder:
            finished = execute([*self.command, "--out", folder], quiet)
        runs = passed_runs(json.loads(finished.out))
        tokens = runs[0]["text"]["prompt_tokens"]
        if not self.tokens_per_tile <= tokens < 2 * self.tokens_per_tile:
            raise Failure(f"genbench: the prompt has {tokens} tokens, expected those of one tile, {self.tokens_per_tile}, and a few words")
        seconds = [(run["stages_ns"]["vision_encode"] + run["stages_ns"]["projector"]) / 1e9 for run in runs[1:]]
        return {wanted[0]: Sample(seconds, finished.foreign, {"peak_rss_bytes": finished.peak_rss})}


# ---------------------------------------------------------------- torch


class TorchWorker:
    """One Python process with torch, diffusers and the networks of one model; started when first used."""

    def __init__(self, python, folder, precision, threads):
        script = pathlib.Path(__file__).resolve().parent / "torch_worker.py"
        self.command = [str(python), str(script), str(folder), precision, str(threads)]
        self.process = None

    def ask(self, request):
        if self.process is None:
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Failure("torch: its process ended: " + self.process.stderr.read()[-400:].strip())
        answer = json.loads(line)
        if "error" in answer:
            raise Failure("torch: " + answer["error"])
        return answer

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
            self.process.stderr.close()
            self.process = None


class Torch:
    """One network of a worker."""

    name = "torch"

    def __init__(self, worker, workload, network, side, batch, calls):
        self.worker = worker
        self.workloads = [workload]
        self.settings = ["contiguous"] if network == "text" else ["contiguous", "channels_last"]
        self.request = {"network": network, "side": side, "batch": batch}
        self.calls = calls

    def measure(self, setting, wanted, quiet):
        request = self.request | {"setting": setting}
        # Loading and the change of layout aren't timed, and needn't be quiet.
        self.worker.ask(request | {"warmup": 0, "calls": 0})
        with quiet, ForeignLoad(self.worker.process.pid) as load:
            answer = self.worker.ask(request | {"warmup": 1, "calls": self.calls})
        memory = {"peak_rss_bytes": answer["peak_rss_bytes"]}
        return {wanted[0]: Sample([ns / 1e9 for ns in answer["ns"]], load.share, memory)}

    def close(self):
        self.worker.close()


# ---------------------------------------------------------------- stable-diffusion.cpp, llama.cpp


class SdCli:
    """stable-diffusion.cpp: one whole image in a fresh process."""

    name = "stable-diffusion.cpp"
    settings = [
        "no flags", "--fa", "--diffusion-fa", "--diffusion-conv-direct", "--vae-conv-direct", "--diffusion-conv-direct --vae-conv-direct",
    ]  # fmt: skip

    def __init__(self, program, model, side, steps, threads, workload):
        self.command = [program, "--model", model, "--width", side, "--height", side, "--steps", steps, *IMAGE, "--cfg-scale", 7,
                        "--sampling-method", "euler", "--threads", threads, "--type", "f16", "--mmap", "-v"]  # fmt: skip
        self.workloads = [workload, workload + "-process"]

    def measure(self, setting, wanted, quiet):
        flags = [] if setting == "no flags" else setting.split()
        with tempfile.TemporaryDirectory() as folder:
            finished = execute([*self.command, *flags, "--output", pathlib.Path(folder) / "image.png"], quiet)
        inside = find(r"generate_image completed in ([\d.]+)s", finished.out + finished.err, "sd-cli")
        memory = {"peak_rss_bytes": finished.peak_rss}
        samples = zip(self.workloads, (inside, [finished.seconds]))
        return {workload: Sample(seconds, finished.foreign, memory) for workload, seconds in samples if workload in wanted}


class LlamaBench:
    """llama-bench: seconds a token, taken in or made."""

    name = "llama.cpp"
    settings = ["-fa off", "-fa on"]

    def __init__(self, program, model, threads, decode, prefill, new_tokens, prompt_tokens):
        self.command = [program, "-m", model, "-t", threads, "-r", 1, "-o", "json"]
        self.counts = {decode: ["-p", 0, "-n", new_tokens], prefill: ["-p", prompt_tokens, "-n", 0]}
        self.workloads = [decode, prefill]

    def measure(self, setting, wanted, quiet):
        result = {}
        for workload in wanted:
            finished = execute([*self.command, *self.counts[workload], *setting.split()], quiet)
            rate = json.loads(finished.out)[0]["avg_ts"]
            result[workload] = Sample([1 / rate], finished.foreign, {"peak_rss_bytes": finished.peak_rss})
        return result


class MtmdCli:
    """llama-mtmd-cli: the time that it prints for encoding a tile, without the first (a small image is a tile and once more the whole)."""

    name = "llama.cpp"
    settings = ["-fa off", "-fa on"]

    def __init__(self, program, files, threads, workload):
        self.command = [program, "-m", files / "model.gguf", "--mmproj", files / "mmproj.gguf", "--image", files / "image.png", "-p",
                        "What is this?", "-n", 1, "-t", threads, "--temp", 0]  # fmt: skip
        self.workloads = [workload]

    def measure(self, setting, wanted, quiet):
        finished = execute([*self.command, *setting.split()], quiet)
        text = finished.out + finished.err
        times = find(r"batch encoding done in (\d+) ms", text, "llama-mtmd-cli")
        tiles = find(r"encoding mtmd batch, n_chunks = (\d+)", text, "llama-mtmd-cli")
        if len(times) < 2 or len(times) != len(tiles):
            raise Failure(f"llama-mtmd-cli: {len(times)} times for {len(tiles)} batches, expected at least 2 of each")
        seconds = [time / tile / 1e3 for time, tile in zip(times[1:], tiles[1:])]
        return {wanted[0]: Sample(seconds, finished.foreign, {"peak_rss_bytes": finished.peak_rss})}
