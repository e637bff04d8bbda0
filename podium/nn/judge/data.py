"""What a judge is trained on and asked, as tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from podium.errors import InputError
from podium.judging.items import Items


@dataclass(frozen=True)
class Scale:
    """A rating scale of two or more rising levels, also in units of its mean step from 0."""

    levels: npt.NDArray[np.float64]

    @property
    def step(self) -> float:
        """The mean distance of two neighbouring levels."""
        return float(self.levels[-1] - self.levels[0]) / (len(self.levels) - 1)

    def units(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return scores in steps above the lowest level."""
        found: npt.NDArray[np.float64] = (scores - self.levels[0]) / self.step
        return found

    def nearest(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """Return the level nearest to each score; the lower one of two as near."""
        found: npt.NDArray[np.int64] = np.abs(scores[:, None] - self.levels).argmin(1)
        return found


@dataclass(frozen=True)
class Rated:
    """Items and their ratings.

    ``features``: [item, token, width]. ``lengths``: int64 [item]. ``scores``: [item] in units of
    the scale. ``labels``: nearest levels, int64 [item]. ``reasoning``: a teacher's, int64
    [item, length], None where there is none.
    """

    features: torch.Tensor
    lengths: torch.Tensor
    scores: torch.Tensor
    labels: torch.Tensor
    reasoning: torch.Tensor | None


@dataclass(frozen=True)
class Asked:
    """Items whose scores are asked: ``features`` [item, token, width], ``lengths`` [item]."""

    features: torch.Tensor
    lengths: torch.Tensor


@dataclass(frozen=True)
class JudgeData:
    """Rated items, items whose scores are asked, and the scale."""

    train: Rated
    test: Asked
    scale: Scale

    @property
    def levels(self) -> torch.Tensor:
        """The levels in units of the scale, float32 on the device of the features."""
        units = self.scale.units(self.scale.levels)
        return torch.as_tensor(units, dtype=torch.float32, device=self.train.features.device)


def judge_data(items: Items, device: str = "cpu") -> JudgeData:
    """Return the tensors of a problem; features over the root mean square of those of train.

    Args:
        items: the problem.
        device: of the tensors.

    Raises:
        InputError: nothing to train on is given, or a reasoning has a symbol below 0.
    """
    scale, reasoning = Scale(items.levels), items.train_reasoning
    if not len(items.train_scores):
        raise InputError("no rated items to train on", where="train_scores", expected="at least 1")
    if reasoning is not None and (reasoning < 0).any():
        raise InputError(
            "a symbol of a reasoning is below 0",
            where="train_reasoning",
            expected="symbols from 0",
            found=str(reasoning.min()),
        )
    width = items.train_features.shape[1]
    real = np.arange(width) < items.train_lengths[:, None]
    squares = np.square(items.train_features[real], dtype=np.float64)
    size = float(np.sqrt(squares.mean())) if squares.any() else 1.0

    def tensor(values: npt.NDArray[np.float32]) -> torch.Tensor:
        return torch.as_tensor(values / np.float32(size), device=device)

    def whole(values: npt.NDArray[np.int64]) -> torch.Tensor:
        return torch.as_tensor(np.array(values), device=device)

    # An empty text has no tokens; its padding, zeros, is then read as one.
    rated = Rated(
        tensor(items.train_features),
        whole(np.maximum(items.train_lengths, 1)),
        torch.as_tensor(scale.units(items.train_scores), dtype=torch.float32, device=device),
        whole(scale.nearest(items.train_scores)),
        None if reasoning is None else whole(reasoning),
    )
    asked = Asked(tensor(items.features), whole(np.maximum(items.lengths, 1)))
    return JudgeData(rated, asked, scale)
