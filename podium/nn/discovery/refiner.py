"""What a module between the backbone and the host's head is."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn


class TokenRefiner(nn.Module, ABC):
    r"""Refine tokens: :math:`X_{ref} = X + h(X)\, W_o + b_o`.

    ``out`` (:math:`W_o, b_o`) is zero at the start, so that a module starts as the plain
    patch mean. A subclass sets ``out`` and defines :meth:`hidden`.
    """

    out: nn.Linear

    @abstractmethod
    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return what the last layer sees of every token: [batch, token, D] to [..., width]."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the refined tokens [batch, token, D]."""
        refined: torch.Tensor = tokens + self.out(self.hidden(tokens))
        return refined

    def pooled(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the mean of the refined tokens [batch, D].

        The last layer is linear, so it is applied once, to the mean of what it sees.
        """
        mean: torch.Tensor = tokens.mean(1) + self.out(self.hidden(tokens).mean(1))
        return mean

    @property
    def size(self) -> int:
        """Number of trainable parameters."""
        return sum(p.numel() for p in self.parameters() if p.requires_grad)
