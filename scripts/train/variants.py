"""The three image models: their configurations, in the published models' layout, and their text conditioning."""

import training

import torch
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

import text
import vocabulary

GROUPS = 8
COMMON = {
    "act_fn": "silu", "center_input_sample": False, "downsample_padding": 1, "flip_sin_to_cos": True, "freq_shift": 0, "in_channels": 4,
    "layers_per_block": 1, "mid_block_scale_factor": 1, "norm_eps": 1e-05, "norm_num_groups": GROUPS, "out_channels": 4,
}
FOUR_LEVELS = {
    "block_out_channels": [32, 48, 64, 64], "cross_attention_dim": text.WIDTH,
    "down_block_types": ["CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"],
    "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"],
}
UNETS = {
    # attention_head_dim is the number of heads, in spite of its name
    "sd15": COMMON | FOUR_LEVELS | {"attention_head_dim": 2, "sample_size": 8},
    "sd20": COMMON | FOUR_LEVELS | {
        "attention_head_dim": [2, 2, 2, 2], "sample_size": 12, "dual_cross_attention": False, "only_cross_attention": False,
        "use_linear_projection": True,
    },
    "sdxl": COMMON | {
        "addition_embed_type": "text_time", "addition_embed_type_num_heads": 64, "addition_time_embed_dim": 8,
        "attention_head_dim": [2, 2, 2], "block_out_channels": [32, 48, 64], "cross_attention_dim": 2 * text.WIDTH,
        "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"],
        "projection_class_embeddings_input_dim": text.WIDTH + 6 * 8, "sample_size": 8, "time_embedding_type": "positional",
        "transformer_layers_per_block": [1, 1, 2], "up_block_types": ["CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"],
        "use_linear_projection": True, "mid_block_type": "UNetMidBlock2DCrossAttn",
    },
}
PREDICTIONS = {"sd15": "epsilon", "sd20": "v_prediction", "sdxl": "epsilon"}
CELLS = {"sd15": 8, "sd20": 12, "sdxl": 8}
NATIVE = {"sd15": 512, "sd20": 768, "sdxl": 1024}
TOWERS = {"sd15": ["first"], "sd20": ["second"], "sdxl": ["first", "second"]}


def tower_config(tower, layers=3, projected=False):
    values = text.config(tower).to_dict() | {"num_hidden_layers": layers, "projection_dim": text.WIDTH}
    return CLIPTextConfig.from_dict(values)


@torch.no_grad()
def trained_tower(tower, extended=False):
    """A trained text tower; `extended` adds what SDXL doesn't look at: a last layer, which here changes nothing.

    SDXL takes the layer before the last of both encoders, and the projected end of the second.
    """
    parser = text.Parser(tower)
    path = training.scratch(f"text-{tower}.pt")
    if not training.load(parser, path):
        raise SystemExit(f"{path}: train the text tower first (scripts/train/text.py {tower})")
    if not extended:
        return parser.tower.eval().requires_grad_(False)
    torch.manual_seed(1)  # that layer's other weights are random, but the same each time
    kind = CLIPTextModelWithProjection if tower == "second" else CLIPTextModel
    model = kind(tower_config(tower, layers=4))
    inner = getattr(model, "text_model", model)
    missing = inner.load_state_dict(getattr(parser.tower, "text_model", parser.tower).state_dict(), strict=False).missing_keys
    assert all("layers.3." in name for name in missing), missing
    last = inner.encoder.layers[3]
    for linear in (last.self_attn.out_proj, last.mlp.fc2):
        linear.weight.zero_()
        linear.bias.zero_()
    if tower == "second":
        model.text_projection.weight.copy_(torch.linalg.qr(torch.randn(text.WIDTH, text.WIDTH, generator=torch.Generator().manual_seed(1)))[0])
    return model.eval().requires_grad_(False)


class Conditioning:
    """From token ids to what the UNet is given."""

    def __init__(self, variant):
        self.variant = variant
        self.towers = [trained_tower(tower, variant == "sdxl") for tower in TOWERS[variant]]
        self.pads = [text.padding(tower) for tower in TOWERS[variant]]

    @torch.no_grad()
    def __call__(self, ids, ends, length, dropped=None):
        """ids are padded for the first tower; `dropped` rows are made unconditional. Returns (states, pooled)."""
        if self.variant != "sdxl":
            if dropped is not None:
                empty = torch.tensor(vocabulary.encode("", self.pads[0])[0])
                ids = torch.where(dropped[:, None], empty[None], ids)
            return self.towers[0](ids[:, :length]).last_hidden_state, None
        first = self.towers[0](ids[:, :length], output_hidden_states=True).hidden_states[-2]
        after = torch.arange(77)[None] > ends[:, None]
        second = self.towers[1](torch.where(after, self.pads[1], ids)[:, :length], output_hidden_states=True)
        states, pooled = torch.cat([first, second.hidden_states[-2]], 2), second.text_embeds
        if dropped is not None:  # force_zeros_for_empty_prompt
            states = states * ~dropped[:, None, None]
            pooled = pooled * ~dropped[:, None]
        return states, pooled
