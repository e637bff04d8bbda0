"""A small feature map, and pictures of two kinds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from podium.features.extractor import Images
from podium.features.module import ModuleFeatures

MakePictures = Callable[..., Images]


@pytest.fixture(scope="session")
def small_map() -> ModuleFeatures:
    """16 numbers a picture, from a convolution with random weights."""
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 16)
    )
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.4, generator=generator)
    return ModuleFeatures(
        network, name="small", dimension=16, size=16, mean=(0.5,) * 3, std=(0.25,) * 3
    )


@pytest.fixture(scope="session")
def smooth_pictures() -> MakePictures:
    """Make smooth pictures, uint8 [count, 16, 16, 3]; ``shade`` makes them darker."""

    def made(count: int, seed: int, shade: float = 0.0) -> Images:
        rng = np.random.default_rng(seed)
        y, x = np.mgrid[:16, :16] / 15.0
        phases = rng.uniform(0, 2 * np.pi, (count, 3, 1, 1))
        waves = rng.uniform(0.5, 6.0, (count, 2, 3, 1, 1))
        planes = np.sin(waves[:, 0] * x + waves[:, 1] * y + phases) * (1.0 - shade)
        levels = np.clip((planes * 0.5 + 0.5 - shade / 4) * 255, 0, 255)
        return np.ascontiguousarray(levels.transpose(0, 2, 3, 1), dtype=np.uint8)

    return made
