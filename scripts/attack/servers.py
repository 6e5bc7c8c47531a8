"""Servers that lie about lengths, redirect nowhere, send other things, or nothing."""

import random
import signal
import socket
import threading
import time

END = "Connection: close\r\n\r\n"
BODY = bytes(random.Random(1).randbytes(60_000))


class Server:
    """Sends each connection what a function makes of the request's head."""

    def __init__(self, answer):
        self.answer = answer
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.held, self.requests = [], []
        threading.Thread(target=self.serve, daemon=True).start()

    def url(self, path="/m.bin", user=""):
        return f"http://{user}127.0.0.1:{self.port}{path}"

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        head = b""
        try:
            while b"\r\n\r\n" not in head:
                data = connection.recv(4096)
                if not data:
                    break
                head += data
            text = head.decode("latin-1")
            self.requests.append(text)
            parts = self.answer(text, len(self.requests))
            for part in parts if isinstance(parts, list) else [parts]:
                if part is None:
                    self.held.append(connection)
                    return
                connection.sendall(part if isinstance(part, bytes) else part.encode("latin-1"))
            connection.close()
        except OSError:
            connection.close()

    def stop(self):
        self.listener.close()
        for connection in self.held:
            connection.close()


def whole(head=""):
    return [f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\n{head}{END}", BODY]


def faults():
    """(class, name, file name, answer, whether the file may be installed)."""
    found = []

    def add(kind, name, answer, good=False, file="m.bin"):
        found.append((kind, name, file, answer if callable(answer) else lambda head, count: answer, good))

    for status in (204, 205, 300, 301, 302, 303, 304, 305, 306, 307, 308, 400, 401, 403, 404, 408, 410, 416, 418, 425, 429, 500, 502, 503, 504, 600, 999):
        add("status", str(status), f"HTTP/1.1 {status} X\r\nContent-Length: 0\r\n{END}")
    for place in ("", " ", "http://", "//", "ht!tp:/:", "file:///etc/passwd", "ftp://u:secretword@h/x", "/m.bin", "http://127.0.0.1:1/x", "http://[::1", "\xff\xfe"):
        add("redirect", repr(place), f"HTTP/1.1 302 X\r\nLocation: {place}\r\nContent-Length: 0\r\n{END}")
    add("redirect", "endless", lambda head, count: f"HTTP/1.1 302 X\r\nLocation: /{count}\r\nContent-Length: 0\r\n{END}")
    add("redirect", "once", lambda head, count: f"HTTP/1.1 302 X\r\nLocation: /x\r\nContent-Length: 0\r\n{END}" if count == 1 else whole(), True)
    for length in ("0", "6000000000000000000", "9223372036854775295", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-1", "+5", "5, 6", "0x5", "1e3", "", "9" * 60):
        add("length", length[:24] or "empty", [f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n{END}", b"hello"])
    add("length", "short", [f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY) + 9}\r\n{END}", BODY])
    add("length", "none", [f"HTTP/1.1 200 OK\r\n{END}", BODY])
    add("length", "right", whole(), True)

    def resumed(head, count):
        if "range:" in head.lower():
            return f"HTTP/1.1 416 X\r\nContent-Range: bytes */30000\r\nContent-Length: 0\r\n{END}"
        return [f'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 260416\r\n{END}', BODY[:30000]]

    add("range", "416 with a part", resumed)
    for text in ("bytes 0-5/60000", "bytes 30000-29999/60000", "bytes 30000-59999/9223372036854775807", "bytes a-b/c", "", "bytes 30000-59999/1"):

        def wrong(head, count, text=text):
            if "range:" in head.lower():
                return [f"HTTP/1.1 206 X\r\nContent-Range: {text}\r\nContent-Length: 30000\r\n{END}", BODY[30000:]]
            return [f'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 60000\r\n{END}', BODY[:30000]]

        add("range", text or "none", wrong)
    chunked = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{END}"
    for body in ("3\r\nhel\r\n", "3\r\nhello\r\n0\r\n\r\n", "zz\r\n", "f" * 17 + "\r\n", "-1\r\n", "\r\n", "0\r\n\r\n", "1;" + "x" * 9000):
        add("chunks", repr(body[:20]), chunked + body)
    add("chunks", "right", [chunked + f"{len(BODY):x}\r\n", BODY, "\r\n0\r\nT: x\r\n\r\n"], True)
    for head in ("", "garbage\r\n\r\n", "HTTP/1.1 abc X\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 200", "HTTP/1.1 101 X\r\n\r\n", "HTTP/1.1 100 C\r\n\r\n" * 500, "HTTP/1.1 200 OK\r\n" + "X: y\r\n" * 50_000, "HTTP/1.1 200 " + "x" * 1_000_000, "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx", "\0" * 1000):
        add("head", repr(head[:24]), head)
    add("head", "interim", ["HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\n"] + whole(), True)
    add("head", "Latin-1", ["HTTP/1.1 200 D\xe9j\xe0\r\nX-N: \xfc\r\n"] + [f"Content-Length: {len(BODY)}\r\n{END}", BODY], True)
    for text in ("nan", "-5", "1e300", "9" * 30, "Sun, 06 Nov 1994 08:49:37 GMT", "soon"):
        add("retry-after", text[:20], f"HTTP/1.1 503 X\r\nRetry-After: {text}\r\nContent-Length: 0\r\n{END}")
    for file, content in (
        ("m.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), ("m.gguf", b"<!DOCTYPE html><title>x"),
        ("m.safetensors", b'{"error": "restricted"}'), ("m.gguf", b"\x1f\x8b\x08\0\0\0\0\0\0\0"), ("m.safetensors", b"PK\3\4" + bytes(30)),
        ("m.safetensors", b"\x80\x02}q\0"), ("m.gguf", b"GGUF\3\0\0\0"), ("m.gguf", b"Entry not found"), ("m.safetensors", b"<?xml version='1.0'?>"),
    ):
        add("content", f"{file} {content[:12]!r}", [f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n{END}", content], file=file)
    return found


def attack(harness):
    rows = {}
    all_faults = faults()
    if harness.is_quick:
        all_faults = all_faults[::10]
    for kind, name, file, answer, good in all_faults:
        row = rows.get(kind) or rows.setdefault(kind, harness.row("servers", kind))
        server = Server(answer)
        outer = harness.place()
        store = outer / "store"
        harness.run(store, "models", "register", "org/m", server.url("/" + file, "ann:pass123word@") + "?token=abc123secret")
        result = harness.run(store, "models", "download", "org/m", "--retries", "1", timeout=90)
        listed = harness.run(store, "models", "list", "--json")
        extra = []
        files = [path for path in (store / "models").rglob(file) if path.is_file()]
        if good and (len(files) != 1 or files[0].read_bytes() != BODY):
            extra.append("the file isn't there as it was sent")
        if not good and files:
            extra.append("something was installed")
        if [path.name for path in outer.iterdir()] != ["store"]:
            extra.append("something lies beside the store")
        index = (store / "index.json").read_text()
        shown = result.out + result.err + listed.out + listed.err + index
        if "pass123word" in shown or "abc123secret" in shown or "secretword" in shown:
            extra.append("a password is shown")
        secrets = store / "secrets.json"
        if not secrets.exists() or secrets.stat().st_mode & 0o777 != 0o600:
            extra.append("secrets.json isn't there with mode 0600")
        harness.judge(row, name, result, [0] if good else [65, 69, 73], extra)
        server.stop()
    silence(harness)


def silence(harness):
    """Servers that stop in the middle: a signal ends it at once."""
    row = harness.row("servers", "signal while the server is silent")
    waits = []
    for number in range(harness.count(20)):
        part = [None] if number % 2 else [f"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n{END}", b"x" * 1000, None]
        server = Server(lambda head, count: part)
        store = harness.place() / "store"
        harness.run(store, "models", "register", "m", server.url())
        running = harness.begin(store, "models", "download", "m")
        limit = time.monotonic() + 30
        while not server.requests and time.monotonic() < limit:
            time.sleep(0.01)
        time.sleep(0.1)
        sent = time.monotonic()
        running.send(signal.SIGTERM if number % 3 == 0 else signal.SIGINT)
        result = running.finish(30)
        waits.append(time.monotonic() - sent)
        harness.judge(row, f"{number}", result, [143 if number % 3 == 0 else 130])
        server.stop()
    waits.sort()
    row.note = f"from the signal to the end: median {waits[len(waits) // 2] * 1000:.0f} ms, longest {waits[-1] * 1000:.0f} ms"
