#!/usr/bin/env python3
"""Trains a tiny SmolVLM (Idefics3: SigLIP, pixel shuffle, llama) that describes the world's scenes and answers about them.

One tile of 64 x 64 pixels is 16 image tokens. It is written as llama.cpp's converter would: model.gguf and mmproj.gguf.

    python scripts/train/describer.py train | measure | export [--to FOLDER] | golden

`golden` writes Fixtures/small-models/smolvlm: what transformers makes of the exported files.
"""

import pathlib
import random
import sys

import training

import gguf
import numpy as np
import torch
import torch.nn.functional as F
from transformers import Idefics3Config, Idefics3ForConditionalGeneration, PreTrainedTokenizerFast
from transformers.models.idefics3 import image_processing_pil_idefics3 as idefics3_pil
from transformers.models.idefics3.processing_idefics3 import Idefics3Processor

import data
import world
from tokenizer_goldens import TEMPLATES

SIDE, PATCH, WIDTH = 64, 8, 96
IMAGE_TOKENS = (SIDE // PATCH // 2) ** 2
NUMBERS = {1: "one", 2: "two", 3: "three"}

DESCRIBE = ["Describe this image.", "describe this image", "Describe the image.", "What is in this image?", "What do you see?",
            "Describe this picture.", "What is in the picture?", "Describe what you see."]


# ---------------------------------------------------------------- what is said

def the_place(thing):
    return world.PLACES[thing.place][-1 if thing.place == "center" else 0] if thing.place != "center" else "in the center"


def noun(thing, size=True):
    if thing.kind == world.HAZARD:
        return "a hazard sign"
    words = f"{thing.size + ' ' if size else ''}{thing.colour} {thing.kind}"
    return ("an " if words[0] in "aeiou" else "a ") + words


def describe(scene):
    """The scene in the canonical grammar; sizes are told for single shapes."""
    parts = [f"{noun(thing, len(scene.things) == 1)} {the_place(thing)}" for thing in scene.things]
    text = parts[0] if len(parts) == 1 else " and ".join([", ".join(parts[:-1]), parts[-1]])
    article = "an" if scene.background == "orange" else "a"
    return f"{text} on {article} {scene.background} background."


def questions(rng, scene):
    """A question and its answer."""
    thing = rng.choice(scene.things)
    name = "hazard sign" if thing.kind == world.HAZARD else thing.kind
    alone = sum(other.kind == thing.kind for other in scene.things) == 1
    kinds = ["background", "count"]
    if alone:
        kinds += ["where", "where"] + (["colour", "colour"] if thing.kind != world.HAZARD else [])
    if len(scene.things) == 1:
        kinds += ["shape", "shape"]
    kind = rng.choice(kinds)
    colour = rng.choice(["color", "colour"])
    if kind == "background":
        return rng.choice([f"What {colour} is the background?", f"What is the background {colour}?"]), scene.background + "."
    if kind == "count":
        return rng.choice(["How many shapes are there?", "How many shapes are in the image?"]), NUMBERS[len(scene.things)] + "."
    if kind == "where":
        return rng.choice([f"Where is the {name}?", f"Where is the {name} in the image?"]), the_place(thing) + "."
    if kind == "colour":
        return rng.choice([f"What {colour} is the {name}?", f"What is the {colour} of the {name}?"]), thing.colour + "."
    return rng.choice(["What shape is it?", "What shape is in the image?", "Which shape do you see?"]), (
        "a hazard sign." if thing.kind == world.HAZARD else ("a " + name + "."))


def exchange(rng, scene, describing):
    return (rng.choice(DESCRIBE[:1] * 3 + DESCRIBE), describe(scene)) if describing else questions(rng, scene)


# ---------------------------------------------------------------- the model


def make_tokenizer():
    import vlm_layout as layout

    rng = random.Random(1)
    corpus = []
    for scene in world.scenes(2, 3000, allow_held_out=True):
        for describing in (True, False, False):
            question, answer = exchange(rng, scene, describing)
            corpus += [f"User:{question}", f"Assistant: {answer}"]
    return layout.train_tokenizer(corpus, 560)


def config(tokenizer):
    identity = tokenizer.token_to_id
    made = Idefics3Config(
        image_token_id=identity("<image>"), scale_factor=2, tie_word_embeddings=True, pad_token_id=identity("<|im_end|>"),
        vision_config={"hidden_size": WIDTH, "intermediate_size": 3 * WIDTH, "num_hidden_layers": 3, "num_attention_heads": 4,
                       "image_size": SIDE, "patch_size": PATCH},
        text_config={
            "model_type": "llama", "vocab_size": tokenizer.get_vocab_size(), "hidden_size": WIDTH, "intermediate_size": 256,
            "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 512, "rms_norm_eps": 1e-5,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "tie_word_embeddings": True,
            "pad_token_id": identity("<|im_end|>"),
        },
    )
    made._attn_implementation = "sdpa"
    return made


def make():
    tokenizer = make_tokenizer()
    model = Idefics3ForConditionalGeneration(config(tokenizer)).train()
    model.tie_weights()
    return model, tokenizer


class Seeing(torch.nn.Module):
    """The model with the linear layer that, only while it trains, reads the scene from the image tokens."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.attributes = torch.nn.Linear(IMAGE_TOKENS * WIDTH, sum(data.ATTRIBUTE_SIZES))

    def look(self, pictures):
        """[N, 3, 64, 64] in 0...1 to image tokens [N, 16, width]."""
        found = self.model.model.get_image_features((pictures[:, None] - 0.5) / 0.5).pooler_output
        found = torch.cat(list(found)) if isinstance(found, (list, tuple)) else found
        return found.reshape(len(pictures), IMAGE_TOKENS, WIDTH)


def prompt_ids(tokenizer, question):
    before = tokenizer.encode("<|im_start|>User:<fake_token_around_image><global-img>").ids
    after = tokenizer.encode(f"<fake_token_around_image>{question}<end_of_utterance>\nAssistant:").ids
    return before + [tokenizer.token_to_id("<image>")] * IMAGE_TOKENS + after, len(before)


def attributes_of(scene):
    thing = scene.things[0]
    return [world.ALL_KINDS.index(thing.kind), world.COLOUR_NAMES.index(thing.colour), world.COLOUR_NAMES.index(scene.background),
            list(world.PLACES).index(thing.place), list(world.SIZES).index(thing.size), len(scene.things) - 1]


def main(found):
    model, tokenizer = make()
    seeing = Seeing(model)
    path = training.scratch("vlm.pt")
    if training.load(seeing, path):
        print("resumed")
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    rng = random.Random(found.seed + 9)
    end = tokenizer.token_to_id("<end_of_utterance>")

    def rows(scenes, each):
        sequences = []
        for scene in scenes:
            for index in range(each):
                question, answer = exchange(rng, scene, index == 0)
                ids, first = prompt_ids(tokenizer, question)
                told = tokenizer.encode(" " + answer).ids + [end]
                sequences.append((ids + told, len(ids)))
        longest = max(len(ids) for ids, _ in sequences)
        tokens = torch.full((len(sequences), longest), end)
        labels = torch.full((len(sequences), longest), -100)
        for row, (ids, start) in enumerate(sequences):
            tokens[row, :len(ids)] = torch.tensor(ids)
            labels[row, start:len(ids)] = torch.tensor(ids[start:])
        return tokens, labels, first

    def loss(step):
        scenes = [world.random_scene(rng, count=1 if rng.random() < 0.4 else None) for _ in range(found.batch)]
        pictures = world.render(scenes, SIDE)
        pictures = (pictures + 0.02 * torch.randn_like(pictures) * rng.random()).clamp(0, 1)
        seen = seeing.look(pictures)
        value = torch.zeros(())
        known = torch.tensor([attributes_of(scene) for scene in scenes])
        for column, logits in enumerate(seeing.attributes(seen.flatten(1)).split(data.ATTRIBUTE_SIZES, 1)):
            value = value + 0.2 * F.cross_entropy(logits, known[:, column])
        if step < found.eyes:
            return value
        tokens, labels, first = rows(scenes, 2)
        embedded = model.model.text_model.embed_tokens(tokens)
        embedded = torch.cat([embedded[:, :first], seen.repeat_interleave(2, 0), embedded[:, first + IMAGE_TOKENS:]], 1)
        hidden = model.model.text_model(inputs_embeds=embedded, use_cache=False).last_hidden_state
        told = labels[:, 1:] != -100
        logits = model.lm_head(hidden[:, :-1][told])
        return value + F.cross_entropy(logits, labels[:, 1:][told])

    @torch.no_grad()
    def save(module):
        torch.save(module.state_dict(), path)
        measure(module.model.eval(), tokenizer, 8, 3, tell=1)

    training.train("vlm", seeing, loss, found, steps=3000, rate=2e-3, save=save, decay=0.99, weight_decay=0.01)


@torch.no_grad()
def answer(model, tokenizer, pictures, questions_):
    """Greedy answers; pictures [N, 3, 64, 64] in 0...1. Questions of as many tokens are answered together."""
    stop = tokenizer.token_to_id("<end_of_utterance>")
    prompts = [prompt_ids(tokenizer, question)[0] for question in questions_]
    result = [""] * len(prompts)
    for length in sorted({len(ids) for ids in prompts}):
        rows = [row for row, ids in enumerate(prompts) if len(ids) == length]
        ids = torch.tensor([prompts[row] for row in rows])
        pixels = (torch.stack([pictures[row] for row in rows])[:, None] - 0.5) / 0.5
        done = torch.zeros(len(rows), dtype=torch.bool)
        while ids.shape[1] < length + 40 and not done.all():
            chosen = model(input_ids=ids, pixel_values=pixels, use_cache=False).logits[:, -1].argmax(1)
            ids = torch.cat([ids, torch.where(done, stop, chosen)[:, None]], 1)
            done |= chosen == stop
        for row, told in zip(rows, ids[:, length:].tolist()):
            result[row] = tokenizer.decode(told, skip_special_tokens=True).strip()
    return result


def measure(model, tokenizer, count, seed, tell=3):
    rng = random.Random(seed)
    scenes = [world.random_scene(rng, count=1, only_held_out=True, hazard=False) for _ in range(count // 2)]
    scenes += [world.random_scene(rng, allow_held_out=True) for _ in range(count - count // 2)]
    from PIL import Image

    processor = idefics3_pil.Idefics3ImageProcessorPil(size={"longest_edge": SIDE}, max_image_size={"longest_edge": SIDE})
    large = [Image.fromarray((p.permute(1, 2, 0) * 255).round().byte().numpy()) for scene in scenes for p in world.render([scene], 256)]
    pictures = [torch.as_tensor(processor([[image]], return_tensors="pt").pixel_values)[0, 0] * 0.5 + 0.5 for image in large]
    told = answer(model, tokenizer, pictures, [DESCRIBE[0]] * count)
    right = [text == describe(scene) for text, scene in zip(told, scenes)]
    asked = [questions(rng, scene) for scene in scenes]
    replies = answer(model, tokenizer, pictures, [question for question, _ in asked])
    good = [reply == expected for reply, (_, expected) in zip(replies, asked)]
    single = [r for r, scene in zip(right, scenes) if len(scene.things) == 1]
    print(f"vlm: {count} held-out scenes: descriptions right {100 * np.mean(right):.1f} % (one shape {100 * np.mean(single):.1f} %), "
          f"answers right {100 * np.mean(good):.1f} %", flush=True)
    for text, scene in [(t, s) for t, s, r in zip(told, scenes, right) if not r][:tell]:
        print(f"  {describe(scene)!r} told as {text!r}")


def export(root):
    import vlm_layout as layout

    model, tokenizer = make()
    seeing = Seeing(model)
    if not training.load(seeing, training.scratch("vlm.pt")):
        raise SystemExit("train the vision-language model first")
    processor = idefics3_pil.Idefics3ImageProcessorPil(size={"longest_edge": SIDE}, max_image_size={"longest_edge": SIDE})
    with torch.no_grad():
        layout.write(training.own_folder(root / "smolvlm"), model.eval(), processor, tokenizer, TEMPLATES["smolvlm"], "genbench small SmolVLM of shapes")
        measure(model, tokenizer, 200, 17)


def goldens():
    from PIL import Image

    import vlm_layout as layout

    torch.set_grad_enabled(False)
    model, tokenizer = make()
    layout.read(training.MODELS / "smolvlm", model.eval())
    images = idefics3_pil.Idefics3ImageProcessorPil(size={"longest_edge": SIDE}, max_image_size={"longest_edge": SIDE})
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    processor = Idefics3Processor(images, fast, image_seq_len=IMAGE_TOKENS, chat_template=TEMPLATES["smolvlm"])
    ends = {tokenizer.token_to_id(token) for token in ("<end_of_utterance>", "<|im_end|>", "<|endoftext|>")}
    decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=True)
    for index, (scene, prompt) in enumerate(zip(world.scenes(23, 3, allow_held_out=True), [DESCRIBE[0], DESCRIBE[0], "How many shapes are there?"])):
        image = (world.render([scene], 128)[0].permute(1, 2, 0) * 255).round().byte().numpy()
        text = processor.apply_chat_template(layout.fixture.conversation(prompt, True), add_generation_prompt=True)
        batch = processor(images=[[Image.fromarray(image)]], text=[text], return_tensors="pt")
        ids, pixels = batch["input_ids"][0].tolist(), batch["pixel_values"]
        features = model.model.get_image_features(pixels).pooler_output[0]
        layout.fixture.golden(
            "smolvlm", f"image-{index}", model, prompt, text, ids, image, layout.fixture.to_levels(pixels[0].numpy(), images), (1, 1),
            features.detach().numpy(), {"pixel_values": pixels}, ends, decode, area="small-models", folder="Models", limit=60)


if __name__ == "__main__":
    what = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else "train"
    found = training.arguments(__doc__, batch=32, eyes=0, to=str(training.MODELS))
    if what == "train":
        main(found)
    elif what == "golden":
        goldens()
    elif what == "export":
        export(pathlib.Path(found.to))
    else:
        model, tokenizer = make()
        seeing = Seeing(model)
        training.load(seeing, training.scratch("vlm.pt"))
        measure(model.eval(), tokenizer, 200, 17)
