"""A small engine that speaks genbench.backend/1 with the standard library alone, and breaks it in one way at a time.

`engine.py MISTAKE [ARGUMENT]`: what each mistake is, is told where it's made. Without one it's a well-behaved engine.
"""

import array
import json
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time

MISTAKE = sys.argv[1] if len(sys.argv) > 1 else "none"
ARGUMENT = sys.argv[2] if len(sys.argv) > 2 else ""
LOCK = threading.Lock()
STATE = {"exchange": None, "running": None, "cancelled": False, "last": -1, "models": {}, "requests": 0, "files": 0, "ballast": None}


def raw(data):
    with LOCK:
        while data:
            data = data[os.write(1, data) :]


def send(**answer):
    raw(json.dumps(answer, ensure_ascii=False).encode() + b"\n")


def now():
    return time.monotonic_ns() + (10**15 if MISTAKE == "other clock" else 0)


def write(tensors):
    """Writes {name: (type, shape, bytes)} and returns the file's name."""
    STATE["files"] += 1
    name = f"e{STATE['files']}.safetensors"
    header, offset = {}, 0
    for key, (kind, shape, data) in tensors.items():
        header[key] = {"dtype": kind, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    path = os.path.join(STATE["exchange"], name)
    with open(path + ".part", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)
    os.rename(path + ".part", path)
    return name


def read(name):
    with open(os.path.join(STATE["exchange"], name), "rb") as file:
        data = file.read()
    os.remove(os.path.join(STATE["exchange"], name))
    length = struct.unpack_from("<Q", data)[0]
    header = json.loads(data[8 : 8 + length])
    return {
        key: (entry["dtype"], entry["shape"], data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
        for key, entry in header.items()
        if key != "__metadata__"
    }


def picture(request, number):
    """An image that depends on the prompt, the seed and the latents alone."""
    width, height = request.get("width") or 16, request.get("height") or 8
    if MISTAKE == "wrong size":
        width += 8
    if isinstance(request.get("latents"), dict):
        request["latents"] = read(request["latents"]["file"])["latents"][2]
    latents = request.get("latents") or b""
    salt = time.monotonic_ns() if MISTAKE == "not deterministic" else 0
    source = random.Random(f"{request['prompt']}{request.get('seed') or 0}{number}{latents.hex()}{salt}")
    pixels = bytes(source.randrange(256) for _ in range(min(width * height * 3, 4096)))
    pixels = (pixels * (width * height * 3 // len(pixels) + 1))[: width * height * 3]
    if MISTAKE == "not finite":
        values = array.array("f", [float("nan")] * (width * height * 3))
        return {"file": write({"image": ("F32", [1, 3, height, width], values.tobytes())}), "tensor": "image"}
    if MISTAKE == "wrong shape":
        return {"file": write({"image": ("U8", [3, height, width], pixels)}), "tensor": "image"}
    if MISTAKE == "other tensor":
        return {"file": write({"picture": ("U8", [height, width, 3], pixels)}), "tensor": "image"}
    if MISTAKE == "outside":
        return {"file": "../" + os.path.basename(STATE["exchange"]) + "/" + write({"image": ("U8", [height, width, 3], pixels)}), "tensor": "image"}
    if MISTAKE == "no file":
        return {"file": "nothing.safetensors", "tensor": "image"}
    if MISTAKE == "link":
        name = write({"image": ("U8", [height, width, 3], pixels)})
        os.symlink(name, os.path.join(STATE["exchange"], "link.safetensors"))
        return {"file": "link.safetensors", "tensor": "image"}
    if MISTAKE == "fifo":
        os.mkfifo(os.path.join(STATE["exchange"], "fifo.safetensors"))
        return {"file": "fifo.safetensors", "tensor": "image"}
    if MISTAKE == "damaged file":
        name = write({"image": ("U8", [height, width, 3], pixels)})
        path = os.path.join(STATE["exchange"], name)
        os.truncate(path, os.path.getsize(path) - 5)
        return {"file": name, "tensor": "image"}
    if MISTAKE == "sparse file":
        name = "sparse.safetensors"
        with open(os.path.join(STATE["exchange"], name), "wb") as file:
            file.truncate(1 << 40)
        return {"file": name, "tensor": "image"}
    return {"file": write({"image": ("U8", [height, width, 3], pixels)}), "tensor": "image"}


def before_reply(number):
    """What some do instead of going on, once the request runs."""
    if MISTAKE == "dies":
        sys.stderr.write("the last words\n")
        sys.stderr.flush()
        os._exit(3)
    if MISTAKE == "dies once" and not os.path.exists(ARGUMENT):
        open(ARGUMENT, "w").close()
        os._exit(3)
    if MISTAKE == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if MISTAKE in ("silent", "silent for good"):
        time.sleep(3600)
    if MISTAKE == "endless":
        while True:
            send(type="warning", id=number, message="still here")
            time.sleep(0.002)
    if MISTAKE == "bad json":
        raw(b'{"type": "images", "id": \n')
    if MISTAKE == "no object":
        raw(b"[1, 2]\n")
    if MISTAKE == "not utf8":
        raw(b'{"type": "warning", "id": %d, "message": "\xff\xfe"}\n' % number)
    if MISTAKE == "duplicate key":
        raw(b'{"type": "warning", "id": %d, "id": %d, "message": ""}\n' % (number, number))
    if MISTAKE == "printed":
        raw(b"Loading pipeline components... 100%\n")
    if MISTAKE == "too long":
        raw(b'{"type": "warning", "id": %d, "message": "' % number + b"x" * (2 << 20) + b'"}\n')
    if MISTAKE == "too long without end":
        while True:
            raw(b"x" * 65536)
    if MISTAKE == "answer to nothing":
        send(type="ok", id=number + 1000)
    if MISTAKE == "unknown answer":
        send(type="done", id=number)
    if MISTAKE == "wrong reply":
        send(type="ok", id=number)
    if MISTAKE == "wrong type":
        send(type="progress", id=number, step="one", total=4, time_ns=now())
    if MISTAKE == "missing key":
        send(type="progress", id=number, step=1, time_ns=now())
    if MISTAKE == "closes stdout":
        os.close(1)
        time.sleep(3600)
    if MISTAKE == "half a line":
        raw(b'{"type": "images"')
        os._exit(0)
    if MISTAKE == "floods stderr":
        for _ in range(3000):
            os.write(2, b"noise " * 1000 + b"\n")
    if MISTAKE == "grandchild":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        open(ARGUMENT, "w").write(str(os.getpgid(0)))
        time.sleep(3600)


def check_cancelled():
    if STATE["cancelled"] and MISTAKE != "deaf":
        raise InterruptedError


def stage(number, name, phase, index=None):
    send(type="stage", id=number, stage=name, phase=phase, index=index, time_ns=now())


def generate_images(number, request):
    if MISTAKE == "clamps" and request.get("steps"):
        request["steps"] = min(request["steps"], 2)
    if "clip_skip" in request and MISTAKE != "ignores settings":
        return send(type="error", id=number, code="not_supported", message="clip_skip can't be honoured")
    if MISTAKE != "ignores settings" and request.get("steps") is not None and request["steps"] < 1:
        return send(type="error", id=number, code="invalid_input", message=f"steps: expected at least 1, found {request['steps']}")
    steps = request.get("steps") or 3
    if MISTAKE not in ("silent start",):
        stage(number, "tokenize", "begin")
        stage(number, "tokenize", "end")
    before_reply(number)
    for step in range(steps):
        stage(number, "step", "begin", step)
        if not (MISTAKE == "slow" or STATE["requests"] < 0):
            time.sleep(0.01 if request["prompt"] == "slowly" else 0)
        if MISTAKE == "slow":
            time.sleep(0.05)
        check_cancelled()
        stage(number, "step" if MISTAKE != "stages crossed" else "unet", "end", step)
        told = step + 1
        if MISTAKE == "backwards progress" and step == steps - 1:
            told = 1
        if MISTAKE == "progress from 0":
            told = step
        if not (MISTAKE == "too little progress" and step == steps - 1):
            send(type="progress", id=number, step=told, total=steps, time_ns=now())
        if MISTAKE == "time runs backwards" and step == 1:
            send(type="progress", id=number, step=told, total=steps, time_ns=now() - 10**12)
        stride = request.get("preview_stride")
        if stride and (step + 1) % stride == 0:
            send(type="preview", id=number, step=step + 1, image=picture({**request, "latents": None}, -1), safety="unchecked")
    if MISTAKE == "time outside":
        send(type="stage", id=number, stage="vae_decode", phase="begin", time_ns=now() + 10**12)
        send(type="stage", id=number, stage="vae_decode", phase="end", time_ns=now() + 10**12)
    if MISTAKE == "stage left open":
        stage(number, "vae_decode", "begin")
    send(type="memory", id=number, resident_bytes=1 << 20, device_bytes=None, time_ns=now())
    count = (request.get("image_count") or 1) + (MISTAKE == "too many images")
    images = [{"image": picture(request, index), "safety": "unchecked", "seed": (request.get("seed") or 0) + index} for index in range(count)]
    if MISTAKE == "unknown safety":
        images[0]["safety"] = "fine"
    reply = {"images": images, "scheduler": "ddim", "steps": steps, "guidance_scale": request.get("guidance_scale") or 7.5}
    if request.get("trace_level") in ("step", "block"):
        values = [0.0] * 4
        if MISTAKE == "trace not finite":
            values[2] = float("inf")
        reply["trace"] = write({"latents.init": ("F32", [1, 1, 2, 2], array.array("f", values).tobytes())})
    STATE["running"] = None
    send(type="images", id=number, **reply)
    if MISTAKE == "event after reply":
        send(type="warning", id=number, message="one more thing")
    if MISTAKE == "late event":
        time.sleep(0.3)
        send(type="warning", id=number, message="one more thing")
    if MISTAKE == "replies twice":
        send(type="images", id=number, **reply)
    if MISTAKE == "dies after reply":
        os._exit(4)


def generate_text(number, request):
    before_reply(number)
    count = request.get("max_tokens") or 8
    words = (request["prompt"] + " – naïve façade 🎈 日本").split(" ")
    ids, text = [], ""
    for index in range(count):
        check_cancelled()
        if request["prompt"] == "slowly":
            time.sleep(0.01)
        word = words[index % len(words)] + " "
        ids.append(index if MISTAKE != "negative ids" else -1)
        text += word
        send(type="token", id=number, token=index, text=word, time_ns=now())
    if MISTAKE == "too many tokens":
        ids += [1] * 5
    reason = "length" if MISTAKE != "unknown ending" else "tired"
    STATE["running"] = None
    send(type="text", id=number, text=text, ids=ids, prompt_ids=[1, 2, 3], finish_reason=reason, unavailable={"prefill_tokens_per_second": "not timed"})


def compute(number, request):
    before_reply(number)
    if request["op"] != "double":
        STATE["running"] = None
        return send(type="error", id=number, code="not_supported", message=f"there's no operator {request['op']}")
    outputs = {}
    for key, (kind, shape, data) in read(request["inputs"]).items():
        values = array.array("f")
        values.frombytes(data)
        outputs[key] = (kind, shape, array.array("f", [2 * value for value in values]).tobytes())
    STATE["running"] = None
    send(type="op_result", id=number, outputs=write(outputs), elapsed_ns=1000)


def load(number, request):
    if MISTAKE == "dies at load":
        os._exit(5)
    if "missing" in request["path"]:
        STATE["running"] = None
        code = "model_not_found" if MISTAKE != "one code for all" else "processing_failed"
        return send(type="error", id=number, code=code, message=f"{request['path']}: no such model")
    stage(number, "load", "begin")
    stage(number, "load", "end")
    name = f"m{len(STATE['models']) + 1}"
    STATE["models"][name] = request
    model = {
        "id": name, "variant": request.get("variant") or "sd15", "capabilities": ["text_to_image", "latents_input", "trace", "previews", "text_generation"],
        "native_sizes": [[16, 8]], "size_multiple": 8, "default_steps": 3,
    }  # fmt: skip
    if MISTAKE == "impossible model":
        model["native_sizes"] = [[0, -8]]
    STATE["running"] = None
    send(type="loaded", id=number, model=model)


def work(number, kind, request):
    try:
        {"load": load, "generate_images": generate_images, "generate_text": generate_text, "op": compute}[kind](number, request)
    except InterruptedError:
        STATE["running"] = None
        code = "cancelled" if MISTAKE != "cancel is a failure" else "processing_failed"
        send(type="error", id=number, code=code, message="the request was cancelled")
    except BrokenPipeError:
        os._exit(1)
    except (OSError, KeyError, ValueError) as error:
        send(type="error", id=number, code="processing_failed", message=repr(error))
    finally:
        STATE["running"] = None


def greet(number, request):
    if MISTAKE == "refuses":
        return send(type="error", id=number, code="unavailable", message="no device")
    if MISTAKE == "silent at hello":
        time.sleep(3600)
    if MISTAKE == "talks first":
        print("Welcome!", flush=True)
    STATE["exchange"] = request["exchange"]
    if MISTAKE == "tells the exchange":
        open(ARGUMENT, "w").write(request["exchange"] + "\n" + str(os.getpid()) + "\n" + str(len(os.listdir("/proc/self/fd"))))
    protocol = "genbench.backend/1" if MISTAKE != "other protocol" else "genbench.backend/2"
    send(
        type="welcome", id=number, protocol=protocol, name="engine.py", version=ARGUMENT if MISTAKE == "version" else "1", ops=["double"], device="cpu", threads=1,
        capabilities=["text_to_image", "latents_input", "trace", "previews", "text_generation", "teleportation"], details={"python": "3"},
        schedulers=["ddim"], unavailable={"unet": "there's none"},
    )  # fmt: skip


def main():
    if MISTAKE == "silent for good":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reader = os.fdopen(0, "rb")
    for line in reader:
        try:
            request = json.loads(line)
            number, kind = request["id"], request["type"]
        except (ValueError, KeyError, TypeError) as error:
            if MISTAKE != "deaf to nonsense":
                send(type="error", id=None, code="invalid_input", message=f"that's no request: {error}")
            continue
        if kind == "hello":
            greet(number, request)
        elif kind == "clock":
            send(type="clock", id=number, time_ns=now())
        elif kind == "cancel":
            if STATE["running"] == request["target"]:
                STATE["cancelled"] = True
            send(type="ok", id=number)
        elif kind == "unload":
            STATE["models"].pop(request["model"], None)
            send(type="ok", id=number)
        elif kind == "bye":
            if MISTAKE == "stays":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(3600)
            send(type="ok", id=number)
            os._exit(0)
        elif kind in ("load", "generate_images", "generate_text", "op"):
            if STATE["running"] is not None and MISTAKE != "never busy":
                send(type="error", id=number, code="busy", message="another request is running")
                continue
            if kind.startswith("generate") and request["model"] not in STATE["models"]:
                send(type="error", id=number, code="not_loaded", message=f"no model {request['model']}")
                continue
            STATE["running"], STATE["cancelled"] = number, False
            threading.Thread(target=work, args=(number, kind, request), daemon=True).start()
        else:
            send(type="error", id=number, code="not_supported", message=f"there's no request {kind}")
    if MISTAKE == "stays":
        time.sleep(3600)
    os._exit(0)


main()
