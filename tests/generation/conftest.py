"""A problem of FID-50K made without training: small networks, random pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from podium.contracts import Array, Problem
from podium.generation.classifier import ClassifierSize, PictureClassifier
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sit import SiT
from podium.nn.flow.weights import to_vector

ARCHITECTURE = Architecture(
    height=4, width=4, channels=1, patch=2, dimension=8, depth=1, heads=2, classes=3
)
SIZE = ClassifierSize(height=4, width=4, channels=1, classes=3, features=6)
SAMPLES = 30


def random_vector(seed: int) -> Array:
    generator = torch.Generator().manual_seed(seed)
    network = SiT(ARCHITECTURE, generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=generator))
    return to_vector(network)


@pytest.fixture
def public() -> dict[str, Array]:
    rng = np.random.default_rng(0)

    def pictures(count: int) -> Array:
        return rng.integers(0, 256, (count, 4, 4, 1), dtype=np.uint8)

    return {
        "train_images": pictures(24),
        "train_labels": np.arange(24, dtype=np.int64) % 3,
        "reward_images": pictures(12),
        "reward_labels": np.arange(12, dtype=np.int64) % 3,
        "sample_labels": rng.permutation(np.arange(SAMPLES, dtype=np.int64) % 3),
        "architecture": ARCHITECTURE.to_array(),
        "base_weights": random_vector(0),
        "checkpoint_weights": np.stack([random_vector(k) for k in range(1, 4)]),
        "classifier_architecture": SIZE.to_array(),
        "classifier_weights": to_vector(PictureClassifier(SIZE, torch.Generator().manual_seed(9))),
    }


@pytest.fixture
def problem(public: dict[str, Array]) -> Problem:
    for array in public.values():
        array.flags.writeable = False
    return Problem(task="fid_50k", id="made-up", tier="smoke", public=public)


class SeededContext:
    """What a method needs of a context: generators of one seed, and a place for what it emits."""

    device = "cpu"
    threads = 1
    budget_left = float("inf")

    def __init__(self, seed: int, scratch: Path) -> None:
        self.seed = seed
        self.scratch = scratch
        self.emitted: dict[str, list[Array]] = {}
        self.heard: list[tuple[float, float]] = []

    def rng(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(name)])

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        assert device in (None, "cpu")
        return torch.Generator().manual_seed(self.seed * 1000 + len(name))

    def log(self, step: int, **values: float) -> None:
        raise AssertionError(f"nothing to log at {step}: {values}")

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert note
        self.heard.append((done, total))

    def emit(self, name: str, chunk: Array) -> None:
        self.emitted.setdefault(name, []).append(chunk)


@pytest.fixture
def context_of(tmp_path: Path) -> Callable[[int], SeededContext]:
    return lambda seed: SeededContext(seed, tmp_path)
