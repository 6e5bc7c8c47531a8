"""Writes a SmolVLM as a GGUF and an mmproj file, with the keys and tensor names of llama.cpp's converter."""

import importlib.util

import training

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

spec = importlib.util.spec_from_file_location("fixture_vlm", training.ROOT / "scripts/fixtures/vlm.py")
fixture = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixture)

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
        for long, short in {
            "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
            "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
        }.items():
            fixture.store_module(writer, f"v.blk.{index}.{short}", layer.get_submodule(long))
    fixture.finish(writer)
