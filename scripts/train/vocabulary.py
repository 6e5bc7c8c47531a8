#!/usr/bin/env python3
"""Prunes CLIP's vocabulary for the small models: the commonest merges and those that the world's words need.

Merges keep their order, so every word of the world is cut as the full vocabulary cuts it; others fall into more pieces.
"!" stays 0 and the end of text stays the largest id, as the published models rely on.

    python scripts/train/vocabulary.py          writes Fixtures/Models/clip-vocabulary-small
"""

import functools
import json

import training
import world

FOLDER = training.MODELS / "clip-vocabulary-small"
COMMON = 1200  # of the first merges, which build one another
EXTRA_WORDS = """photo painting person people man woman child dog cat bird horse fish tree flower house car boat train plane road
mountain river sea sky sun moon cloud night day city forest snow rain bright dark light brown cyan gold silver shape color colour
hexagon diamond oval cross line beautiful high quality detailed style art blurry ugly bad low""".split()


def pieces(word, ranks):
    """The merges that cutting one word uses."""
    parts = [*word[:-1], word[-1] + "</w>"]
    used = []
    while len(parts) > 1:
        pairs = [(ranks.get((a, b), 1 << 30), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        rank, _ = min(pairs)
        if rank == 1 << 30:
            break
        used.append(rank)
        merged, i = [], 0
        while i < len(parts):
            if i + 1 < len(parts) and ranks.get((parts[i], parts[i + 1])) == rank:
                merged.append(parts[i] + parts[i + 1])
                i += 2
            else:
                merged.append(parts[i])
                i += 1
        parts = merged
    return used


def main():
    full = training.MODELS / "clip-vocabulary"
    merges = [tuple(line.split()) for line in (full / "merges.txt").read_text().split("\n")[1:] if line]
    ranks = {merge: rank for rank, merge in enumerate(merges)}
    alphabet = [token for token, index in sorted(json.loads((full / "vocab.json").read_text()).items(), key=lambda item: item[1])][:512]
    kept = set(range(COMMON))
    for word in [*world.all_words(), *EXTRA_WORDS]:
        kept.update(pieces(word, ranks))
    kept = [merges[rank] for rank in sorted(kept)]
    tokens = alphabet + ["".join(merge) for merge in kept] + ["<|startoftext|>", "<|endoftext|>"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    assert len(vocabulary) == len(tokens)
    (FOLDER / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False, indent=0, separators=(",", ": ")) + "\n")
    (FOLDER / "merges.txt").write_text("\n".join(["#version: 0.2", *(" ".join(merge) for merge in kept)]) + "\n")
    print(f"{len(tokens)} tokens")


@functools.cache
def tokenizer():
    from transformers import CLIPTokenizer

    return CLIPTokenizer(str(FOLDER / "vocab.json"), str(FOLDER / "merges.txt"))


@functools.cache
def word_ids(word):
    return tuple(tokenizer()(word, add_special_tokens=False).input_ids)


def encode(text, pad):
    """Exactly the tokenizer's 77 ids of a caption of the world, from cached words."""
    ids = [len(tokenizer()) - 2]
    for word in text.replace(",", " , ").split():
        ids += word_ids(word)
    ids = ids[:76] + [len(tokenizer()) - 1]
    return ids + [pad] * (77 - len(ids)), len(ids) - 1


if __name__ == "__main__":
    main()
