"""A server with the interfaces of sd-server, llama-server, AUTOMATIC1111 and OpenAI, that breaks HTTP in one way at a time.

`server.py MISTAKE [PATH]`: prints its port, serves until stdin ends. A mistake happens at POST requests of paths that hold PATH.
"""

import base64
import json
import os
import socket
import struct
import sys
import threading
import time
import zlib

MISTAKE = sys.argv[1] if len(sys.argv) > 1 else "none"
WHERE = sys.argv[2] if len(sys.argv) > 2 else ""
STATE = {"jobs": {}, "bodies": [], "interrupted": False, "step": 0, "polls": 0}


def png(width, height, seed=0):
    rows = b"".join(b"\0" + bytes((seed * 31 + 7 * x + 13 * y) % 256 for x in range(width * 3)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def picture(width, height, seed=0):
    if MISTAKE == "wrong size":
        width += 8
    data = png(width, height, seed)
    if MISTAKE == "damaged image":
        data = data[:60]
    if MISTAKE == "no base64":
        return "###"
    return base64.b64encode(data).decode()


def answer(connection, status, value, kind="application/json"):
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    connection.sendall(f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)


def stream(connection, events, done=b"data: [DONE]\n\n"):
    """Events in chunks that don't keep to the events' ends."""
    data = b"".join(b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in events) + done
    if MISTAKE == "cut stream":
        data = data[: len(data) // 2]
    if MISTAKE == "event without end":
        data = b"data: " + b"x" * (20 << 20)
    if MISTAKE == "event that isn't json":
        data = b"data: hello\n\n" + data
    if MISTAKE == "error in the stream":
        data = b'data: {"error": {"message": "out of slots"}}\n\n'
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    connection.sendall(b"1;a=b\r\n:\r\n2\r\n\n\n\r\n")
    for start in range(0, len(data), 7 if len(data) < 1 << 16 else 1 << 16):
        part = data[start : start + (7 if len(data) < 1 << 16 else 1 << 16)]
        connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        if MISTAKE == "cut within a chunk" and start > 20:
            connection.sendall(b"ff\r\nabc")
            return
        if MISTAKE == "hangs in the stream" and start > 20:
            time.sleep(3600)
        if MISTAKE == "slow stream":
            time.sleep(0.05)
    connection.sendall(b"0\r\nTrailer: x\r\n\r\n")


def misbehave(connection):
    """The mistakes of HTTP itself; true when one was made."""
    if MISTAKE == "closes":
        return True
    if MISTAKE == "hangs":
        time.sleep(3600)
    elif MISTAKE == "no http":
        connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    elif MISTAKE == "html":
        answer(connection, 200, b"<html><body>Hello</body></html>", "text/html")
    elif MISTAKE == "html error":
        answer(connection, 502, b"<html><body>Bad gateway</body></html>", "text/html")
    elif MISTAKE == "error":
        answer(connection, 500, {"error": {"message": "the sampler failed"}})
    elif MISTAKE == "refused":
        answer(connection, 400, {"error": "invalid generation parameters"})
    elif MISTAKE == "full":
        answer(connection, 429, {"error": "job queue is full"})
    elif MISTAKE == "redirect":
        connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: http://example.invalid/\r\nContent-Length: 0\r\n\r\n")
    elif MISTAKE == "short":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}")
    elif MISTAKE == "huge length":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n{}")
    elif MISTAKE == "no length":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}")
    elif MISTAKE == "two lengths":
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}")
    elif MISTAKE == "without end":
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b" " * 65536)
    elif MISTAKE == "head without end":
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Header: " + b"x" * 1000 + b"\r\n")
    elif MISTAKE == "bad chunk":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
    elif MISTAKE == "cut chunk":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}")
    elif MISTAKE == "other coding":
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}")
    elif MISTAKE == "empty object":
        answer(connection, 200, {})
    elif MISTAKE == "list":
        answer(connection, 200, [])
    else:
        return False
    return True


