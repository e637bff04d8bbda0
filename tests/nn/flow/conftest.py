"""Small flow transformers with weights that say something."""

from __future__ import annotations

import pytest
import torch

from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sit import SiT

SMALL = Architecture(
    height=4, width=8, channels=3, patch=2, dimension=16, depth=2, heads=4, classes=5
)


@pytest.fixture
def small() -> Architecture:
    return SMALL


@pytest.fixture
def model() -> SiT:
    """A network none of whose weights are zero, so that everything it is given matters."""
    generator = torch.Generator().manual_seed(0)
    network = SiT(SMALL, generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return network
