"""Writes the networks of a diffusers folder as Core ML packages with coremltools' converter.

    $GENBENCH_CACHE/venvs/coreml/bin/python scripts/adapters/export_coreml.py MODEL FOLDER [--size WIDTHxHEIGHT] [--only unet,…]

FOLDER gets TextEncoder.mlpackage (TextEncoder2 of XL), Unet.mlpackage, VAEDecoder.mlpackage and VAEEncoder.mlpackage, f16, batch 2 for
the UNet, as Apple's converter names them. Converting needs no Mac; running the packages does, so that what comes out is only checked
for its inputs and outputs here.
"""

import argparse
import os
import sys
import warnings

sys.modules["torchvision"] = None
os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import coremltools  # noqa: E402
import diffusers  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from export_onnx import Decoder, Encoder, UNet  # noqa: E402


class Text(torch.nn.Module):
    """Ids as floats, which is what Core ML feeds, to the last hidden state and the pooled vector."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, ids):
        output = self.encoder(ids.long(), output_hidden_states=True, return_dict=True)
        pooled = output.text_embeds if hasattr(output, "text_embeds") else output.pooler_output
        return output.last_hidden_state, output.hidden_states[-2], pooled


def convert(module, inputs, names, outputs, path):
    with torch.no_grad():
        traced = torch.jit.trace(module.eval(), tuple(inputs), check_trace=False)
    package = coremltools.convert(
        traced, convert_to="mlprogram", minimum_deployment_target=coremltools.target.iOS17, skip_model_load=True,
        inputs=[coremltools.TensorType(name, shape=value.shape, dtype=np.float32) for name, value in zip(names, inputs)],
        outputs=[coremltools.TensorType(name) for name in outputs],
    )  # fmt: skip
    package.save(path)
    described = package.get_spec().description
    print(f"{path}: {', '.join(entry.name for entry in described.input)} -> {', '.join(entry.name for entry in described.output)}")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("model")
    words.add_argument("folder")
    words.add_argument("--size")
    words.add_argument("--only", default="text_encoder,text_encoder_2,vae_decoder,vae_encoder,unet")
    words = words.parse_args()
    wanted = words.only.split(",")
    os.makedirs(words.folder, exist_ok=True)

    def part(name):
        return os.path.join(words.model, name)

    def target(name):
        return os.path.join(words.folder, f"{name}.mlpackage")

    width_of_text, pooled = 0, None
    for name in ("text_encoder", "text_encoder_2"):
        if os.path.isdir(part(name)):
            kind = transformers.CLIPTextModelWithProjection if name.endswith("2") else transformers.CLIPTextModel
            encoder = kind.from_pretrained(part(name), dtype=torch.float32, attn_implementation="eager")
            width_of_text += encoder.config.hidden_size
            pooled = encoder.config.projection_dim if name.endswith("2") else None
            if name in wanted:
                ids = torch.ones((1, encoder.config.max_position_embeddings), dtype=torch.float32)
                convert(Text(encoder), [ids], ["input_ids"], ["last_hidden_state", "penultimate", "pooled_outputs"],
                        target("TextEncoder2" if name.endswith("2") else "TextEncoder"))  # fmt: skip
    vae = diffusers.AutoencoderKL.from_pretrained(part("vae"), torch_dtype=torch.float32)
    unet = diffusers.UNet2DConditionModel.from_pretrained(part("unet"), torch_dtype=torch.float32)
    unet.set_attn_processor(diffusers.models.attention_processor.AttnProcessor())
    vae.set_attn_processor(diffusers.models.attention_processor.AttnProcessor())
    factor = 2 ** (len(vae.config.block_out_channels) - 1)
    width, height = (int(side) for side in words.size.split("x")) if words.size else (unet.config.sample_size * factor,) * 2
    latents = torch.zeros((1, vae.config.latent_channels, height // factor, width // factor))
    if "vae_decoder" in wanted:
        convert(Decoder(vae), [latents], ["z"], ["image"], target("VAEDecoder"))
    if "vae_encoder" in wanted:
        convert(Encoder(vae), [torch.zeros((1, 3, height, width))], ["x"], ["latent"], target("VAEEncoder"))
    if "unet" in wanted:
        inputs = [latents.repeat(2, 1, 1, 1), torch.tensor([1.0]), torch.zeros((2, 77, width_of_text))]
        names = ["sample", "timestep", "encoder_hidden_states"]
        if unet.config.addition_embed_type == "text_time":
            inputs += [torch.zeros((2, pooled)), torch.zeros((2, 6))]
            names += ["text_embeds", "time_ids"]
        convert(UNet(unet), inputs, names, ["noise_pred"], target("Unet"))


if __name__ == "__main__":
    sys.exit(main())
