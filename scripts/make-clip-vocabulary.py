#!/usr/bin/env python3
"""Write CLIP's vocabulary as Hugging Face lays it out: vocab.json and merges.txt.

Source: bpe_simple_vocab_16e6.txt.gz of OpenAI's CLIP (MIT licence), as the PyPI package open-clip-torch 3.3.0 carries it.
All five CLIP tokenizer folders of Stable Diffusion 1.5, 2.x and XL hold these very files (the MD5 sums below).

    python scripts/make-clip-vocabulary.py [FOLDER]        default: Fixtures/Models/clip-vocabulary
"""

import gzip
import hashlib
import importlib.metadata
import json
import pathlib
import sys

PACKAGE, VERSION = "open_clip_torch", "3.3.0"
MERGE_COUNT = 49152 - 256 - 2
MD5 = {"vocab.json": "a3933521163a0e76cee6094f1d72a9cc", "merges.txt": "d2bc1079"}


def byte_alphabet() -> list[str]:
    """The printable stand-ins of the 256 bytes, in vocabulary order: printable bytes first, the others after them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]


def main() -> None:
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "Fixtures/Models/clip-vocabulary")
    distribution = importlib.metadata.distribution(PACKAGE)
    if distribution.version != VERSION:
        sys.exit(f"{PACKAGE} is {distribution.version}; this script is written for {VERSION}")
    source = pathlib.Path(distribution.locate_file("open_clip/bpe_simple_vocab_16e6.txt.gz"))
    merges = gzip.decompress(source.read_bytes()).decode().split("\n")[1 : 1 + MERGE_COUNT]

    alphabet = byte_alphabet()
    tokens = alphabet + [symbol + "</w>" for symbol in alphabet]
    tokens += ["".join(merge.split()) for merge in merges]
    tokens += ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: index for index, token in enumerate(tokens)}

    texts = {
        "vocab.json": json.dumps(vocabulary, ensure_ascii=False, sort_keys=True, indent=2, separators=(",", ": ")) + "\n",
        "merges.txt": "\n".join(["#version: 0.2", *merges]) + "\n",
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        digest = hashlib.md5(text.encode()).hexdigest()
        if not digest.startswith(MD5[name]):
            sys.exit(f"{name}: MD5 {digest}, expected {MD5[name]}…")
        (folder / name).write_text(text, encoding="utf-8", newline="")
        print(folder / name, len(text.encode()), "bytes", digest)


if __name__ == "__main__":
    main()
