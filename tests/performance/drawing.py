"""What the scripts that choose settings hand to a method in the place of a run's context.

The scripts are run by hand, from their folder: ``from drawing import Drawing`` finds this file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from podium.seeding import generator


@dataclass(frozen=True)
class Drawing:
    """A context that draws and keeps nothing."""

    seed: int
    problem: str
    device: str = "cpu"

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of the seed, the problem and ``name``."""
        return generator(self.seed, "tuning", self.problem, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        """Return a torch generator drawn in the same way."""
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        """Keep nothing."""

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say nothing."""
