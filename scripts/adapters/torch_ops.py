"""Single operators and blocks with torch, diffusers and transformers: what an `op` request asks for.

Names, attributes and tensors are those of the golden cases in Fixtures/kernels and Fixtures/diffusion: inputs `input.…`, weights
`weight`, `bias` or `weight.…` by their checkpoint names, results `output.…`.
"""

import time

import diffusers
import numpy as np
import torch
import torch.nn.functional as F
from diffusers.models import attention, downsampling, embeddings, resnet, upsampling
from diffusers.models.attention_processor import Attention
from diffusers.models.transformers.transformer_2d import Transformer2DModel
from genbench_backend import BackendError

ACTIVATIONS = {
    "none": lambda x: x, "silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}  # fmt: skip


def activation(name):
    key = "".join("_" + letter.lower() if letter.isupper() else letter for letter in name)
    if key not in ACTIVATIONS:
        raise BackendError("not_supported", f"there is no activation '{name}' here")
    return ACTIVATIONS[key]


def conv2d(t, a):
    x = F.pad(t["input.x"], (a["left"], a["right"], a["top"], a["bottom"]))
    y = F.conv2d(x, t["weight"], t.get("bias"), a["stride"])
    y = y + t["input.image_bias"][:, :, None, None] if "input.image_bias" in t else y
    return y + t["input.residual"] if "input.residual" in t else y


def attend(t, a):
    def heads(x, count):
        return x.unflatten(-1, (count, -1)).transpose(1, 2).repeat_interleave(a["heads"] // count, 1)

    q, k, v = heads(t["input.query"], a["heads"]), heads(t["input.key"], a["keyValueHeads"]), heads(t["input.value"], a["keyValueHeads"])
    mask = None
    if a.get("causalOffset") is not None:
        rows, columns = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])[None]
        mask = columns <= rows + a["causalOffset"]
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=a["scale"]).transpose(1, 2).flatten(2)


def geglu(t, _):
    value, gate = t["input.x"].chunk(2, -1)
    return value * F.gelu(gate)


def linear(t, a):
    y = activation(a.get("activation", "none"))(F.linear(t["input.x"], t["weight"], t.get("bias")))
    return y + t["input.residual"] if "input.residual" in t else y


def group_norm(t, a):
    return activation(a.get("activation", "none"))(F.group_norm(t["input.x"], a["groups"], t["weight"], t["bias"], a["epsilon"]))


KERNELS = {
    "activation": lambda t, a: activation(a["activation"])(t["input.x"]),
    "attention": attend,
    "conv2d": conv2d,
    "geglu": geglu,
    "groupNorm": group_norm,
    "layerNorm": lambda t, a: F.layer_norm(t["input.x"], t["weight"].shape, t["weight"], t["bias"], a["epsilon"]),
    "linear": linear,
    "rmsNorm": lambda t, a: F.rms_norm(t["input.x"], t["weight"].shape, t["weight"], a["epsilon"]),
    "upsample": lambda t, _: F.interpolate(t["input.x"], scale_factor=2.0, mode="nearest"),
}


def resnet_block(config):
    return resnet.ResnetBlock2D(**config)


BLOCKS = {
    "downsample2D": (lambda c: downsampling.Downsample2D(c["channels"], use_conv=True, padding=c["padding"], name="op"), ["sample"]),
    "upsample2D": (lambda c: upsampling.Upsample2D(c["channels"], use_conv=True), ["sample"]),
    "resnetBlock2D": (resnet_block, ["sample", "temb"]),
    "timestepEmbedding": (lambda c: embeddings.TimestepEmbedding(**c), ["sample"]),
    "transformer2DModel": (lambda c: Transformer2DModel(**c), ["hidden_states", "encoder_hidden_states"]),
    "basicTransformerBlock": (lambda c: attention.BasicTransformerBlock(c["dim"], **{k: v for k, v in c.items() if k != "dim"}), ["hidden_states", "encoder_hidden_states"]),
    "vaeAttention": (
        lambda c: Attention(c["channels"], heads=c["heads"], dim_head=c["channels"] // c["heads"], eps=c["eps"], norm_num_groups=c["norm_num_groups"],
                            residual_connection=True, bias=True, upcast_softmax=True, _from_deprecated_attn_block=True), ["sample"]),
    "unet2DConditionModel": (diffusers.UNet2DConditionModel.from_config, ["sample", "timestep", "encoder_hidden_states"]),
}  # fmt: skip
OPS = [*KERNELS, *BLOCKS, "timesteps"]


def block(name, attributes, tensors):
    make, arguments = BLOCKS[name]
    module = make(attributes["config"]).eval()
    weights = {key.removeprefix("weight."): value for key, value in tensors.items() if key.startswith("weight.")}
    missing = module.load_state_dict(weights, strict=False).missing_keys
    if missing:
        raise BackendError("invalid_input", f"{name}: no weights for {', '.join(missing[:4])}")
    given = {key.removeprefix("input."): value for key, value in tensors.items() if key.startswith("input.")}
    named = {}
    if name == "unet2DConditionModel":
        added = {key: given[key] for key in ("text_embeds", "time_ids") if key in given}
        timestep = given.get("timestep", torch.tensor(attributes.get("timestep", 0)))
        return lambda: module(given["sample"], timestep, given["encoder_hidden_states"], added_cond_kwargs=added or None).sample
    if name == "upsample2D":
        named["output_size"] = tuple(attributes["output_size"]) if attributes.get("output_size") else None
    if name in ("transformer2DModel", "basicTransformerBlock"):
        named["encoder_hidden_states"] = given.get("encoder_hidden_states")
        return lambda: first(module(given["hidden_states"], **named))
    places = [given[key] if key in given else None for key in arguments]
    return lambda: first(module(*places, **named))


def first(output):
    return output if isinstance(output, torch.Tensor) else output[0]


def compute(name, attributes, arrays):
    """The results by name, and `elapsed_ns` of the computation alone."""
    tensors = {key: torch.from_numpy(np.array(value, np.float32 if value.dtype.kind == "f" else value.dtype)) for key, value in arrays.items()}
    try:
        with torch.inference_mode():
            if name == "timesteps":
                c = attributes["config"]
                call = lambda: embeddings.get_timestep_embedding(tensors["input.timesteps"], c["dim"], c["flip_sin_to_cos"], c["freq_shift"])  # noqa: E731
            elif name in BLOCKS:
                call = block(name, attributes, tensors)
            else:
                call = lambda: KERNELS[name](tensors, attributes)  # noqa: E731
            start = time.monotonic_ns()
            result = call()
            elapsed = time.monotonic_ns() - start
    except (KeyError, TypeError, RuntimeError) as error:
        raise BackendError("invalid_input", f"{name}: the inputs or attributes don't fit: {error}") from error
    output = {"timesteps": "output.embedding"}.get(name, "output.sample" if name in BLOCKS else "output.y")
    return {output: result.float().numpy(), "elapsed_ns": elapsed}
