"""The normals that `torch.randn` draws on the CPU for a seed, with NumPy alone: for engines that take noise from outside."""

import numpy as np


class TorchNoise:
    """A stream of draws, as torch.Generator().manual_seed(seed) gives them (float32, at least 16 values a draw)."""

    def __init__(self, seed):
        # torch seeds its Mersenne twister with the low 32 bits; RandomState does so in the same way.
        self.words = np.random.RandomState(seed & 0xFFFFFFFF)

    def uniforms(self, count):
        return (self.words.randint(0, 1 << 32, count, dtype=np.uint32) & 0xFFFFFF).astype(np.float32) * np.float32(2.0**-24)

    @staticmethod
    def pairs(uniforms):
        """Blocks of 16: eight radii and eight angles."""
        blocks = uniforms.reshape(-1, 2, 8)
        radius = np.sqrt(np.float32(-2) * np.log(np.float32(1) - blocks[:, 0]))
        angle = np.float32(2 * np.pi) * blocks[:, 1]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).reshape(-1)

    def normals(self, shape):
        count = int(np.prod(shape))
        if count < 16:
            raise ValueError("torch draws fewer than 16 values in another way")
        values = self.uniforms(count)
        whole = count // 16 * 16
        values[:whole] = self.pairs(values[:whole])
        if whole != count:  # the last 16 are drawn anew
            values[-16:] = self.pairs(self.uniforms(16))
        return values.reshape(shape)
