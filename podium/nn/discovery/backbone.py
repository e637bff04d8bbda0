"""The backbone's last block as a trained part of a host, and the tokens that enter it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from podium.contracts import Array
from podium.discovery.samples import Samples
from podium.errors import InputError
from podium.features.vit import LastBlock, last_block

_ROWS = 512
"""Samples measured or copied at once: large sets do not stand in memory twice."""

_CONSTANT = 1e-12
"""Share of the mean square below which a variance is rounding."""


@dataclass(frozen=True)
class Scale:
    """What moves tokens to mean 0 and a root mean square of 1: mean [D], and one spread."""

    mean: torch.Tensor
    spread: float


class TrainedBlock(nn.Module):
    r"""The last block between tokens on one scale before it and tokens on one scale after it.

    The block sees the tokens as the backbone made them, so it starts where the backbone's training
    ended. What comes out is moved and scaled by fixed numbers: those that put the frozen backbone's
    tokens on one scale. Without views a host starts with what it is given on frozen tokens.

    Args:
        block: the block with the backbone's weights.
        entering: of the patch tokens and of the class tokens before the block.
        leaving: the same after it.
    """

    def __init__(
        self, block: LastBlock, entering: tuple[Scale, Scale], leaving: tuple[Scale, Scale]
    ) -> None:
        super().__init__()
        self.block = block
        self.spreads = [scale.spread for scale in (*entering, *leaving)]
        means = torch.stack([scale.mean for scale in (*entering, *leaving)])
        self.register_buffer("means", means)
        self.means: torch.Tensor

    def forward(
        self, tokens: torch.Tensor, class_tokens: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Patch tokens [batch, token, D] and class tokens [batch, D] to the same after the block.

        Both are on one scale, before and after.
        """
        patches = tokens * self.spreads[0] + self.means[0]
        summary = class_tokens * self.spreads[1] + self.means[1]
        after = self.block(torch.cat([summary[:, None], patches], dim=1))
        return (
            (after[:, 1:] - self.means[2]) / self.spreads[2],
            (after[:, 0] - self.means[3]) / self.spreads[3],
        )


class AfterBlock(nn.Module):
    """Summarise what the last block makes of tokens.

    Args:
        block: the block.
        summary: from the tokens and class tokens after it to one vector a sample.
    """

    def __init__(self, block: TrainedBlock, summary: nn.Module) -> None:
        super().__init__()
        self.block, self.summary = block, summary

    def forward(self, tokens: torch.Tensor, class_tokens: torch.Tensor) -> torch.Tensor:
        """Tokens [batch, token, D] and class tokens [batch, D] before the block to [batch, D]."""
        found: torch.Tensor = self.summary(*self.block(tokens, class_tokens))
        return found


def entering_tokens(
    samples: Samples, device: str
) -> tuple[torch.Tensor, torch.Tensor, TrainedBlock]:
    """Return the tokens that enter the last block, on one scale, and the block.

    Args:
        samples: with a block, and class tokens.
        device: where to put all of it.

    Returns:
        Patch tokens float32 [samples, token, D] and class tokens [samples, D], the labelled samples
        first, and the block.

    Raises:
        InputError: values that are not finite, no class tokens, or weights that do not fit.
    """
    given, classes = samples.block, (samples.labelled_class, samples.unlabelled_class)
    if given is None or classes[0] is None or classes[1] is None:
        raise InputError(
            "the last block can be trained only with a class token",
            where="public arrays",
            expected="class tokens, entering tokens and block_weights",
        )
    before = given.labelled, given.unlabelled
    patches, summaries = [part[:, 1:] for part in before], [part[:, :1] for part in before]
    entering = (
        _measured(patches, "entering tokens"),
        _measured(summaries, "entering class tokens"),
    )
    leaving = (
        _measured([samples.labelled, samples.unlabelled], "tokens"),
        _measured([part[:, None] for part in classes if part is not None], "class tokens"),
    )
    block = last_block(given.weights, given.heads, samples.labelled.shape[-1])
    return (
        _filled(patches, entering[0], device),
        _filled(summaries, entering[1], device)[:, 0],
        TrainedBlock(block, entering, leaving).to(device),
    )


def _measured(parts: Sequence[Array], name: str) -> Scale:
    """Return the scale of tokens [samples, token, D], in double precision."""
    width = parts[0].shape[-1]
    total, squares, count = np.zeros(width), np.zeros(width), 0
    for part in parts:
        for start in range(0, len(part), _ROWS):
            rows = part[start : start + _ROWS].reshape(-1, width).astype(np.float64)
            total += rows.sum(0)
            squares += np.square(rows).sum(0)
            count += len(rows)
    mean, square = total / count, float((squares / count).mean())
    if not np.isfinite(square):
        raise InputError(
            "values that are not finite",
            where=name,
            expected="finite numbers",
            found="NaN or infinite ones",
        )
    variance = square - float(np.square(mean).mean())
    spread = variance**0.5 if variance > _CONSTANT * square else 1.0
    return Scale(torch.tensor(mean, dtype=torch.float32), spread)


def _filled(parts: Sequence[Array], scale: Scale, device: str) -> torch.Tensor:
    """Return all tokens [samples, token, D] on one scale, float32 on ``device``."""
    shape = (sum(map(len, parts)), *parts[0].shape[1:])
    values = torch.empty(shape, dtype=torch.float32, device=device)
    mean, place = scale.mean.to(device), 0
    for part in parts:
        for start in range(0, len(part), _ROWS):
            rows = torch.tensor(part[start : start + _ROWS], dtype=torch.float32, device=device)
            values[place : place + len(rows)] = (rows - mean) / scale.spread
            place += len(rows)
    return values
