"""Kills at any moment, then the same command again."""

import random
import signal
import threading
import time

from harness import tree
from servers import Server

FILES = {f"/{number}.bin": random.Random(number).randbytes(300_000) for number in range(4)}


def slow(head, count):
    """Sends a file in pieces, with ranges."""
    path = head.split(" ")[1]
    content, start = FILES[path], 0
    for line in head.lower().split("\r\n"):
        if line.startswith("range: bytes="):
            start = int(line[13:].rstrip("-"))
    status = f"206 P\r\nContent-Range: bytes {start}-{len(content) - 1}/{len(content)}" if start else "200 OK"
    parts = [f'HTTP/1.1 {status}\r\nETag: "x"\r\nContent-Length: {len(content) - start}\r\nConnection: close\r\n\r\n']
    if head.startswith("HEAD"):
        return parts
    pieces = [content[place : place + 20_000] for place in range(start, len(content), 20_000)]
    return Paced(parts + pieces)


class Paced(list):
    """Parts with a moment between them."""

    def __iter__(self):
        for part in list.__iter__(self):
            yield part
            time.sleep(0.004)


def attack(harness):
    chance = random.Random(11)
    downloads(harness, chance)
    removals(harness, chance)
    registrations(harness, chance)


def kill(running, seconds):
    timer = threading.Timer(seconds, lambda: running.send(signal.SIGKILL))
    timer.start()
    result = running.finish(60)
    timer.cancel()
    return result


def downloads(harness, chance):
    row = harness.row("kills", "download, then again")
    kept = 0
    span = None
    for number in range(harness.count(60)):
        server = Server(slow)
        store = harness.place() / "store"
        harness.run(store, "models", "register", "m", *[server.url(path) for path in FILES])
        if span is None:
            span = harness.run(store, "models", "download", "m").seconds
            harness.run(store, "models", "remove", "m", "--keep-registration")
        extra = []
        for _ in range(chance.randrange(1, 4)):
            kill(harness.begin(store, "models", "download", "m"), chance.uniform(0.02, span))
        begun = sum(path.stat().st_size for path in (store / "partial").rglob("*") if path.is_file())
        asked = len(server.requests)
        result = harness.run(store, "models", "download", "m")
        for path, content in FILES.items():
            found = [place for place in (store / "models").rglob(path[1:]) if place.is_file()]
            if len(found) != 1 or found[0].read_bytes() != content:
                extra.append(f"{path} isn't as it was sent")
        if begun > 400_000 and any("range:" in head.lower() for head in server.requests[asked:]):
            kept += 1
        if harness.run(store, "models", "verify", "m").code != 0:
            extra.append("verify finds damage")
        extra += leftovers(harness, store)
        harness.judge(row, str(number), result, [0], extra)
        server.stop()
    row.note = f"{kept} went on with more than 400 kB that were here"


def leftovers(harness, store):
    """What is still there after cleaning."""
    harness.run(store, "doctor", "--clean")
    left = [path for path in tree(store) if path.startswith(("trash/", "partial/")) or path.endswith(".tmp")]
    return [f"left behind: {left[:3]}"] if left else []


def removals(harness, chance):
    row = harness.row("kills", "remove, then again")
    for number in range(harness.count(60)):
        outer = harness.place()
        source = outer / "source"
        source.mkdir()
        (source / "model_index.json").write_text("{}")
        for file in range(400):
            (source / f"{file}.bin").write_bytes(b"x" * 100)
        store = outer / "store"
        harness.run(store, "models", "register", "m", source)
        harness.run(store, "models", "register", "other", source)
        harness.run(store, "models", "download", "m")
        kill(harness.begin(store, "models", "remove", "m"), chance.uniform(0.01, 0.4))
        result = harness.run(store, "models", "remove", "m")
        extra = []
        if harness.run(store, "models", "download", "other").code != 0:
            extra.append("another model is lost")
        if harness.run(store, "models", "verify").code != 0:
            extra.append("verify finds damage")
        extra += leftovers(harness, store)
        if len(list((store / "models").iterdir())) != 1:
            extra.append("the files are still there")
        harness.judge(row, str(number), result, [0, 66], extra)


def registrations(harness, chance):
    row = harness.row("kills", "register, then again")
    for number in range(harness.count(60)):
        store = harness.place() / "store"
        acknowledged = []
        for index in range(4):
            name = f"m{index}"
            running = harness.begin(store, "models", "register", name, f"http://u:p{index}@127.0.0.1:1/{name}.bin")
            if kill(running, chance.uniform(0.01, 0.3)).code == 0:
                acknowledged.append(name)
        result = harness.run(store, "models", "register", "last", "http://127.0.0.1:1/x.bin")
        listed = harness.run(store, "models", "list", "--json").out
        extra = [f"{name} is lost" for name in acknowledged if f'"{name}"' not in listed]
        extra += leftovers(harness, store)
        harness.judge(row, str(number), result, [0], extra)
