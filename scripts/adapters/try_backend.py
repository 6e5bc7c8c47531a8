"""A client of the protocol genbench.backend/1: tries an adapter from the command line, and serves the tests.

    python scripts/adapters/try_backend.py --backend "COMMAND" --model PATH [--prompt TEXT] [--set KEY=VALUE ...]
        [--latents FILE.npy] [--image FILE.npy] [--mask FILE.npy] [--against TRACE.safetensors] [--output IMAGE.png] [--text] [--cancel-after STEP]

Prints the welcome, a line for each event and the reply. VALUE is JSON, or text where it isn't. `--against` compares the trace of the
reply (and its picture) with one of `genbench generate --trace`: relative errors entry by entry, PSNR of the picture; exit code 7
below 50 dB. Arrays of images are F32, 0...1, [1, 3, H, W].
"""

import argparse
import contextlib
import json
import os
import queue
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

import numpy as np

from genbench_backend import PROTOCOL, read_safetensors, write_safetensors


class Failure(Exception):
    """An `error` as reply."""

    def __init__(self, answer):
        super().__init__(f"{answer['code']}: {answer['message']}")
        self.code, self.answer = answer["code"], answer


class Client:
    """Starts a child, speaks the client's side, keeps every answer in `seen`."""

    def __init__(self, command, timeout=600, errors=None, greet=True):
        self.folder = tempfile.mkdtemp(prefix="genbench-exchange-")
        self.child = subprocess.Popen(
            shlex.split(command) if isinstance(command, str) else command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
        self.timeout, self.number, self.seen, self.answers = timeout, 0, [], queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.welcome = self.ask("hello", protocols=[PROTOCOL], client="try_backend 1", exchange=self.folder) if greet else None

    def _read(self):
        for line in self.child.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def write(self, line):
        self.child.stdin.write(line if isinstance(line, bytes) else line.encode() + b"\n")
        self.child.stdin.flush()

    def send(self, kind, **values):
        self.number += 1
        self.write(json.dumps({"type": kind, "id": self.number, **{key: value for key, value in values.items() if value is not None}}))
        return self.number

    def next(self):
        """The next answer."""
        line = self.answers.get(timeout=self.timeout)
        if line is None:
            raise EOFError(f"the child ended with {self.child.wait()}")
        answer = json.loads(line)
        self.seen.append(answer)
        return answer

    def wait(self, number, on_event=None):
        """The reply to a request; events on the way are seen by `on_event`."""
        while True:
            answer = self.next()
            if answer.get("id") == number and answer["type"] == "error":
                raise Failure(answer)
            if answer.get("id") == number and answer["type"] not in ("stage", "progress", "preview", "token", "memory", "warning"):
                return answer
            if on_event:
                on_event(answer)

    def ask(self, kind, on_event=None, **values):
        return self.wait(self.send(kind, **values), on_event)

    def give(self, values, name="tensor"):
        """Puts an array into the exchange folder and returns its reference."""
        file = f"client-{os.urandom(4).hex()}.safetensors"
        write_safetensors(os.path.join(self.folder, file), {name: values})
        return {"file": file, "tensor": name}

    def take(self, reference):
        """The array of a reference (or all arrays of a file's name); the file is deleted."""
        file = reference if isinstance(reference, str) else reference["file"]
        path = os.path.join(self.folder, file)
        tensors = read_safetensors(path)
        os.remove(path)
        return tensors if isinstance(reference, str) else tensors[reference["tensor"]]

    def close(self):
        """Says bye; the child's exit code, None when it had to be killed or was gone."""
        code = None
        if not self.child.stdin.closed:
            try:
                self.ask("bye")
                code = self.child.wait(timeout=300)
            except (OSError, EOFError, Failure, queue.Empty, subprocess.TimeoutExpired):
                pass
        self.child.kill()
        self.child.wait()
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        self.reader.join(timeout=60)
        self.child.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        return code


def psnr(a, b):
    """Of pictures, u8 or 0...1, in dB."""
    a, b = (np.asarray(value, np.float64) / (255 if value.dtype == np.uint8 else 1) for value in (a, b))
    error = np.mean((a - b) ** 2)
    return float("inf") if error == 0 else -10 * np.log10(error)


def relative(a, b):
    return float(np.abs(a.astype(np.float64) - b).max() / max(np.abs(b).max(), 1e-9))


def write_png(path, pixels):
    """u8 [H, W, 3]."""
    height, width, _ = pixels.shape
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        file.write(chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def compare(trace, pixels, other):
    """Prints what differs, the worst of each group; returns the PSNR."""
    worst = {}
    for name in other:
        if name not in trace:
            continue
        group = name.split(".")[0] if name.split(".")[0] in ("latents", "noise_pred") and name != "latents.init" else "blocks" if "." in name and name != "latents.init" else name
        if trace[name].shape != other[name].shape and trace[name].size != other[name].size:
            print(f"  {name}: the shape is {trace[name].shape}, there {other[name].shape}")
            continue
        error = relative(trace[name].reshape(other[name].shape), other[name])
        if error >= worst.get(group, (-1, ""))[0]:
            worst[group] = (error, name)
    for group, (error, name) in worst.items():
        print(f"  {group}: {error:.2e}" + (f" ({name})" if name != group else ""))
    missing = [name for name in other if name not in trace and name != "image"]
    if missing:
        print(f"  not in the reply's trace: {len(missing)}, {', '.join(missing[:6])}")
    theirs = np.moveaxis(other["image"][0], 0, -1)
    found = psnr(pixels, np.clip(np.round(theirs * 255), 0, 255).astype(np.uint8))
    print(f"  image (8 bits): {found:.2f} dB")
    if "image" in trace:
        found = psnr(trace["image"], other["image"])
        print(f"  image: {found:.2f} dB")
    return found


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--backend", required=True)
    words.add_argument("--model", required=True)
    words.add_argument("--prompt", default="a large red circle on a blue background")
    words.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting of the request")
    words.add_argument("--load", action="append", default=[], metavar="KEY=VALUE", help="a setting of load")
    for name in ("latents", "image", "mask", "against", "output"):
        words.add_argument(f"--{name}")
    words.add_argument("--text", action="store_true")
    words.add_argument("--quiet", action="store_true", help="no events")
    words.add_argument("--cancel-after", type=int, metavar="STEP")
    words = words.parse_args()

    def settings(pairs):
        result = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            try:
                result[key] = json.loads(value)
            except ValueError:
                result[key] = value
        return result

    client = Client(words.backend)
    status = 0
    number = None

    def show(event):
        if not words.quiet:
            print(json.dumps(event))
        if words.cancel_after and event["type"] == "progress" and event["step"] == words.cancel_after:
            client.send("cancel", target=number)

    try:
        print(json.dumps(client.welcome))
        model = client.ask("load", show, path=words.model, **settings(words.load))["model"]
        print(json.dumps(model))
        values = settings(words.set)
        for name in ("latents", "image", "mask"):
            if getattr(words, name):
                values[name] = client.give(np.load(getattr(words, name)))
        if words.against and "trace_level" not in values and "trace" in client.welcome["capabilities"]:
            values["trace_level"] = "step"
        number = client.send("generate_text" if words.text else "generate_images", model=model["id"], prompt=words.prompt, **values)
        reply = client.wait(number, show)
        print(json.dumps(reply))
        if not words.text:
            pixels = client.take(reply["images"][0]["image"])
            trace = client.take(reply["trace"]) if reply.get("trace") else {}
            if words.output:
                write_png(words.output, pixels)
            if words.against and compare(trace, pixels, read_safetensors(words.against)) < 50:
                status = 7
    except Failure as failure:
        print(f"error: {failure}")
        status = 3
    finally:
        print(f"exit code of the child: {client.close()}")
    return status


if __name__ == "__main__":
    sys.exit(main())
