"""Writes a diffusers folder as OpenVINO IR with optimum-intel, tokenizers included.

    $GENBENCH_CACHE/venvs/export/bin/python scripts/adapters/export_openvino.py MODEL FOLDER [--weights f32|f16|int8]

MODEL may also be a transformers folder of a language or vision-language model. The environment is that of `setup.sh export`.
Full-size random weights are exported the same way: `python scripts/full-scale.py sd15 WORK` makes WORK/model first.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("model")
    words.add_argument("folder")
    words.add_argument("--weights", choices=["f32", "f16", "int8"], default="f32")
    words = words.parse_args()
    from optimum.exporters.openvino import main_export
    from optimum.intel import OVConfig

    dtype = {"f32": "fp32", "f16": "fp16", "int8": "int8"}[words.weights]
    quantization = {"bits": 8, "sym": False} if dtype == "int8" else None
    diffusion = os.path.exists(os.path.join(words.model, "model_index.json"))
    named = {"ov_config": OVConfig(dtype=dtype, quantization_config=quantization) if quantization else OVConfig(dtype=dtype)}
    with tempfile.TemporaryDirectory() as folder:
        source = words.model
        if diffusion:
            source = without_checker(words.model, folder)
            named |= {"task": "text-to-image", "library_name": "diffusers"}
        else:
            with open(os.path.join(words.model, "config.json")) as file:
                vision = "vision_config" in json.load(file)
            named |= {"task": "image-text-to-text" if vision else "text-generation-with-past", "library_name": "transformers"}
        main_export(source, pathlib.Path(words.folder), convert_tokenizer=True, **named)
    if diffusion:
        # What the adapter needs to know and the IR doesn't say.
        with open(os.path.join(words.model, "unet/config.json")) as unet, open(os.path.join(words.model, "vae/config.json")) as vae:
            about = {"unet": json.load(unet), "vae": json.load(vae), "weights": words.weights}
        with open(os.path.join(words.folder, "genbench.json"), "w") as file:
            json.dump(about, file)


def without_checker(model, folder):
    """A copy by links that names no safety checker: OpenVINO GenAI has none, and some exports stumble over it."""
    for name in os.listdir(model):
        if name not in ("safety_checker", "feature_extractor", "model_index.json"):
            os.symlink(os.path.join(os.path.abspath(model), name), os.path.join(folder, name))
    with open(os.path.join(model, "model_index.json")) as file:
        index = json.load(file)
    index |= {name: [None, None] for name in ("safety_checker", "feature_extractor") if name in index}
    with open(os.path.join(folder, "model_index.json"), "w") as file:
        json.dump(index | ({"requires_safety_checker": False} if "XL" not in index["_class_name"] else {}), file)
    return folder


if __name__ == "__main__":
    sys.exit(main())
