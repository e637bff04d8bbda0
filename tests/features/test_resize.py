"""Resizing by one rule."""

from __future__ import annotations

import numpy as np
import torch

from podium.features.resize import resized


def test_nothing_happens_at_the_same_size() -> None:
    images = np.random.default_rng(0).integers(0, 256, (2, 9, 9, 3), dtype=np.uint8)
    assert resized(images, 9) is images


def test_a_constant_stays_constant() -> None:
    images = np.full((2, 5, 40, 3), 77, dtype=np.uint8)
    for size in (3, 64):
        result = resized(images, size)
        assert result.shape == (2, size, size, 3)
        assert result.dtype == np.uint8
        assert (result == 77).all()


def test_the_rule_is_antialiased_bicubic() -> None:
    images = np.random.default_rng(0).integers(90, 160, (1, 64, 48, 3), dtype=np.uint8)
    for size in (16, 100):
        planes = torch.from_numpy(images).permute(0, 3, 1, 2).float()
        peer = torch.nn.functional.interpolate(planes, (size, size), mode="bicubic", antialias=True)
        expected = peer.clamp(0, 255).permute(0, 2, 3, 1).numpy()
        # Pillow rounds, and clips to 8 bits, after each of the two directions.
        np.testing.assert_allclose(resized(images, size), expected, atol=2.0)


def test_one_white_pixel_is_not_lost_scaling_down() -> None:
    images = np.zeros((1, 64, 64, 3), dtype=np.uint8)
    images[0, 31, 31] = 255
    assert resized(images, 8).max() > 0
