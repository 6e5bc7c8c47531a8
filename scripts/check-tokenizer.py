#!/usr/bin/env python3
"""Compare `genbench tokenize --jsonl` with Hugging Face's tokenizers, far beyond the goldens of Fixtures/tokenizers.

    python scripts/check-tokenizer.py                                  CLIP: captions and random Unicode
    python scripts/check-tokenizer.py --all-code-points                and every code point in five surroundings
    python scripts/check-tokenizer.py --tokenizer FOLDER               a CLIP folder, or one with a byte-level tokenizer.json
    python scripts/check-tokenizer.py --tokenizer MODEL.gguf           the same vocabulary put into Hugging Face's library

Needs transformers, tokenizers, gguf (scripts/fixtures/requirements.txt) and a built genbench.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts/fixtures"))

import tokenizer_goldens as goldens  # noqa: E402
from tokenizers import AddedToken, Tokenizer, models  # noqa: E402

SURROUNDINGS = ["{}", "a{}b", "1{}", "!{}?", "'{0} \u0301{0}\u0327\u0301{0}", " {0}{0} \n{0} \n"]


def from_gguf(path):
    import gguf

    fields = gguf.GGUFReader(path).fields

    def contents(key):
        return fields["tokenizer.ggml." + key].contents()

    tokens, types = contents("tokens"), contents("token_type")
    vocabulary = {}
    for index, token in enumerate(tokens):
        vocabulary.setdefault(token, index)
    merges = [tuple(merge.split(" ")) for merge in contents("merges")]
    tokenizer = goldens.pipeline(Tokenizer(models.BPE(vocab=vocabulary, merges=merges)), contents("pre"))
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, types) if k == 3])
    tokenizer.add_tokens([AddedToken(t, special=False, normalized=False) for t, k in zip(tokens, types) if k == 4])
    return tokenizer


def oracle(path):
    if path == "clip":
        path = str(ROOT / "Fixtures/Models/clip-vocabulary")
        files = {"vocab": path + "/vocab.json", "merges": path + "/merges.txt"}
        return goldens.CLIPTokenizer(**files)._tokenizer
    if path.endswith(".gguf"):
        return from_gguf(path)
    folder = pathlib.Path(path)
    file = folder if folder.is_file() else folder / "tokenizer.json"
    if file.exists() and json.loads(file.read_text())["model"].get("end_of_word_suffix") != "</w>":
        return Tokenizer.from_file(str(file))
    return goldens.CLIPTokenizer.from_pretrained(str(folder))._tokenizer


def genbench_ids(genbench, tokenizer, strings):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in strings)
    command = [genbench, "tokenize", "--tokenizer", tokenizer, "--jsonl", "-"]
    result = subprocess.run(command, input=lines, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}: {result.stderr.strip()}")
    return [json.loads(line)["ids"] for line in result.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", default="clip")
    parser.add_argument("--genbench", default=str(ROOT / ".build/release/genbench"))
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all-code-points", action="store_true")
    arguments = parser.parse_args()

    tokenizer = oracle(arguments.tokenizer)
    specials = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    specials += [token.upper() for token in specials]
    r = random.Random(arguments.seed)
    sets = {"captions and random Unicode": goldens.texts(r, arguments.count // 4, arguments.count, specials)}
    if arguments.all_code_points:
        sets |= {f"every code point in {s!a}": [s.format(chr(c)) for c in goldens.POINTS] for s in SURROUNDINGS}
    failed = False
    for name, strings in sets.items():
        expected = [encoding.ids for encoding in tokenizer.encode_batch(strings)]
        found = genbench_ids(arguments.genbench, arguments.tokenizer, strings)
        if len(found) != len(expected):
            sys.exit(f"{name}: {len(strings)} texts, {len(found)} answers")
        different = [index for index in range(len(strings)) if found[index] != expected[index]]
        failed = failed or bool(different)
        print(f"{name}: {len(strings)} texts, {len(different)} different", flush=True)
        for index in different[:5]:
            print(f"  {strings[index]!a}\n    expected {expected[index]}\n    found    {found[index]}")
    sys.exit(7 if failed else 0)


if __name__ == "__main__":
    main()
