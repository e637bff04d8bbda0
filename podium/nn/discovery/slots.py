"""Slot attention as another grouping of tokens in the place of primitives."""

from __future__ import annotations

import math

import torch
from torch import nn

from podium.nn.discovery.layers import linear, mixture_layer, normalised
from podium.nn.discovery.refiner import TokenRefiner


class SlotAttention(TokenRefiner):
    r"""Group tokens by slots that compete for them, and add to each token what its slots say.

    Three (``iterations``) times, with slots :math:`S` [M, D] that start at learned values:

    .. math::
        A &= \mathrm{softmax}_{slots}(K(\mathrm{LN}(X)) Q(\mathrm{LN}(S))^\top / \sqrt D) \\
        S &\leftarrow \mathrm{GRU}(S, \bar A^\top V(\mathrm{LN}(X))), \qquad
            S \leftarrow S + \mathrm{MLP}(S)

    where :math:`\bar A` has columns that sum to 1; then :math:`X_{ref} = X + \mathrm{MLP}(A S)`.
    Slots start at learned values, not at draws from a learned Gaussian, so that a sample has one
    result.

    Args:
        features: D.
        slots: M.
        iterations: rounds of competition.
        generator: draws the initial values, on the CPU.

    Source: Locatello et al., Object-Centric Learning with Slot Attention, NeurIPS 2020,
    algorithm 1.
    """

    def __init__(
        self, features: int, slots: int, iterations: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.iterations = iterations
        self.start = nn.Parameter(torch.randn(slots, features, generator=generator))
        self.key_value = linear(features, 2 * features, generator)
        self.query = linear(features, features, generator)
        self.cell = nn.GRUCell(features, features, device="meta").to_empty(device="cpu")
        bound = 1 / math.sqrt(features)
        for parameter in self.cell.parameters():
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        self.first = linear(features, features, generator)
        self.second = linear(features, features, generator)
        self.spread = linear(features, features, generator)
        self.out = linear(features, features, generator, zero=True)

    def assignment(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return A [batch, token, M], whose rows sum to 1, and the slots [batch, M, D]."""
        batch, _, features = tokens.shape
        keys, values = self.key_value(normalised(tokens)).chunk(2, dim=-1)
        slots = self.start.expand(batch, -1, -1)
        weights = keys
        for _ in range(self.iterations):
            queries = self.query(normalised(slots)) / math.sqrt(features)
            weights = torch.bmm(keys, queries.mT).softmax(-1)
            share = weights / (weights.sum(1, keepdim=True) + 1e-8)
            update = torch.bmm(share.mT, values)
            slots = self.cell(update.flatten(0, 1), slots.flatten(0, 1)).view_as(slots)
            slots = slots + self.second(nn.functional.gelu(self.first(normalised(slots))))
        return weights, slots

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return what the last layer sees of every token [batch, token, D]."""
        assignment, slots = self.assignment(tokens)
        return nn.functional.gelu(mixture_layer(assignment, slots, self.spread))
