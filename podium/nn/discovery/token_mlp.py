"""The control of modules on tokens: an MLP on every token, with as many parameters."""

from __future__ import annotations

import torch
from torch import nn

from podium.nn.discovery.layers import linear, normalised
from podium.nn.discovery.refiner import TokenRefiner


class TokenMLP(TokenRefiner):
    r"""Refine every token by itself: :math:`X_{ref} = X + \mathrm{MLP}(X)`, LN-Linear-GELU-Linear.

    Args:
        features: D.
        width: hidden units.
        generator: draws the initial values, on the CPU.
    """

    def __init__(self, features: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = linear(features, width, generator)
        self.out = linear(width, features, generator, zero=True)

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the hidden layer of every token [batch, token, width]."""
        return nn.functional.gelu(self.first(normalised(tokens)))


def matched_token_mlp(features: int, size: int, generator: torch.Generator) -> TokenMLP:
    """Return the smallest token MLP with at least ``size`` parameters.

    It has at most one hidden unit's parameters (2 D + 1) more than that.
    """
    each = 2 * features + 1
    width = max(1, -((features - size) // each))
    module = TokenMLP(features, width, generator)
    if not size <= module.size < max(size, features) + each + 1:
        raise AssertionError(f"{module.size} parameters do not match {size}")
    return module
