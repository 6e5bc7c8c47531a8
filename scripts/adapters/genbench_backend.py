"""The child's side of the protocol genbench.backend/1 (docs/backend-protocol.md): standard library and NumPy only.

An adapter is a class with any of these methods, served by `serve(Adapter())`:

    class Adapter(Backend):
        name, version = "my-engine", "1.0"
        capabilities = ["text_to_image", "latents_input"]
        image_settings = {"steps", "seed", "latents"}       # the settings that generate_images honours; others are refused
        def load(self, request, run): return info, model        # info: the keys of `loaded`'s model but the id; model: any object
        def generate_images(self, model, request, run): return {"images": [...], "scheduler": ..., "steps": ..., "guidance_scale": ...}
        def generate_text(self, model, request, run): return {"text": ..., "ids": [...], ...}
        def op(self, request, run): return outputs              # a dict of arrays
        def unload(self, model): ...

`run` reports events, reads and writes tensors, and knows whether the request was cancelled: call `run.check()` often. Errors are
raised: `BackendError(code, sentence)`; anything else becomes `processing_failed`. Requests are plain dicts without null values.
"""

import contextlib
import ctypes
import gc
import json
import os
import queue
import secrets
import struct
import sys
import threading
import time
import traceback

import numpy as np

PROTOCOL = "genbench.backend/1"
LINE_LIMIT = 1 << 20
WORK = ("load", "generate_images", "generate_text", "op")
CODES = {
    "not_loaded", "model_not_found", "invalid_model", "invalid_input", "not_supported", "busy", "cancelled", "out_of_memory",
    "processing_failed", "unavailable",
}  # fmt: skip
# Types of requests' keys; int doesn't take true and false, float takes whole numbers.
KEYS = {
    "load": {
        "path": str, "projector": str, "variant": str, "prediction_type": str, "safety": str, "reduce_memory": bool, "precision": str,
        "threads": int,
    },
    "generate_images": {
        "model": str, "prompt": str, "negative_prompt": str, "width": int, "height": int, "steps": int, "guidance_scale": float,
        "guidance_rescale": float, "scheduler": str, "timestep_spacing": str, "eta": float, "seed": int, "random_source": str,
        "latents": dict, "image": dict, "mask": dict, "strength": float, "image_count": int, "checks_safety": bool,
        "preview_stride": int, "trace_level": str, "long_prompt": str, "clip_skip": int,
    },
    "generate_text": {
        "model": str, "prompt": str, "turns": list, "raw": bool, "image": dict, "max_tokens": int, "temperature": float,
        "top_k": int, "top_p": float, "min_p": float, "repetition_penalty": float, "seed": int,
    },
    "op": {"op": str, "attributes": dict, "inputs": str},
    "cancel": {"target": int},
    "unload": {"model": str},
}  # fmt: skip
REQUIRED = {
    "load": ["path"], "generate_images": ["model", "prompt"], "generate_text": ["model", "prompt"], "op": ["op", "inputs"],
    "cancel": ["target"], "unload": ["model"],
}  # fmt: skip
# Values that ask for nothing.
NEUTRAL = {
    "guidance_rescale": [0], "image_count": [1], "trace_level": ["none"], "checks_safety": [True, False], "clip_skip": [0],
    "reduce_memory": [False], "safety": ["if_present", "off"], "turns": [[]], "raw": [False], "top_k": [0], "top_p": [1],
    "min_p": [0], "repetition_penalty": [1], "temperature": [0], "precision": ["f32"],
}  # fmt: skip
CHOICES = {"trace_level": ["none", "step", "block"], "long_prompt": ["error", "truncate", "chunk"], "safety": ["required", "if_present", "off"]}
AT_LEAST_ONE = ("width", "height", "steps", "image_count", "preview_stride", "max_tokens", "threads")


