"""Images that are small as files and large, long or nothing as images."""

import os
import random
import struct
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, rows=True, channels=3):
    packer = zlib.compressobj(9)
    line = b"\0" + bytes(channels * width) if rows else b""
    data = b"".join(packer.compress(line) for _ in range(height if rows else 0)) + packer.flush()
    kind = 2 if channels == 3 else 6
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def jpeg(side, scans):
    data = b"\xff\xd8\xff\xdb\0\x43\0" + bytes([1] * 64) + b"\xff\xc2\0\x0b\x08" + struct.pack(">HH", side, side) + b"\1\1\x11\0"
    data += b"\xff\xc4\0\x14\0\1" + bytes(16) + b"\xff\xc4\0\x14\x10\1" + bytes(16)
    for number in range(scans):
        band = b"\0\0\0" if number == 0 else b"\1\1\0"
        data += b"\xff\xda\0\x08\1\1\0" + band + bytes(8)
    return data + b"\xff\xd9"


def attack(harness):
    store = harness.place() / "store"
    row = harness.row("images", "start images")
    folder = harness.place()

    def attempt(name, content, allowed=(64, 65)):
        file = folder / "image"
        file.write_bytes(content)
        words = ["generate", "--variant", "sd15", "--prompt", "x", "--steps", "1", "--image", file, "--output", folder / "out.png"]
        harness.judge(row, name, harness.run(store, *words, timeout=60), list(allowed))

    for size in ((10_900, 11_000), (11_000, 10_900), (8193, 8), (32_768, 3600), (32_769, 1)):
        attempt(f"png {size}", png(*size))
    for size in ((2**31 - 1, 2**31 - 1), (0xFFFFFFFF, 1), (0, 5), (65_536, 65_536)):
        attempt(f"png that says {size}", png(*size, rows=False))
    for side, scans in ((8, 501), (8, 10_000), (8000, 100), (8, 100_000), (65_000, 2)):
        attempt(f"jpeg {side} {scans} scans", jpeg(side, scans))
    attempt("many chunks", b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) + chunk(b"teXt", b"") * 300_000)
    attempt("empty", b"")
    attempt("gif", b"GIF89a" + bytes(100))
    file = folder / "large"
    file.write_bytes(b"nothing at all")
    os.truncate(file, 300 << 20)
    words = ["generate", "--variant", "sd15", "--prompt", "x", "--steps", "1", "--image", file, "--output", folder / "out.png"]
    harness.judge(row, "large and nothing", harness.run(store, *words), [64, 65])
    chance = random.Random(5)
    good = png(64, 64)
    for number in range(harness.count(30)):
        content = bytearray(good)
        if number % 2:
            content = content[: chance.randrange(1, len(content))]
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        attempt(f"broken {number}", bytes(content), (65, 0))
