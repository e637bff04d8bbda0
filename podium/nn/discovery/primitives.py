"""Compositional primitive fields (CPF)."""

from __future__ import annotations

import math

import torch
from torch import nn

from podium.errors import InputError
from podium.nn.discovery.attention import HeadAttention
from podium.nn.discovery.layers import linear, mixture_layer, normalised, orthogonal
from podium.nn.discovery.refiner import TokenRefiner

LOG_FLOOR = math.log(1e-8)


class PrimitiveField(TokenRefiner):
    r"""Rebuild every token from a few primitives that are found in the sample itself.

    For the tokens :math:`X` [N, D] of one sample, M primitives and H heads:

    .. math::
        P &= P_{base} + \Phi([\mathrm{mean}(X); \max(X)]) \\
        A_{prior} &= \mathrm{softmax}_{tokens}(X W P^\top / \sqrt D), \qquad
            P_0 = A_{prior}^\top X \\
        W_{TP} &= \mathrm{softmax}_{tokens}(Q(P_0) K(X)^\top / \sqrt{D / H}), \qquad
            P_1 = P_0 + \gamma W_{TP} V(X) \\
        P_{ref} &= \mathrm{MLP}(\mathrm{attention}(P_1)) \\
        A_{data} &= \mathrm{softmax}_{primitives}(\overline{W_{TP}}^\top) \\
        A &= \mathrm{softmax}_{primitives}(
            \alpha_{prior} \log A_{prior} + \alpha_{data} \log A_{data}) \\
        X_{ref} &= X + \mathrm{MLP}(A P_{ref})

    What the paper leaves open: :math:`\gamma` is learned and starts at 0, :math:`\alpha` at 1; logs
    are cut off at log 1e-8; both MLPs are LN-Linear-GELU-Linear of width D, and :math:`\Phi` has
    rank D/8 and starts at 0. With these widths the module has the 7.5 million parameters that the
    paper states for D = 768 and M = 12; a full :math:`\Phi` alone would have 14.2 million.

    Args:
        features: D.
        primitives: M.
        heads: H; divides D.
        generator: draws the initial values, on the CPU.
        prior: whether :math:`A_{prior}` is part of :math:`A`.
        data: whether :math:`A_{data}` is.
        weights: whether :math:`\alpha` is learned; else it stays at 1.

    Raises:
        InputError: heads that do not divide the features, or neither prior.

    Source: Dai, Chen, Yu, Identifying Latent Concepts and Structures for Generalized Category
    Discovery, section 3.
    """

    def __init__(
        self,
        features: int,
        primitives: int,
        heads: int,
        generator: torch.Generator,
        *,
        prior: bool = True,
        data: bool = True,
        weights: bool = True,
    ) -> None:
        super().__init__()
        if features % heads:
            raise InputError(
                "the features cannot be shared out among the heads",
                where="heads",
                expected=f"a divisor of {features}, the number of features of a token",
                found=str(heads),
            )
        if not (prior or data):
            raise InputError(
                "tokens have no assignment to primitives left",
                where="prior, data",
                expected="at least one of them on",
                found="both off",
            )
        self.prior, self.data = prior, data
        rank = max(1, features // 8)
        self.base = nn.Parameter(torch.randn(primitives, features, generator=generator))
        self.summary = linear(2 * features, rank, generator)
        self.shift = linear(rank, primitives * features, generator, zero=True)
        self.compare = orthogonal(features, generator)
        self.among_tokens = HeadAttention(features, heads, generator)
        self.gamma = nn.Parameter(torch.zeros(()))
        self.among_primitives = HeadAttention(features, heads, generator)
        self.first = linear(features, features, generator)
        self.second = linear(features, features, generator)
        self.alpha_prior = nn.Parameter(torch.ones(()), requires_grad=weights and prior)
        self.alpha_data = nn.Parameter(torch.ones(()), requires_grad=weights and data)
        self.spread = linear(features, features, generator)
        self.out = linear(features, features, generator, zero=True)

    def codebook(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the primitives of every sample before they see its tokens: P [batch, M, D]."""
        summary = self.summary(torch.cat([tokens.mean(1), tokens.amax(1)], dim=-1))
        shift: torch.Tensor = self.shift(summary)
        return self.base + shift.view(-1, *self.base.shape)

    def assignment(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return A [batch, token, M], whose rows sum to 1, and the primitives P_1 [batch, M, D]."""
        primitives = self.codebook(tokens) @ self.compare.mT
        # (X W) P' is X (P W')': the product with W is taken over M primitives, not N tokens.
        similar = torch.bmm(tokens, primitives.mT) / math.sqrt(tokens.shape[-1])
        log_prior = similar.log_softmax(1)
        start = torch.bmm(log_prior.exp().mT, tokens)
        attention, moved = self.among_tokens(start, tokens)
        terms = []
        if self.prior:
            terms.append(self.alpha_prior * log_prior.clamp_min(LOG_FLOOR))
        if self.data:
            log_data = attention.mean(1).log_softmax(-1).clamp_min(LOG_FLOOR)
            terms.append(self.alpha_data * log_data)
        return sum(terms[1:], terms[0]).softmax(-1), start + self.gamma * moved

    def hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return what the last layer sees of every token [batch, token, D]."""
        assignment, primitives = self.assignment(tokens)
        _, mixed = self.among_primitives(primitives, primitives)
        refined = self.second(nn.functional.gelu(self.first(normalised(mixed))))
        return nn.functional.gelu(mixture_layer(assignment, refined, self.spread))