def image_job(body):
    width, height = body.get("width") or 64, body.get("height") or 64
    count = (body.get("batch_count") or 1) + (MISTAKE == "too many images")
    return {"output_format": "png", "images": [{"index": i, "b64_json": picture(width, height, body["seed"] + i)} for i in range(count)]}


def sdcpp(connection, method, path, body):
    if path == "/sdcpp/v1/capabilities":
        defaults = {"width": 64, "height": 32, "sample_params": {"sample_method": "euler_a", "sample_steps": 12, "guidance": {"txt_cfg": 6.5}}}
        return answer(connection, 200, {
            "model": {"name": "small.safetensors", "stem": "small", "path": "/models/small.safetensors"}, "samplers": ["euler"],
            "defaults_by_mode": {"img_gen": defaults},
        })  # fmt: skip
    if path == "/sdcpp/v1/img_gen":
        name = f"job_{len(STATE['jobs'])}"
        STATE["jobs"][name] = {"body": body, "polls": 0, "cancelled": False}
        return answer(connection, 202, {"id": name if MISTAKE != "strange job" else "../x", "status": "queued"})
    job = STATE["jobs"].get(path.split("/")[4])
    if job is None:
        return answer(connection, 404, {"error": "job not found"})
    if path.endswith("/cancel"):
        if MISTAKE == "can't cancel":
            return answer(connection, 409, {"error": "job is generating"})
        job["cancelled"] = True
        return answer(connection, 200, {})
    job["polls"] += 1
    status = "cancelled" if job["cancelled"] else ["queued", "generating", "completed"][min(job["polls"] - 1, 2)]
    if body is None and job["body"]["prompt"] == "slowly" and status != "cancelled":
        status = "generating" if MISTAKE != "can't cancel" or job["polls"] < 30 else "completed"
    if MISTAKE == "job fails":
        return answer(connection, 200, {"status": "failed", "error": {"code": "generation_failed", "message": "no memory left"}})
    if MISTAKE == "unknown state":
        status = "dreaming"
    return answer(connection, 200, {"id": "x", "status": status, "result": image_job(job["body"]) if status == "completed" else None})


def a1111(connection, method, path, body):
    if path == "/sdapi/v1/options":
        return answer(connection, 200, {"sd_model_checkpoint": "small.safetensors [abcdef1234]"})
    if path == "/sdapi/v1/interrupt":
        STATE["interrupted"] = True
        return answer(connection, 200, {})
    if path.startswith("/sdapi/v1/progress"):
        return answer(connection, 200, {"progress": 0.5, "state": {"sampling_step": STATE["step"], "sampling_steps": 4}})
    STATE["interrupted"] = False
    steps = 10000 if body["prompt"] == "slowly" else 4
    for step in range(steps):
        STATE["step"] = min(step + 1, 4)
        time.sleep(0.02 if body["prompt"] in ("slowly", "steps") else 0)
        if STATE["interrupted"]:
            break
    if body["prompt"] == "steps":
        time.sleep(0.3)
    STATE["step"] = 0
    width, height = body.get("width") or 64, body.get("height") or 64
    seeds = [body["seed"] + i for i in range(body["batch_size"])]
    info = {"all_seeds": seeds, "sampler_name": "Euler", "steps": body.get("steps", 20), "cfg_scale": body.get("cfg_scale", 7)}
    images = [picture(width, height, seed) for seed in seeds] + (["x"] if MISTAKE == "too many images" else [])
    return answer(connection, 200, {"images": images, "parameters": {}, "info": json.dumps(info) if MISTAKE != "no info" else ""})


