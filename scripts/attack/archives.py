"""Archives that lead out, grow, last, or are broken."""

import gzip
import io
import random
import struct
import time
import unicodedata
import zipfile
import zlib

from harness import tree


def raw_tar(entries, kind=b"0", link=b""):
    """A tar file of names as they are, which no library would write."""
    data = b""
    for name, content in entries:
        head = bytearray(512)
        head[0 : len(name)] = name
        head[100:124] = b"0000644\0000000000\0000000000\0"[:24]
        head[124:136] = b"%011o " % len(content)
        head[136:148] = b"00000000000 "
        head[148:156] = b" " * 8
        head[156:157] = b"5" if name.endswith(b"/") else kind if name != b"model_index.json" else b"0"
        if kind != b"0":
            head[157 : 157 + len(link)] = link
        head[257:265] = b"ustar\00000"
        head[148:156] = b"%06o\0 " % sum(head)
        data += bytes(head) + content + bytes(-len(content) % 512)
    return data + bytes(1024)


def raw_zip(entries, flags=0x800):
    """A zip file of names as they are, not packed."""
    data, directory = b"", b""
    for name, content in entries:
        crc, size = zlib.crc32(content), len(content)
        fields = struct.pack("<HHHHHIIIHH", 20, flags, 0, 0, 33, crc, size, size, len(name), 0)
        directory += b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(data)) + name
        data += b"PK\3\4" + fields + name + content
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, len(entries) & 0xFFFF, len(entries) & 0xFFFF, len(directory), len(data), 0)
    return data + directory + end


INDEX = (b"model_index.json", b"{}")
NAMES = [
    "../evil", "a/../../evil", "/tmp/genbench-attack-evil", "../\u0301evil", "a/\u0301b", "\u0301", "\u0600/x", "./../evil", ".//evil",
    "a\\..\\evil", "C:evil", "a\x7f", "a\nb", "a//b", "..", "a/..", "\u2025/evil/../../../evil",
]


