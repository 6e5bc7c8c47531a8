"""Every planted fault changes what it should, and nothing before it: needs the environment of `setup.sh diffusers`, else skipped."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
ROOT = os.path.join(HERE, "../../..")
try:
    import diffusers_backend
    import faults
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest(f"the environment of setup.sh diffusers isn't used: {error}") from error

# The first entries that must differ, and entries before them that must not.
SHOWS = {
    "pad-token": (["text_model.embeddings.0"], ["latents.init"]),
    "layer-choice": (["prompt_embeds"], ["text_model.embeddings.0", "text_model.encoder.layers.0.0"]),
    "final-norm": (["prompt_embeds"], ["text_model.encoder.layers.1.0"]),
    "pooled-position": (["pooled_prompt_embeds"], ["prompt_embeds"]),
    "spacing": (["timesteps"], ["prompt_embeds"]),
    "sigma-interpolation": (["latents.init"], ["prompt_embeds"]),
    "karras-rho": (["timesteps"], ["prompt_embeds", "noise_pred.0"]),
    "last-alpha": (["latents.3"], ["latents.2", "noise_pred.3"]),
    "prediction-type": (["latents.0"], ["noise_pred.0"]),
    "guidance-order": (["noise_pred.0"], ["conv_out.0"]),
    "heads": (["down_blocks.0.attentions.0.transformer_blocks.0.0"], ["down_blocks.0.resnets.0.0", "prompt_embeds"]),
    "geglu-halves": (["down_blocks.0.attentions.0.transformer_blocks.0.0"], ["down_blocks.0.resnets.0.0"]),
    "time-ids": (["noise_pred.0"], ["time_embedding.0", "conv_in.0", "pooled_prompt_embeds"]),
    "flip-sine-cosine": (["time_embedding.0"], ["conv_in.0"]),
    "asymmetric-padding": (["encoder.down_blocks.0.downsamplers.0.0", "latents.init"], ["encoder.down_blocks.0.resnets.0.0"]),
    "vae-scale": (["decoder.conv_in.0", "image"], ["latents.3"]),
    "rounding": (["pixels"], ["image"]),
    "safety-resize": (["vision_model.vision_model.encoder.layers.0.0"], ["image"]),
    "seed-stream": (["latents.init"], ["prompt_embeds"]),
    "negative-prompt-xl": (["negative_prompt_embeds"], ["prompt_embeds"]),
}


class Silent:
    """A run of which nothing is told."""

    cancelled, _open = False, []

    def __init__(self, given):
        self.given, self.depth = given, 0

    def read(self, key, shape=None):
        return self.given.get(key)

    def check(self):
        pass

    begin = end = close_to = progress = preview = warning = memory = lambda self, *_: None

    def stage(self, *_):
        import contextlib

        return contextlib.nullcontext()


class Faults(unittest.TestCase):
    models = {}

    def generate(self, name, plant):
        _, variant, changes, _ = faults.FAULTS[name]
        adapter, run = diffusers_backend.Diffusers(), Silent({})
        adapter.plant = plant
        _, pipe = adapter.load({"path": os.path.join(ROOT, "Fixtures/Models", variant)}, run)
        factor, side = pipe.vae_scale_factor, pipe.unet.config.sample_size
        request = {"prompt": "a red circle", "negative_prompt": "blurry", "steps": 4, "seed": 3, "width": side * factor, "height": side * factor,
                   "trace_level": "block", "checks_safety": False, "latents": True, **changes}  # fmt: skip
        request = {key: value for key, value in request.items() if value not in (None, False) or key == "checks_safety"}
        if "latents" in request:
            run.given["latents"] = np.random.default_rng(1).normal(size=(1, 4, side, side)).astype(np.float32)
        if "image" in request:
            run.given["image"] = np.random.default_rng(2).uniform(size=(1, 3, side * factor, side * factor)).astype(np.float32)
        result = adapter.generate_images(pipe, request, run)
        return result["trace"] | {"pixels": result["images"][0]["image"].astype(np.float32)}

    def test_each_shows_where_it_belongs(self):
        self.assertEqual(len(faults.FAULTS), 20)
        self.assertEqual(set(SHOWS), set(faults.FAULTS))
        for name, (plant, _, _, _) in faults.FAULTS.items():
            with self.subTest(name):
                right, wrong = self.generate(name, None), self.generate(name, plant)
                self.undo()
                for entry in SHOWS[name][0]:
                    self.assertIn(entry, right)
                    self.assertFalse(np.allclose(right[entry], wrong[entry], rtol=1e-4, atol=1e-4), f"{entry} is the same")
                for entry in SHOWS[name][1]:
                    self.assertIn(entry, right)
                    np.testing.assert_allclose(right[entry], wrong[entry], rtol=1e-4, atol=1e-4, err_msg=entry)

    def undo(self):
        """The stream of seeds is changed for the whole process: put it back."""
        from diffusers.utils import torch_utils

        right = ORIGINAL_DRAW
        for module in [m for m in list(sys.modules.values()) if getattr(getattr(m, "__dict__", {}).get("randn_tensor"), "__name__", "") == "other"]:
            module.randn_tensor = right
        torch_utils.randn_tensor = right


from diffusers.utils import torch_utils  # noqa: E402

ORIGINAL_DRAW = torch_utils.randn_tensor

if __name__ == "__main__":
    unittest.main()
