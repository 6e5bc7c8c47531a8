#!/usr/bin/env python3
"""Makes the GGUF files that the comparison needs and nobody publishes in this form.

    python make_files.py q8_0 SOURCE.gguf TARGET.gguf     the same model with all its matrices in Q8_0
    python make_files.py smolvlm SOURCE.gguf FOLDER       model.gguf, mmproj.gguf, image.png: SmolVLM-256M's shapes

The language model of smolvlm is SOURCE (SmolLM2-135M-Instruct, which SmolVLM-256M is built on) with SmolVLM's extra tokens, whose
embeddings are random; the tower is random: 768 wide, 12 layers, 12 heads, patches of 16, images of 512, 4x4 pixel shuffle. The
preprocessor's longest edge is 512, so that an image is one tile. Needs gguf and Pillow.
"""

import pathlib
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

SEED = 20261130
SPECIAL = [
    "<end_of_utterance>", "<fake_token_around_image>", "<image>", "<global-img>",
    *[f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)],
]  # fmt: skip
TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}{% if message['content'][0]['type'] == 'image' %}{{':'}}"
    "{% else %}{{': '}}{% endif %}{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
    "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)
WIDTH, INNER, LAYERS, HEADS, PATCH, SIDE, SHUFFLE = 768, 3072, 12, 12, 16, 512, 4


def copy_metadata(reader, writer, changes):
    """All keys of the source but those in `changes`, which are written in their place (None leaves a key out)."""
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        value = changes.get(field.name, field.contents())
        if value is not None:
            kind = field.types[0]
            writer.add_key_value(field.name, value, kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def replace(path, make):
    """Writes to another name first: a file that is there is whole."""
    part = path.with_name(path.name + ".part")
    make(part)
    part.replace(path)


def make_q8_0(source, target):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    copy_metadata(reader, writer, {"general.file_type": int(gguf.LlamaFileType.MOSTLY_Q8_0)})
    for tensor in reader.tensors:
        if tensor.tensor_type in (Kind.F32, Kind.Q8_0):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
        else:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, gguf.quants.quantize(values, Kind.Q8_0), raw_dtype=Kind.Q8_0)
    finish(writer)


def make_language(source, target):
    reader = gguf.GGUFReader(source)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents() + SPECIAL
    types = reader.fields["tokenizer.ggml.token_type"].contents() + [int(gguf.TokenType.CONTROL)] * len(SPECIAL)
    writer = gguf.GGUFWriter(target, "llama")
    copy_metadata(reader, writer, {
        "general.name": "SmolVLM-256M shapes", "llama.vocab_size": len(tokens), "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types, "tokenizer.ggml.eos_token_id": tokens.index("<end_of_utterance>"),
        "tokenizer.chat_template": TEMPLATE,
    })  # fmt: skip
    for tensor in reader.tensors:
        data = tensor.data
        if tensor.name == "token_embd.weight":
            rows = np.random.default_rng(SEED).standard_normal((len(SPECIAL), int(tensor.shape[0])), dtype=np.float32) * 0.1
            data = np.concatenate([data, gguf.quants.quantize(rows, tensor.tensor_type)])
        writer.add_tensor(tensor.name, data, raw_dtype=tensor.tensor_type)
    finish(writer)


def make_projector(target, projection):
    generator = np.random.default_rng(SEED + 1)
    writer = gguf.GGUFWriter(target, "clip")
    writer.add_type("mmproj")
    writer.add_name("SmolVLM-256M shapes")
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("idefics3")
    writer.add_vision_projection_dim(projection)
    writer.add_vision_image_size(SIDE)
    writer.add_vision_patch_size(PATCH)
    writer.add_vision_embedding_length(WIDTH)
    writer.add_vision_feed_forward_length(INNER)
    writer.add_vision_block_count(LAYERS)
    writer.add_vision_head_count(HEADS)
    writer.add_vision_attention_layernorm_eps(1e-6)
    writer.add_vision_image_mean([0.5] * 3)
    writer.add_vision_image_std([0.5] * 3)
    writer.add_vision_use_gelu(True)
    writer.add_vision_projector_scale_factor(SHUFFLE)
    writer.add_uint32("clip.vision.preproc_image_size", SIDE)

    def matrix(name, *shape, dtype=np.float16):
        values = generator.standard_normal(shape, dtype=np.float32) / np.sqrt(np.prod(shape[1:]), dtype=np.float32)
        writer.add_tensor(name, values.astype(dtype))

    def vector(name, size, mean=0.0):
        writer.add_tensor(name, (mean + 0.02 * generator.standard_normal(size)).astype(np.float32))

    matrix("v.patch_embd.weight", WIDTH, 3, PATCH, PATCH, dtype=np.float32)
    vector("v.patch_embd.bias", WIDTH)
    matrix("v.position_embd.weight", (SIDE // PATCH) ** 2, WIDTH, dtype=np.float32)
    vector("v.post_ln.weight", WIDTH, 1)
    vector("v.post_ln.bias", WIDTH)
    matrix("mm.model.fc.weight", projection, WIDTH * SHUFFLE**2)
    for layer in range(LAYERS):
        for norm in ("ln1", "ln2"):
            vector(f"v.blk.{layer}.{norm}.weight", WIDTH, 1)
            vector(f"v.blk.{layer}.{norm}.bias", WIDTH)
        sizes = {name: (WIDTH, WIDTH) for name in ("attn_q", "attn_k", "attn_v", "attn_out")}
        for name, (rows, columns) in (sizes | {"ffn_up": (INNER, WIDTH), "ffn_down": (WIDTH, INNER)}).items():
            matrix(f"v.blk.{layer}.{name}.weight", rows, columns)
            vector(f"v.blk.{layer}.{name}.bias", rows)
    finish(writer)


def make_image(target):
    from PIL import Image

    y, x = np.mgrid[0:SIDE, 0:SIDE]
    pixels = np.stack([x // 2, y // 2, (x ^ y) // 2], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(target, format="PNG")


def main():
    kind, source, target = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    if kind == "q8_0":
        replace(target, lambda path: make_q8_0(source, path))
        return
    target.mkdir(parents=True, exist_ok=True)
    width = int(gguf.GGUFReader(source).fields["llama.embedding_length"].contents())
    replace(target / "model.gguf", lambda path: make_language(source, path))
    replace(target / "mmproj.gguf", lambda path: make_projector(path, width))
    replace(target / "image.png", make_image)


if __name__ == "__main__":
    main()
