"""Writes the networks of a diffusers folder as ONNX: text encoders (all hidden states), UNet, VAE encoder and decoder.

    $GENBENCH_CACHE/venvs/onnxruntime/bin/python scripts/adapters/export_onnx.py MODEL FOLDER --size WIDTHxHEIGHT

Sizes are fixed, since traced graphs of these networks hold on to the size that they were traced with; batches are free. Full-size
random weights are exported the same way: `python scripts/full-scale.py sd15 WORK` makes WORK/model first.
"""

import argparse
import os
import shutil
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.modules["torchvision"] = None
warnings.filterwarnings("ignore")

import diffusers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402


class Text(torch.nn.Module):
    """Ids to every hidden state, the normed last one, and the pooled vector."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, ids):
        output = self.encoder(ids, output_hidden_states=True, return_dict=True)
        pooled = output.text_embeds if hasattr(output, "text_embeds") else output.pooler_output
        return (output.last_hidden_state, pooled, *output.hidden_states)


class UNet(torch.nn.Module):
    def __init__(self, unet):
        super().__init__()
        self.unet = unet

    def forward(self, sample, timestep, states, text_embeds=None, time_ids=None):
        added = None if text_embeds is None else {"text_embeds": text_embeds, "time_ids": time_ids}
        return self.unet(sample, timestep, states, added_cond_kwargs=added, return_dict=False)[0]


class Decoder(torch.nn.Module):
    def __init__(self, vae):
        super().__init__()
        self.vae = vae

    def forward(self, latents):
        return self.vae.decode(latents, return_dict=False)[0]


class Encoder(torch.nn.Module):
    """Pixels to the mean and the logarithm of the variance, one after the other."""

    def __init__(self, vae):
        super().__init__()
        self.vae = vae

    def forward(self, pixels):
        return self.vae.encode(pixels).latent_dist.parameters


def export(module, inputs, names, outputs, path):
    with torch.no_grad():
        torch.onnx.export(module.eval(), tuple(inputs), path, input_names=names, output_names=outputs, opset_version=18, dynamo=False,
                          dynamic_axes={name: {0: "batch"} for name in names + outputs if name != "timestep"})  # fmt: skip


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("model")
    words.add_argument("folder")
    words.add_argument("--size", required=True)
    words = words.parse_args()
    width, height = (int(side) for side in words.size.split("x"))
    os.makedirs(words.folder)

    def path(*parts):
        return os.path.join(*parts)

    width_of_text, pooled = 0, None
    for name in ("text_encoder", "text_encoder_2"):
        if os.path.isdir(path(words.model, name)):
            kind = transformers.CLIPTextModelWithProjection if name.endswith("2") else transformers.CLIPTextModel
            encoder = kind.from_pretrained(path(words.model, name), dtype=torch.float32, attn_implementation="eager")
            count = encoder.config.num_hidden_layers + 1
            ids = torch.ones((2, encoder.config.max_position_embeddings), dtype=torch.long)
            export(Text(encoder), [ids], ["ids"], ["last", "pooled", *(f"hidden.{i}" for i in range(count))], path(words.folder, f"{name}.onnx"))
            width_of_text += encoder.config.hidden_size
            pooled = encoder.config.projection_dim if name.endswith("2") else None
    vae = diffusers.AutoencoderKL.from_pretrained(path(words.model, "vae"), torch_dtype=torch.float32)
    factor = 2 ** (len(vae.config.block_out_channels) - 1)
    latents = torch.zeros((2, vae.config.latent_channels, height // factor, width // factor))
    export(Decoder(vae), [latents], ["latents"], ["pixels"], path(words.folder, "vae_decoder.onnx"))
    export(Encoder(vae), [torch.zeros((2, 3, height, width))], ["pixels"], ["parameters"], path(words.folder, "vae_encoder.onnx"))
    del vae
    unet = diffusers.UNet2DConditionModel.from_pretrained(path(words.model, "unet"), torch_dtype=torch.float32)
    inputs, names = [latents, torch.tensor([1.0]), torch.zeros((2, 77, width_of_text))], ["sample", "timestep", "states"]
    if unet.config.addition_embed_type == "text_time":
        inputs += [torch.zeros((2, pooled)), torch.zeros((2, 6))]
        names += ["text_embeds", "time_ids"]
    export(UNet(unet), inputs, names, ["prediction"], path(words.folder, "unet.onnx"))
    for name in ("scheduler", "tokenizer", "tokenizer_2"):
        if os.path.isdir(path(words.model, name)):
            shutil.copytree(path(words.model, name), path(words.folder, name))


if __name__ == "__main__":
    sys.exit(main())
