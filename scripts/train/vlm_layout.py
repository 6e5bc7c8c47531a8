"""Writes a SmolVLM as a GGUF and an mmproj file, with the keys and tensor names of llama.cpp's converter."""

import importlib.util

import training

import gguf
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

spec = importlib.util.spec_from_file_location("fixture_vlm", training.ROOT / "scripts/fixtures/vlm.py")
fixture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixture)
torch.set_grad_enabled(True)

F16, F32 = gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.F32


def train_tokenizer(corpus, size):
    """Byte-level BPE as SmolLM2's: single digits, no space added in front."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False,
        special_tokens=[AddedToken(token, special=True) for token in fixture.SMOLVLM_SPECIAL])
    tokenizer.train_from_iterator(corpus, trainer)
    return tokenizer


LANGUAGE = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
VISION = {
    "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}


def unpermute(weight, heads):
    """Undoes the row order that llama.cpp's converter gives queries and keys."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


@torch.no_grad()
def read(folder, model):
    """Takes the weights of a model that `write` wrote."""
    tensors = {}
    for name in ("model.gguf", "mmproj.gguf"):
        for tensor in gguf.GGUFReader(folder / name).tensors:
            shape = tuple(int(n) for n in reversed(tensor.shape))
            tensors[tensor.name] = torch.from_numpy(tensor.data.astype("float32").reshape(shape))
    text, tower, config = model.model.text_model, model.model.vision_model, model.config
    text.embed_tokens.weight.copy_(tensors["token_embd.weight"])
    text.norm.weight.copy_(tensors["output_norm.weight"])
    for index, layer in enumerate(text.layers):
        for long, short in LANGUAGE.items():
            value = tensors[f"blk.{index}.{short}.weight"]
            if short in ("attn_q", "attn_k"):
                heads = config.text_config.num_attention_heads if short == "attn_q" else config.text_config.num_key_value_heads
                value = unpermute(value, heads)
            layer.get_submodule(long).weight.copy_(value)
    patch = tower.embeddings.patch_embedding
    patch.weight.copy_(tensors["v.patch_embd.weight"].reshape(patch.weight.shape))
    patch.bias.copy_(tensors["v.patch_embd.bias"])
    tower.embeddings.position_embedding.weight.copy_(tensors["v.position_embd.weight"])
    for kind in ("weight", "bias"):
        getattr(tower.post_layernorm, kind).copy_(tensors[f"v.post_ln.{kind}"])
        for index, layer in enumerate(tower.encoder.layers):
            for long, short in VISION.items():
                getattr(layer.get_submodule(long), kind).copy_(tensors[f"v.blk.{index}.{short}.{kind}"])
    model.model.connector.modality_projection.proj.weight.copy_(tensors["mm.model.fc.weight"])
    model.tie_weights()


def write(folder, model, processor, tokenizer, template, name):
    folder.mkdir(parents=True, exist_ok=True)
    text, vision, config = model.model.text_model, model.config.vision_config, model.config
    fixture.write_language(folder / "model.gguf", "llama", text, None, config.text_config, tokenizer, F16, template, "smollm", name)
    writer = fixture.vision_writer(
        folder / "mmproj.gguf", "idefics3", name, processor, image_size=vision.image_size, patch_size=vision.patch_size,
        width=vision.hidden_size, inner=vision.intermediate_size, layers=vision.num_hidden_layers, heads=vision.num_attention_heads,
        projection=config.text_config.hidden_size, epsilon=vision.layer_norm_eps)
    writer.add_vision_use_gelu(True)
    writer.add_vision_projector_scale_factor(config.scale_factor)
    writer.add_uint32("clip.vision.preproc_image_size", processor.size["longest_edge"])
    tower = model.model.vision_model
    fixture.store_module(writer, "v.patch_embd", tower.embeddings.patch_embedding, F32)
    fixture.store(writer, "v.position_embd.weight", tower.embeddings.position_embedding.weight, F32)
    fixture.store_module(writer, "v.post_ln", tower.post_layernorm)
    fixture.store(writer, "mm.model.fc.weight", model.model.connector.modality_projection.proj.weight, F16)
    for index, layer in enumerate(tower.encoder.layers):
        for long, short in VISION.items():
            fixture.store_module(writer, f"v.blk.{index}.{short}", layer.get_submodule(long))
    fixture.finish(writer)