def attack(harness):
    def attempt(row, name, content, ending, allowed, timeout=60, present=()):
        outer = harness.place()
        (outer / "source").mkdir()
        file = outer / "source" / ("m" + ending)
        file.write_bytes(content)
        store = outer / "store"
        harness.run(store, "models", "register", "m", file)
        before = tree(outer) - tree(store)
        result = harness.run(store, "models", "download", "m", timeout=timeout)
        extra = []
        after = {path for path in tree(outer) if not path.startswith("store/") and path != "store"}
        if after - before:
            extra.append(f"outside: {sorted(after - before)[:3]}")
        if any("evil" in path for path in tree(harness.folder) if "store-source" not in path):
            extra.append("an evil file")
        installed = [path for path in (store / "models").rglob("receipt.json")]
        if result.code != 0 and installed:
            extra.append("something was installed")
        for path in present:
            if result.code == 0 and not any(unicodedata.normalize("NFC", found).endswith(path) for found in tree(store)):
                extra.append(f"{path} is missing")
        harness.judge(row, name, result, allowed, extra)
        return result

    row = harness.row("archives", "names that lead out")
    for name in NAMES[:: 5 if harness.is_quick else 1]:
        raw = name.encode()
        attempt(row, f"zip {name!r}", raw_zip([INDEX, (raw, b"bad")]), ".zip", [65])
        attempt(row, f"tar {name!r}", raw_tar([INDEX, (raw, b"bad")]), ".tar", [65])

    row = harness.row("archives", "links, devices, pipes")
    for kind in b"123467":
        for link in (b"/etc", b"model_index.json") if kind in b"12" else (b"",):
            attempt(row, f"kind {chr(kind)} {link}", raw_tar([INDEX, (b"x", b"")], bytes([kind]), link), ".tar", [65, 0] if kind == ord("7") else [65])

    row = harness.row("archives", "names in the way")
    for entries in ([(b"a", b"x"), (b"a/b", b"y")], [(b"a/b", b"y"), (b"a", b"x")], [(b"A", b"x"), (b"a", b"y")], [("\u00e9".encode(), b"x"), ("e\u0301".encode(), b"y")], [INDEX]):
        attempt(row, str(entries), raw_tar([INDEX] + entries), ".tar", [65])
        attempt(row, str(entries), raw_zip([INDEX] + entries), ".zip", [65])

    row = harness.row("archives", "names in UTF-8, in every locale")
    for names in (["gewicht-\u00e4.bin"], ["\u65e5\u672c/\u8a9e.bin"], ["e\u0301.txt"]):
        entries = [INDEX] + [(name.encode(), b"x") for name in names]
        attempt(row, f"zip {names}", raw_zip(entries), ".zip", [0], present=[unicodedata.normalize("NFC", name) for name in names])
        attempt(row, f"zip without mark {names}", raw_zip(entries, 0), ".zip", [0])
        attempt(row, f"tar {names}", raw_tar(entries), ".tar", [0], present=[unicodedata.normalize("NFC", name) for name in names])

    row = harness.row("archives", "bombs")
    zeros = gzip.compress(raw_tar([INDEX, (b"zeros", bytes(200 << 20))]), 1)
    attempt(row, "zeros", zeros, ".tar.gz", [65])
    zeros = gzip.compress(raw_tar([INDEX, (b"__MACOSX/._zeros", bytes(200 << 20))]), 1)
    attempt(row, "zeros that aren't kept", zeros, ".tar.gz", [65])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model_index.json", "{}")
        archive.writestr("zeros", bytes(200 << 20))
    attempt(row, "zip", buffer.getvalue(), ".zip", [65])
    sparse = bytearray(raw_tar([INDEX, (b"x", b"")]))
    attempt(row, "size that isn't there", bytes(sparse[:1024]) + raw_tar([(b"y", b"")]).replace(b"00000000000 ", b"77777777777 ", 1), ".tar", [65])
    large = bytearray(raw_zip([INDEX]))
    large[-6:-2] = struct.pack("<I", 0)
    attempt(row, "directory of 40 MB", random.Random(1).randbytes(40 << 20) + bytes(large), ".zip", [65])

    row = harness.row("archives", "many entries")
    times = []
    for count in (1000, 16_000, 99_998, 100_001, 400_000) if not harness.is_quick else (1000, 16_000):
        entries = [INDEX] + [(b"d/%d" % number, b"") for number in range(count)]
        for ending, content in ((".tar", raw_tar_many(entries)), (".zip", raw_zip(entries))):
            result = attempt(row, f"{ending} {count}", content, ending, [0] if count < 100_000 else [65], timeout=300)
            times.append(f"{ending} {count}: {result.seconds:.1f} s")
    row.note = "; ".join(times)

    row = harness.row("archives", "broken at random")
    good = {".zip": raw_zip([INDEX, (b"w.bin", bytes(range(256)) * 40)]), ".tar": raw_tar([INDEX, (b"w.bin", bytes(range(256)) * 40)])}
    good[".tar.gz"] = gzip.compress(good[".tar"])
    chance = random.Random(7)
    for number in range(harness.count(60)):
        ending = chance.choice(sorted(good))
        content = bytearray(good[ending])
        if number % 2:
            content = content[: chance.randrange(len(content))]
        for _ in range(chance.randrange(1, 6)):
            if content:
                content[chance.randrange(len(content))] = chance.randrange(256)
        attempt(row, f"{ending} {number}", bytes(content), ending, [0, 65])

    row = harness.row("archives", "signal while it's unpacked")
    entries = [INDEX] + [(b"d/%d" % number, b"") for number in range(90_000)]
    content = raw_tar_many(entries)
    waits = []
    for number in range(harness.count(10)):
        outer = harness.place()
        (outer / "m.tar").write_bytes(content)
        store = outer / "store"
        harness.run(store, "models", "register", "m", outer / "m.tar")
        running = harness.begin(store, "models", "download", "m")
        limit = time.monotonic() + 60
        while time.monotonic() < limit and not any(store.glob("partial/*/unpacked/d/*")):
            time.sleep(0.02)
        sent = time.monotonic()
        running.send(2)
        result = running.finish(60)
        waits.append(time.monotonic() - sent)
        harness.judge(row, str(number), result, [130, 0])
    waits.sort()
    row.note = f"from the signal to the end: median {waits[len(waits) // 2] * 1000:.0f} ms, longest {waits[-1] * 1000:.0f} ms"


def raw_tar_many(entries):
    """The same as raw_tar, in linear time."""
    return b"".join(raw_tar([entry])[:-1024] for entry in entries) + bytes(1024)