def llama(connection, method, path, body):
    if path == "/props":
        vision = MISTAKE != "blind"
        return answer(connection, 200, {
            "model_path": "/models/small.gguf", "build_info": "b123-abc", "modalities": {"vision": vision},
            "default_generation_settings": {"n_ctx": 2048},
        })  # fmt: skip
    if path == "/tokenize":
        return answer(connection, 200, {"tokens": list(body["content"].encode()) if MISTAKE != "bad tokens" else ["x"]})
    if path == "/apply-template":
        text = ""
        for message in body["messages"]:
            content = message["content"]
            if isinstance(content, list):
                content = "".join("<image>" if part["type"] == "image_url" else part["text"] for part in content)
            text += f"<{message['role']}>{content}"
        return answer(connection, 200, {"prompt": text})
    if not body.get("stream"):
        likely = [{"id": 5, "logprob": -0.25, "token": "a"}, {"id": 9, "logprob": -2.5, "token": "b"}]
        return answer(connection, 200, {"content": "a", "completion_probabilities": [{"id": 5, "top_logprobs": likely[: body["n_probs"]]}]})
    words = ["Ja", ", naïve", " 🎈", " 日本", " end"][: body["n_predict"]]
    events = [{"content": word, "tokens": [100 + i], "stop": False} for i, word in enumerate(words)]
    ending = "limit" if body["n_predict"] <= len(words) else "eos"
    if ending == "eos":
        events.append({"content": "", "tokens": [2], "stop": False})
    if MISTAKE == "negative ids":
        events[0]["tokens"] = [-1]
    predicted = len(events) + (MISTAKE == "lost ids")
    last = {
        "content": "", "tokens": [], "stop": True, "stop_type": ending, "tokens_predicted": predicted,
        "timings": {"prompt_n": 10, "prompt_ms": 20.0, "predicted_n": predicted, "predicted_ms": 100.0},
    }  # fmt: skip
    if MISTAKE == "no last event":
        return stream(connection, events, b"")
    if MISTAKE == "goes on":
        return stream(connection, events + [last] + events, b"")
    if MISTAKE == "unknown ending":
        last["stop_type"] = "tired"
    if MISTAKE == "too many tokens":
        events = events * 20
    return stream(connection, events + [last], b"")


def openai(connection, method, path, body):
    if path == "/v1/models":
        return answer(connection, 200, {"data": [{"id": "small", "meta": {"n_params": 1000, "size": 2000}}, {"id": "other"}]})
    if path == "/v1/images/generations":
        width, height = map(int, (body.get("size") or "64x64").split("x"))
        return answer(connection, 200, {"created": 1, "data": [{"b64_json": picture(width, height, i)} for i in range(body["n"])]})
    words = ["Ja", ", naïve", " 🎈"]
    events = [{"choices": [{"delta": {"role": "assistant"}, "finish_reason": None}]}]
    events += [{"choices": [{"delta": {"content": word}, "finish_reason": None}]} for word in words]
    reason = "stop" if MISTAKE != "unknown ending" else "tool_calls"
    events += [{"choices": [{"delta": {}, "finish_reason": reason}]}, {"choices": [], "usage": {}}]
    return stream(connection, events, b"" if MISTAKE == "no last event" else b"data: [DONE]\n\n")


def serve(connection):
    try:
        reader = connection.makefile("rb")
        first = reader.readline().decode().split()
        if len(first) < 2:
            return
        method, path = first[:2]
        length = 0
        while (line := reader.readline().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = json.loads(reader.read(length)) if length else None
        if path == "/bodies":
            return answer(connection, 200, STATE["bodies"])
        if method == "POST" and body is not None:
            STATE["bodies"].append({"path": path, "body": body})
        if method == "POST" and WHERE in path and misbehave(connection):
            return
        for start, handler in (("/sdcpp/", sdcpp), ("/sdapi/", a1111), ("/v1/", openai), ("/", llama)):
            if path.startswith(start):
                return handler(connection, method, path, body)
    except (OSError, KeyError, ValueError) as error:
        sys.stderr.write(f"{error!r}\n")
    finally:
        connection.close()


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
