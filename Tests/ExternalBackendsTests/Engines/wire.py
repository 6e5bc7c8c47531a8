"""Stands between genbench and an engine, and damages one place of what the engine says: `wire.py SEED ENGINE.py`."""

import os
import random
import re
import signal
import subprocess
import sys
import time

KINDS = ["cut", "drop", "twice", "garbage", "bit", "number", "kill", "stop", "close", "swap", "insert", "truncate", "long", "exit", "file"]
source = random.Random(int(sys.argv[1]))
kind = source.choice(KINDS)
# The lines of a whole talk: hello, clocks, load, the image.
place = source.randrange(0, 32)
sys.stderr.write(f"fault: {kind} at line {place}\n")
sys.stderr.flush()
engine = subprocess.Popen([sys.executable, sys.argv[2]], stdin=0, stdout=subprocess.PIPE)


def say(data):
    while data:
        data = data[os.write(1, data) :]


def damaged(line):
    body = line.rstrip(b"\n")
    at = source.randrange(len(body))
    if kind == "cut":
        return body[:at] + b"\n"
    if kind == "drop":
        return b""
    if kind == "twice":
        return line + line
    if kind == "garbage":
        return bytes(source.randrange(1, 256) for _ in range(source.randrange(1, 200))).replace(b"\n", b" ") + b"\n" + line
    if kind == "bit":
        return body[:at] + bytes([body[at] ^ (1 << source.randrange(8))]) + body[at + 1 :] + b"\n"
    if kind == "number":
        return re.sub(rb"\d+", lambda _: str(source.choice([-1, 0, 1 << 31, 1 << 63, 1 << 70, 10**40])).encode(), line, count=source.randrange(1, 4))
    if kind == "kill":
        engine.send_signal(signal.SIGKILL)
        return line
    if kind == "stop":
        engine.send_signal(signal.SIGSTOP)
        return body[:at]
    if kind == "close":
        say(body[:at])
        os.close(1)
        time.sleep(3600)
    if kind == "swap":
        return re.sub(rb'"type": "\w+"', b'"type": "' + source.choice([b"ok", b"images", b"welcome", b"progress", b"error", b"token"]) + b'"', line)
    if kind == "insert":
        return source.choice([b'{"type": "ok", "id": 999}\n', b"\n", b"null\n", b'{"id": 3}\n', b"\0\n", b"[" * 200 + b"\n"]) + line
    if kind == "truncate":
        say(body[:at])
        os._exit(0)
    if kind == "long":
        return b'{"type": "warning", "id": 1, "message": "' + b"x" * (1 << 21) + b'"}\n' + line
    if kind == "exit":
        os._exit(source.randrange(256))
    if kind == "file":
        return re.sub(rb'"file": "[^"]*"', b'"file": "' + source.choice([b"../x", b"/etc/hostname", b"", b"none", b".", b"a/b"]) + b'"', line)
    return line


count = 0
for line in engine.stdout:
    say(damaged(line) if count == place else line)
    count += 1
engine.wait()
if kind == "kill" and count >= place:
    os._exit(9)
