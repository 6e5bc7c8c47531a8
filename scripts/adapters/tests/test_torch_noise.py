"""The draws of torch_noise.py are torch's: held against the goldens of Fixtures/random."""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
try:
    import numpy as np
except ImportError as error:
    raise unittest.SkipTest("NumPy isn't installed") from error

from genbench_backend import read_safetensors
from torch_noise import TorchNoise

ROOT = os.path.join(HERE, "../../..")


class Torch(unittest.TestCase):
    def test_latents_of_two_seeds(self):
        golden = next(folder for folder, _, names in os.walk(os.path.join(ROOT, "Fixtures/random")) if folder.endswith("latents") and names)
        tensors = read_safetensors(os.path.join(golden, "tensors.safetensors"))
        for seed in (0, 42):
            drawn = TorchNoise(seed).normals((1, 4, 64, 64))[:, :, ::4, ::4]
            np.testing.assert_allclose(drawn, tensors[f"output.{seed}"], atol=1e-6)
            self.assertGreater(np.abs(TorchNoise(seed + 1).normals((1, 4, 64, 64))[:, :, ::4, ::4] - tensors[f"output.{seed}"]).max(), 1)

    def test_what_is_left_over_is_drawn_anew(self):
        first, second = TorchNoise(3), TorchNoise(3)
        np.testing.assert_array_equal(first.normals((20,))[:4], second.normals((32,))[:4])
        self.assertEqual(first.normals((2, 9)).shape, (2, 9))
        with self.assertRaises(ValueError):
            TorchNoise(3).normals((15,))
