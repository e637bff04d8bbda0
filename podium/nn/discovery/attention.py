"""Multi-head attention that also says who attended to what."""

from __future__ import annotations

import torch
from torch import nn

from podium.nn.discovery.layers import linear


class HeadAttention(nn.Module):
    r"""Let targets T [M, D] read sources S [N, D]: :math:`\mathrm{softmax}_S(Q K^\top/\sqrt{d}) V`.

    With H heads of d = D / H features each, side by side in the result; no output projection.

    Args:
        features: D.
        heads: H; divides D.
        generator: draws the initial values, on the CPU.
    """

    def __init__(self, features: int, heads: int, generator: torch.Generator) -> None:
        super().__init__()
        self.heads = heads
        # Three layers, not one cut in three: the gradient of a cut fills the whole with zeros.
        self.query, self.key, self.value = (linear(features, features, generator) for _ in range(3))

    def forward(
        self, targets: torch.Tensor, sources: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Attend.

        Args:
            targets: [batch, M, D].
            sources: [batch, N, D].

        Returns:
            Attention [batch, head, N, M], whose sum over the sources is 1, and what is read
            [batch, M, D].
        """
        queries = self._split(self.query(targets))
        keys, values = self._split(self.key(sources)), self._split(self.value(sources))
        # Sources before targets: a softmax over any axis but the last is vectorised along the last.
        scores = torch.matmul(keys, queries.mT * queries.shape[-1] ** -0.5)
        attention = scores.softmax(-2)
        return attention, torch.matmul(attention.mT, values).transpose(1, 2).flatten(2)

    def _split(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, row, D] to [batch, head, row, D / heads]."""
        batch, rows, _ = values.shape
        return values.view(batch, rows, self.heads, -1).transpose(1, 2)
