"""The classifier whose last hidden layer is a feature map of pictures."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.nn.discovery.layers import linear

_CHANNELS = (16, 32)
_KERNEL = 3
_SMALL_SIDE = 8
"""Pictures of up to this side keep their size in the first convolution."""


@dataclass(frozen=True)
class ClassifierSize:
    """The size of a classifier: of its pictures, its classes and its features."""

    height: int
    width: int
    channels: int
    classes: int
    features: int

    def to_array(self) -> npt.NDArray[np.int64]:
        """Return the five numbers in declared order, int64 [5]."""
        return np.array(astuple(self), dtype=np.int64)

    @classmethod
    def from_array(cls, values: npt.NDArray[np.int64]) -> ClassifierSize:
        """Return the size of five numbers in declared order.

        Raises:
            InputError: not five numbers from 1 on.
        """
        if values.shape != (5,) or int(values.min()) < 1:
            raise InputError(
                "not the size of a classifier",
                where="classifier_architecture",
                expected="five whole numbers from 1 on",
                found=str(values.tolist()),
            )
        return cls(*(int(value) for value in values))


class PictureClassifier(nn.Module):
    """Two convolutions, a layer of features, and a class for each picture.

    The features are smooth (SiLU), so that they can be differentiated to any order and no
    coordinate is constant.

    Args:
        size: its size.
        generator: what the first weights are drawn from; without one they are 0, for weights that
            are loaded afterwards.
    """

    def __init__(self, size: ClassifierSize, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.size = size
        stride = 1 if min(size.height, size.width) <= _SMALL_SIDE else 2
        first, second = _CHANNELS
        rows, columns = (_halved(-(-side // stride)) for side in (size.height, size.width))
        zero = generator is None
        drawn = torch.Generator() if generator is None else generator
        self.first = _convolution(size.channels, first, stride, drawn, zero=zero)
        self.second = _convolution(first, second, 2, drawn, zero=zero)
        self.hidden = linear(second * rows * columns, size.features, drawn, zero=zero)
        self.classes = linear(size.features, size.classes, drawn, zero=zero)

    def features(self, x: Tensor) -> Tensor:
        """Return [n, features] of pictures [n, c, h, w] in [-1, 1]."""
        x = nn.functional.silu(self.first(x))
        x = nn.functional.silu(self.second(x))
        found: Tensor = nn.functional.silu(self.hidden(x.flatten(1)))
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return logits [n, classes] of pictures [n, c, h, w] in [-1, 1]."""
        logits: Tensor = self.classes(self.features(x))
        return logits


def _halved(side: int) -> int:
    return (side + 1) // 2


def _convolution(
    inputs: int, outputs: int, stride: int, generator: torch.Generator, *, zero: bool
) -> nn.Conv2d:
    """Return a 3 x 3 convolution drawn as ``torch.nn.Conv2d`` does, or one that is zero."""
    layer = nn.Conv2d(inputs, outputs, _KERNEL, stride, padding=1, device="meta")
    layer.to_empty(device="cpu")
    bound = 0.0 if zero else (inputs * _KERNEL * _KERNEL) ** -0.5
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


def train_classifier(
    model: PictureClassifier,
    x: Tensor,
    labels: Tensor,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    generator: torch.Generator,
    noise: float = 0.1,
) -> None:
    """Train a classifier in place by cross-entropy; the rate falls to 0 along half a cosine.

    Args:
        model: changed in place.
        x: pictures [n, c, h, w] in [-1, 1].
        labels: classes, int64 [n].
        steps: optimiser steps (AdamW, weight decay .05).
        batch: pictures a step, drawn with replacement.
        learning_rate: at the start.
        generator: for batches and noise.
        noise: standard deviation of the noise on the pixels, so that small sets are not learnt by
            heart.
    """
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        rows = torch.randint(len(x), (batch,), generator=generator, device=generator.device)
        rows = rows.to(x.device)
        disturbance = torch.randn(x[rows].shape, generator=generator, device=generator.device)
        logits = model(x[rows] + noise * disturbance.to(x.device))
        loss = nn.functional.cross_entropy(logits, labels[rows], label_smoothing=0.1)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        schedule.step()
