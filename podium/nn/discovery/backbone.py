"""The backbone's last block as a trained part of a host, and the tokens that enter it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from podium.contracts import Array
from podium.discovery.samples import Samples
from podium.discovery.scale import Scale, measured
from podium.errors import InputError
from podium.features.vit import LastBlock, last_block

_ROWS = 512
"""Samples copied at once: large sets do not stand in memory twice."""


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
        means = np.stack([scale.mean for scale in (*entering, *leaving)])
        self.register_buffer("means", torch.tensor(means, dtype=torch.float32))
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
        measured(patches, "entering tokens"),
        measured(summaries, "entering class tokens"),
    )
    leaving = (
        measured([samples.labelled, samples.unlabelled], "tokens"),
        measured([part[:, None] for part in classes if part is not None], "class tokens"),
    )
    block = last_block(given.weights, given.heads, samples.labelled.shape[-1])
    return (
        _filled(patches, entering[0], device),
        _filled(summaries, entering[1], device)[:, 0],
        TrainedBlock(block, entering, leaving).to(device),
    )


def _filled(parts: Sequence[Array], scale: Scale, device: str) -> torch.Tensor:
    """Return all tokens [samples, token, D] on one scale, float32 on ``device``."""
    shape = (sum(map(len, parts)), *parts[0].shape[1:])
    values = torch.empty(shape, dtype=torch.float32, device=device)
    mean, place = torch.tensor(scale.mean, dtype=torch.float32, device=device), 0
    for part in parts:
        for start in range(0, len(part), _ROWS):
            rows = torch.tensor(part[start : start + _ROWS], dtype=torch.float32, device=device)
            values[place : place + len(rows)] = (rows - mean) / scale.spread
            place += len(rows)
    return values
