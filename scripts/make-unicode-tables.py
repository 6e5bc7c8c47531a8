#!/usr/bin/env python3
"""Write Sources/Tokenizers/Unicode/UnicodeTables.swift: the character data by which Hugging Face's tokenizers work.

The PyPI package tokenizers 0.23.3 takes its character classes from Oniguruma, its lowercase from Rust's standard library and
its normal form C from a crate of an older Unicode. Three Unicode versions at once, and none of them that of the running
system; so the tables are read out of the package itself, one code point at a time, instead of out of one Unicode version.

    python scripts/make-unicode-tables.py
"""

import importlib.metadata
import pathlib
import sys
import unicodedata

from tokenizers import Regex, normalizers, pre_tokenizers

VERSION = "0.23.3"
OUTPUT = pathlib.Path("Sources/Tokenizers/Unicode/UnicodeTables.swift")
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
HANGUL = range(0xAC00, 0xAC00 + 11172)

NFD, NFC, LOWERCASE = normalizers.NFD(), normalizers.NFC(), normalizers.Lowercase()


def matching(pattern: str) -> list[int]:
    remove = normalizers.Replace(Regex(pattern), "")
    return [c for c in CODE_POINTS if remove.normalize_str(chr(c)) == ""]


def split_as_digits() -> list[int]:
    digits = pre_tokenizers.Digits(individual_digits=True)
    return [c for c in CODE_POINTS if len(digits.pre_tokenize_str("a" + chr(c))) == 2]


def ranges(points: list[int]) -> list[int]:
    """Sorted code points as first, last, first, last, …"""
    flat: list[int] = []
    for point in points:
        if flat and flat[-1] == point - 1:
            flat[-1] = point
        else:
            flat += [point, point]
    return flat


def lowercase_runs() -> list[int]:
    """first, last, step, offset (modulo 2^32): every step-th code point of first…last plus the offset is its lowercase."""
    runs: list[list[int]] = []
    for c in CODE_POINTS:
        lower = LOWERCASE.normalize_str(chr(c))
        if lower == chr(c):
            continue
        if len(lower) != 1:
            assert (c, lower) == (0x130, "i\u0307"), hex(c)  # written out in Lowercase.swift
            continue
        offset = (ord(lower) - c) % (1 << 32)
        if runs and runs[-1][3] == offset:
            first, last, step, _ = runs[-1]
            if first == last and c - last in (1, 2):
                runs[-1][1:3] = [c, c - last]
                continue
            if first != last and c - last == step:
                runs[-1][1] = c
                continue
        runs.append([c, c, 1, offset])
    return [number for run in runs for number in run]


def combining_classes() -> list[int]:
    """first, last, class. The class of a mark shows in how it changes places with marks of known class."""
    marks = [c for c in CODE_POINTS if unicodedata.combining(chr(c)) and len(NFD.normalize_str(chr(c))) == 1]
    by_class: dict[int, list[int]] = {}
    for mark in marks:
        by_class.setdefault(unicodedata.combining(chr(mark)), []).append(mark)

    def swaps(first: int, second: int) -> bool:
        return NFD.normalize_str(chr(first) + chr(second)) == chr(second) + chr(first)

    low, high = 0x334, 0x345  # classes 1 and 240, the lowest and the highest
    moves = {m: swaps(m, low) or swaps(high, m) for m in marks}
    known = {m: unicodedata.combining(chr(m)) if moves[m] else 0 for m in marks}
    probes = [next(m for m in members if moves[m]) for members in by_class.values() if any(moves[m] for m in members)]
    for mark in marks:
        for probe in probes:
            if mark != probe:
                assert swaps(mark, probe) == (known[mark] > known[probe]), (hex(mark), hex(probe))
    for c in CODE_POINTS:
        if c not in known and len(NFD.normalize_str(chr(c))) == 1:
            assert not swaps(c, low) and not swaps(high, c), hex(c)

    flat: list[int] = []
    for mark in marks:
        if known[mark] == 0:
            continue
        if flat and flat[-2] == mark - 1 and flat[-1] == known[mark]:
            flat[-2] = mark
        else:
            flat += [mark, mark, known[mark]]
    return flat


def canonical_mappings() -> tuple[list[int], list[int]]:
    """Pairs that compose (composite, first, second) and the other decompositions (code point, length, scalars…)."""
    pairs: list[int] = []
    others: list[int] = []
    for c in CODE_POINTS:
        if c in HANGUL:
            continue
        full = NFD.normalize_str(chr(c))
        if full == chr(c):
            continue
        head = NFC.normalize_str(full[:-1])
        if len(full) > 1 and len(head) == 1 and NFC.normalize_str(full) == chr(c):
            pairs += [c, ord(head), ord(full[-1])]
        else:
            others += [c, len(full), *map(ord, full)]
    return pairs, others


def literal(name: str, summary: str, numbers: list[int]) -> str:
    lines, line = [], "   "
    for number in numbers:
        word = f" 0x{number:X},"
        if len(line) + len(word) > 120:
            lines.append(line)
            line = "   "
        line += word
    lines.append(line)
    body = "\n".join(lines)
    return f"  /// {summary}\n  static let {name}: [UInt32] = [\n{body}\n  ]\n"


def main() -> None:
    if importlib.metadata.version("tokenizers") != VERSION:
        sys.exit(f"this script is written for tokenizers {VERSION}")
    letters, numbers, spaces = matching(r"\p{L}"), matching(r"\p{N}"), matching(r"\s")
    more_digits = sorted(set(split_as_digits()) - set(numbers))
    assert set(numbers) <= set(split_as_digits())
    pairs, others = canonical_mappings()
    tables = [
        literal("letters", r"Oniguruma's `\p{L}`: first and last of each range.", ranges(letters)),
        literal("numbers", r"Oniguruma's `\p{N}`: first and last of each range.", ranges(numbers)),
        literal("otherDigits", r"What Rust's `char::is_numeric` adds to `\p{N}`.", ranges(more_digits)),
        literal("whitespace", r"`\s`: first and last of each range.", ranges(spaces)),
        literal("lowercaseRuns", "First, last, step and offset (modulo 2³²) of each run of lowercase mappings.", lowercase_runs()),
        literal("combiningClasses", "First, last and canonical combining class of each range.", combining_classes()),
        literal("compositions", "Composite, first and second of each canonical composition without Hangul.", pairs),
        literal("decompositions", "Code point, length and scalars of each decomposition that does not compose again.", others),
    ]
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(
        "// swift-format-ignore-file\n"
        f"// Made by scripts/make-unicode-tables.py from the PyPI package tokenizers {VERSION}; not edited by hand.\n\n"
        "/// The character data by which Hugging Face's tokenizers work, read out of the package.\n"
        "enum UnicodeTables {\n" + "\n".join(tables) + "}\n",
        encoding="utf-8",
    )
    print(OUTPUT, OUTPUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