class BackendError(Exception):
    """What a request ends in: a code of the protocol and a sentence (what, expected, found, remedy)."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code if code in CODES else "processing_failed"


class Cancelled(BackendError):
    def __init__(self):
        super().__init__("cancelled", "the request was cancelled")


# ---------------------------------------------------------------- safetensors

_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U64": "<u8", "U32": "<u4",
    "U16": "<u2", "U8": "<u1", "BOOL": "?", "BF16": "<u2",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items() if name != "BF16"}


def read_safetensors(path):
    """The tensors of a file, by name; BF16 becomes float32. Raises BackendError("invalid_input") for anything that isn't one."""
    name = os.path.basename(path)

    def wrong(what):
        return BackendError("invalid_input", f"{name}: {what}; expected a safetensors file")

    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise BackendError("invalid_input", f"{name}: can't be read from the exchange folder: {error.strerror}") from error
    if len(data) < 8:
        raise wrong(f"{len(data)} bytes hold no header")
    length = struct.unpack_from("<Q", data)[0]
    if length > len(data) - 8:
        raise wrong(f"the header's length is {length}, the file's {len(data)}")
    tensors = {}
    try:
        header = json.loads(data[8 : 8 + length])
        for key, entry in header.items():
            if key == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            kind, shape = np.dtype(_TYPES[entry["dtype"]]), tuple(entry["shape"])
            count = int(np.prod(shape, dtype=np.int64))
            if not (0 <= begin <= end <= len(data) - 8 - length and end - begin == count * kind.itemsize and all(side >= 0 for side in shape)):
                raise wrong(f"{key}: offsets {begin}...{end} don't fit the shape {list(shape)} of {entry['dtype']}")
            values = np.frombuffer(data, kind, count, 8 + length + begin).reshape(shape)
            if entry["dtype"] == "BF16":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            tensors[key] = values
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise wrong(f"the header can't be read: {error!r}") from error
    return tensors


