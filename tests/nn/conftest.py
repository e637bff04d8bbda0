from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch

from podium.contracts import Array
from podium.nn.batched_mlp import Activation, MLPBank, draw_bank
from podium.seeding import generator


@dataclass
class RecordingContext:
    """A context that keeps what it is told; ``budgets`` are the seconds left at each question."""

    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    scratch: Path = Path()
    budgets: list[float] = field(default_factory=list)
    points: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def budget_left(self) -> float:
        if not self.budgets:
            return math.inf
        return self.budgets.pop(0) if len(self.budgets) > 1 else self.budgets[0]

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        self.points.append((step, values))

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        self.notes.append(note)

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"the scores fit in memory: {name}, {chunk.shape}")


DrawBank = Callable[..., MLPBank]


@pytest.fixture
def make_bank() -> DrawBank:
    def make(
        nets: int = 4,
        inputs: int = 6,
        hidden: int = 5,
        *,
        seed: int = 0,
        activation: Activation = "tanh",
        dtype: torch.dtype = torch.float64,
    ) -> MLPBank:
        return draw_bank(
            nets,
            inputs,
            hidden,
            generator=torch.Generator().manual_seed(seed),
            activation=activation,
            dtype=dtype,
        )

    return make


@pytest.fixture
def make_context() -> type[RecordingContext]:
    return RecordingContext