def write_safetensors(path, tensors, metadata=None):
    """Writes arrays to a temporary name beside `path`, then renames."""
    header, offset, chunks = {"__metadata__": metadata} if metadata else {}, 0, []
    for key, values in tensors.items():
        values = np.asarray(values)
        # ascontiguousarray makes a number a row of one.
        values = np.ascontiguousarray(values).reshape(values.shape)
        if values.dtype not in _NAMES:
            raise BackendError("processing_failed", f"{key}: an array of {values.dtype} can't be written")
        header[key] = {"dtype": _NAMES[values.dtype], "shape": list(values.shape), "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
        chunks.append(values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{path}.{secrets.token_hex(4)}.part"
    try:
        with open(temporary, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for values in chunks:
                file.write(values.tobytes())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise


# ---------------------------------------------------------------- what an adapter sees


def resident_bytes():
    """The resident memory of this process; None where the system doesn't tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


class Run:
    """One request while it runs: its events, its tensors, whether it was cancelled."""

    def __init__(self, server, request):
        self._server, self._request = server, request
        self._open, self._files, self._read = [], {}, set()
        self._callbacks, self._lock = [], threading.Lock()
        self.cancelled = False
        self.unavailable = {}

    # Cancellation

    def check(self):
        """Raises Cancelled when the request was cancelled."""
        if self.cancelled:
            raise Cancelled()

    def on_cancel(self, call):
        """Has `call` called (on another thread) when the request is cancelled: for engines with a cancel function."""
        with self._lock:
            self._callbacks.append(call)
            late = self.cancelled
        if late:
            call()

    def cancel(self):
        with self._lock:
            first, self.cancelled = not self.cancelled, True
        for call in self._callbacks if first else []:
            call()

    # Events

    def _send(self, kind, **values):
        self._server.send({"type": kind, "id": self._request["id"], **values})

    def begin(self, stage, index=None):
        """A stage begins, inside those that are open."""
        self._open.append((stage, index))
        self._send("stage", stage=stage, phase="begin", index=index, time_ns=time.monotonic_ns())

    def end(self):
        """The innermost open stage ends; the outermost one's end tells the memory, too."""
        stage, index = self._open.pop()
        self._send("stage", stage=stage, phase="end", index=index, time_ns=time.monotonic_ns())
        if not self._open:
            self.memory()

    @contextlib.contextmanager
    def stage(self, name, index=None):
        self.begin(name, index)
        depth = len(self._open)
        try:
            yield
        finally:
            self.close_to(depth - 1)

    def close_to(self, depth=0):
        """Ends open stages until `depth` are left: for calls that were left by an exception."""
        while len(self._open) > depth:
            self.end()

    @property
    def depth(self):
        return len(self._open)

    def progress(self, step, total):
        self._send("progress", step=int(step), total=int(total), time_ns=time.monotonic_ns())

    def preview(self, step, image, safety="unchecked"):
        self._send("preview", step=int(step), image=self.write(image), safety=safety)

    def token(self, token, text):
        self._send("token", token=token, text=text, time_ns=time.monotonic_ns())

    def memory(self, device_bytes=None):
        resident = resident_bytes()
        if resident is not None:
            self._send("memory", resident_bytes=resident, device_bytes=device_bytes, time_ns=time.monotonic_ns())

    def warning(self, message):
        self._send("warning", message=str(message)[:4096])

    # Tensors

    def _path(self, name):
        if not isinstance(name, str) or not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise BackendError("invalid_input", f"{name!r} is no plain file name: references stay inside the exchange folder")
        return os.path.join(self._server.exchange, name)

    def tensors(self, name):
        """All tensors of a file of the exchange folder; the file is deleted."""
        if name not in self._files:
            path = self._path(name)
            if os.path.islink(path) or not os.path.isfile(path):
                raise BackendError("invalid_input", f"{name}: no such file in the exchange folder")
            self._files[name] = read_safetensors(path)
            with contextlib.suppress(OSError):
                os.remove(path)
        return self._files[name]

    def read(self, key, shape=None):
        """The tensor that the request's `key` refers to, or None. `shape`: lengths, None where any is good."""
        reference = self._request.get(key)
        if reference is None:
            return None
        tensors = self.tensors(reference.get("file"))
        if reference.get("tensor") not in tensors:
            raise BackendError("invalid_input", f"{key}: no tensor {reference.get('tensor')!r} in {reference['file']}; there are {sorted(tensors)[:5]}")
        values = tensors[reference["tensor"]]
        if shape and (len(shape) != values.ndim or any(want not in (None, have) for want, have in zip(shape, values.shape))):
            raise BackendError("invalid_input", f"{key}: expected the shape {list(shape)}, found {list(values.shape)}")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise BackendError("invalid_input", f"{key}: holds values that aren't finite")
        return values

    def write(self, values, name="image"):
        """Writes one array and returns the reference."""
        return {"file": self.write_file({name: values}), "tensor": name}

    def write_file(self, tensors):
        """Writes arrays into one file of the exchange folder and returns its name."""
        name = f"child-{os.getpid()}-{next(self._server.numbers)}.safetensors"
        write_safetensors(os.path.join(self._server.exchange, name), tensors)
        return name

    def forget_files(self):
        """Deletes files that the request named and nobody read."""
        references = [self._request.get(key) for key in ("latents", "image", "mask")] + [{"file": self._request.get("inputs")}]
        for reference in references:
            if isinstance(reference, dict) and isinstance(reference.get("file"), str):
                with contextlib.suppress(OSError, BackendError):
                    os.remove(self._path(reference["file"]))


class Backend:
    """What adapters override; see the module's text."""

    name, version = "unnamed", "0"
    capabilities, schedulers, ops = [], None, []
    image_settings, text_settings, load_settings = set(), set(), set()
    device, threads = "cpu", None
    details, unavailable = {}, {}

    def load(self, request, run):
        raise BackendError("not_supported", f"{self.name} loads no models")

    def generate_images(self, model, request, run):
        raise BackendError("not_supported", f"{self.name} makes no images")

    def generate_text(self, model, request, run):
        raise BackendError("not_supported", f"{self.name} makes no text")

    def op(self, request, run):
        raise BackendError("not_supported", f"{self.name} computes no single operators")

    def unload(self, model):
        pass


def check_keys(kind, request):
    """Types and ranges that hold for every engine."""
    for key in REQUIRED.get(kind, []):
        if key not in request:
            raise BackendError("invalid_input", f"{kind}: '{key}' is missing")
    for key, wanted in KEYS.get(kind, {}).items():
        if key not in request:
            continue
        value = request[key]
        fits = isinstance(value, (int, float) if wanted is float else wanted) and (wanted is bool or not isinstance(value, bool))
        if not fits:
            raise BackendError("invalid_input", f"{kind}: '{key}' is {value!r:.60}; expected {wanted.__name__}")
        if key in AT_LEAST_ONE and value < 1:
            raise BackendError("invalid_input", f"{kind}: '{key}' is {value}; expected at least 1")
        if key in CHOICES and value not in CHOICES[key]:
            raise BackendError("invalid_input", f"{kind}: '{key}' is {value!r:.60}; expected one of {', '.join(CHOICES[key])}")
        if key == "seed" and not 0 <= value < 1 << 64:
            raise BackendError("invalid_input", f"{kind}: the seed is {value}; expected 0...2^64-1")
        if key == "strength" and not 0 <= value <= 1:
            raise BackendError("invalid_input", f"{kind}: 'strength' is {value}; expected 0...1")


def refuse_others(kind, request, honoured, always):
    """A setting that is there and can't be honoured is refused, never ignored."""
    idle = set(always)
    if "image" not in request:
        idle.add("strength")
    if "latents" in request:
        idle |= {"random_source", "seed"}
    for key in KEYS[kind]:
        if key in request and key not in honoured and key not in idle and request[key] not in NEUTRAL.get(key, []):
            raise BackendError("not_supported", f"'{key}' ({request[key]!r:.60}) can't be honoured by this engine; leave it out")


# ---------------------------------------------------------------- the loop


class Server:
    """Reads requests on a thread of its own, so that cancel, clock and unload are heard while one runs; works on the caller's thread."""

    def __init__(self, backend, source, sink):
        self.backend, self.source, self.sink = backend, source, sink
        self.exchange, self.models, self.numbers = None, {}, iter(range(1, 1 << 62))
        self.jobs, self.lock, self.running, self.last_id = queue.Queue(), threading.Lock(), None, -1

    def send(self, answer):
        text = json.dumps({key: value for key, value in answer.items() if value is not None}, ensure_ascii=False, allow_nan=False)
        line = text.encode("utf-8", "replace") + b"\n"
        if len(line) > LINE_LIMIT:
            raise BackendError("processing_failed", f"an answer of {len(line)} bytes doesn't fit a line of {LINE_LIMIT}")
        with self.lock:
            self.sink.write(line)
            self.sink.flush()

    def fail(self, number, code, message):
        # "id": null is told: an error that belongs to no request.
        text = json.dumps({"type": "error", "id": number, "code": code, "message": message[:8192]}, ensure_ascii=False)
        with self.lock:
            self.sink.write(text.encode("utf-8", "replace") + b"\n")
            self.sink.flush()

    def lines(self):
        """Complete lines within the limit; None for one that is too long, of which the rest is skipped."""
        while line := self.source.readline(LINE_LIMIT + 1):
            if line.endswith(b"\n") and len(line) <= LINE_LIMIT:
                yield line
                continue
            skipped = line
            while skipped and not skipped.endswith(b"\n"):
                skipped = self.source.readline(LINE_LIMIT)
            if skipped:
                yield None

    def read_all(self):
        """The reading thread: answers what needs no work, hands the rest over."""
        try:
            for line in self.lines():
                if line is None:
                    self.fail(None, "invalid_input", f"a line is longer than {LINE_LIMIT} bytes")
                elif line.strip() and not self.take(line):
                    return
        except (OSError, ValueError):
            traceback.print_exc()
        finally:
            running = self.running
            if running:
                running.cancel()
            self.jobs.put(None)

    def take(self, line):
        """One line; False when it was the last one."""
        try:
            request = json.loads(line, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(f"{name} is no JSON number")))
            number, kind = request["id"], request["type"]
            if isinstance(number, bool) or not isinstance(number, int) or not isinstance(kind, str):
                raise ValueError("'id' must be a whole number and 'type' a string")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            self.fail(None, "invalid_input", f"a line that is no request: {error!r:.200}")
            return True
        request = {key: value for key, value in request.items() if value is not None}
        try:
            if number <= self.last_id:
                raise BackendError("invalid_input", f"the id {number} isn't above the last one, {self.last_id}")
            self.last_id = number
            if kind != "bye" and (kind == "hello") != (self.exchange is None):
                raise BackendError("invalid_input", "hello comes first, and once" if kind == "hello" else f"{kind} came before hello")
            check_keys(kind, request)
            return self.dispatch(kind, number, request)
        except BackendError as error:
            self.fail(number, error.code, str(error))
            return True

    def dispatch(self, kind, number, request):
        if kind == "hello":
            self.hello(number, request)
        elif kind == "clock":
            self.send({"type": "clock", "id": number, "time_ns": time.monotonic_ns()})
        elif kind == "cancel":
            running = self.running
            if running and running._request["id"] == request["target"]:
                running.cancel()
            self.send({"type": "ok", "id": number})
        elif kind == "unload":
            running = self.running
            if running and running._request.get("model") == request["model"]:
                running.cancel()
            self.jobs.put(("unload", request, None))
        elif kind == "bye":
            self.jobs.put(("bye", request, None))
            return False
        elif kind in WORK:
            with self.lock:
                busy = self.running
                if not busy:
                    self.running = run = Run(self, request)
            if busy:
                raise BackendError("busy", f"request {busy._request['id']} is running; one at a time")
            self.jobs.put((kind, request, run))
        else:
            raise BackendError("not_supported", f"there is no request '{kind}' in {PROTOCOL}")
        return True

    def hello(self, number, request):
        if PROTOCOL not in (request.get("protocols") or []):
            raise BackendError("not_supported", f"this speaks {PROTOCOL}; the client offers {request.get('protocols')!r:.100}")
        exchange = request.get("exchange")
        if not isinstance(exchange, str) or not os.path.isabs(exchange) or not os.path.isdir(exchange):
            raise BackendError("invalid_input", f"the exchange folder {exchange!r:.200} isn't there")
        self.exchange = exchange
        backend = self.backend
        self.send({
            "type": "welcome", "id": number, "protocol": PROTOCOL, "name": backend.name, "version": str(backend.version),
            "capabilities": list(backend.capabilities), "device": backend.device, "threads": backend.threads,
            "details": {key: str(value) for key, value in backend.details.items()}, "schedulers": backend.schedulers,
            "ops": list(backend.ops), "unavailable": backend.unavailable,
        })  # fmt: skip

    def work(self):
        """Until bye or the end of the input; the running request is the only one."""
        while (job := self.jobs.get()) is not None:
            kind, request, run = job
            if kind == "bye":
                for model in self.models.values():
                    self.backend.unload(model)
                self.send({"type": "ok", "id": request["id"]})
                return
            if kind == "unload":
                self.unload(request)
                continue
            try:
                answer = self.answer(kind, request, run)
            except BaseException as error:  # noqa: BLE001 - whatever an engine throws is told to the client
                answer = self.as_error(kind, error, request)
            try:
                run.close_to()
                run.forget_files()
            finally:
                self.running = None
            try:
                self.send(answer)
            except (BackendError, ValueError, TypeError) as error:
                self.send(self.as_error(kind, error, request))
            del answer, run, job
            gc.collect()

    def answer(self, kind, request, run):
        run.check()
        backend = self.backend
        if kind == "load":
            refuse_others(kind, request, backend.load_settings, ("path", "threads"))
            info, model = backend.load(request, run)
            run.check()
            name = f"m{len(self.models) + 1}-{request['id']}"
            self.models[name] = model
            return {"type": "loaded", "id": request["id"], "model": {"id": name, **info}}
        if kind == "op":
            if request["op"] not in backend.ops:
                raise BackendError("not_supported", f"there is no operator '{request['op']:.60}' here; welcome lists them")
            outputs = None
            start = time.monotonic_ns()
            outputs = backend.op(request, run)
            elapsed = outputs.pop("elapsed_ns", None) or time.monotonic_ns() - start
            return {"type": "op_result", "id": request["id"], "outputs": run.write_file(outputs), "elapsed_ns": elapsed}
        if request["model"] not in self.models:
            raise BackendError("not_loaded", f"no model '{request['model']:.60}' is loaded")
        model = self.models[request["model"]]
        if kind == "generate_images":
            refuse_others(kind, request, backend.image_settings, ("model", "prompt"))
            result = backend.generate_images(model, request, run)
            run.check()
            reply = {"type": "images", "id": request["id"], **result}
            reply["images"] = [{**entry, "image": run.write(entry["image"])} for entry in result["images"]]
            trace = reply.pop("trace", None)
            if trace:
                reply["trace"] = run.write_file({name: np.asarray(values, np.float32) for name, values in trace.items()})
        else:
            refuse_others(kind, request, backend.text_settings, ("model", "prompt", "seed", "max_tokens"))
            reply = {"type": "text", "id": request["id"], **backend.generate_text(model, request, run)}
            run.check()
        reply["unavailable"] = {**backend.unavailable, **run.unavailable, **reply.get("unavailable", {})}
        return reply

    def unload(self, request):
        model = self.models.pop(request["model"], None)
        try:
            if model is not None:
                self.backend.unload(model)
            del model
            give_memory_back()
        except Exception as error:  # noqa: BLE001
            self.send(self.as_error("unload", error, request))
            return
        self.send({"type": "ok", "id": request["id"]})

    def as_error(self, kind, error, request):
        code, message = "processing_failed", f"{type(error).__name__}: {error}"
        running = self.running
        if isinstance(error, BackendError):
            code, message = error.code, str(error)
        elif running and running.cancelled:
            code, message = "cancelled", "the request was cancelled"
        elif isinstance(error, MemoryError) or "out of memory" in message.lower() or "can't allocate memory" in message.lower():
            code = "out_of_memory"
        elif isinstance(error, NotImplementedError):
            code = "not_supported"
        elif kind == "load" and isinstance(error, FileNotFoundError):
            code = "model_not_found" if not os.path.exists(request["path"]) else "invalid_model"
        elif kind == "load":
            code = "invalid_model"
        if not isinstance(error, BackendError):
            traceback.print_exception(error)
        return {"type": "error", "id": request["id"], "code": code, "message": message[:8192]}


def give_memory_back():
    """Has the allocator return what is free to the system, where it can be asked."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def serve(backend):
    """Serves an adapter on stdin and stdout until bye or the end of stdin; ends the process.

    File descriptor 1 then leads to stderr, so that what libraries print can't get between the answers.
    """
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    server = Server(backend, os.fdopen(os.dup(0), "rb"), sink)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=server.read_all, daemon=True).start()
    try:
        server.work()
    except BrokenPipeError:
        pass
    finally:
        # Libraries that keep threads can't hold up the end.
        sys.stderr.flush()
        os._exit(0)
