r"""Penalties on a bank's Jacobians or weights, one value a network.

Each is called with what the forward pass has already made and with the strength
:math:`\lambda_b` of every network, and returns the weighted penalty [nets].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from podium.errors import InputError
from podium.nn.batched_mlp import MLPBank, by_lag


@dataclass(frozen=True)
class Pass:
    """One forward pass: the bank, its ``inputs`` [rows, inputs], the hidden layer it made.

    ``generator`` feeds penalties that are estimated from random projections.
    """

    bank: MLPBank
    inputs: torch.Tensor
    hidden: torch.Tensor
    generator: torch.Generator


Penalty = Callable[[Pass, torch.Tensor], torch.Tensor]


def shap(now: Pass, strength: torch.Tensor) -> torch.Tensor:
    r"""Return the exact Shap penalty of every network.

    .. math:: \tfrac{\lambda}{2} E\big[\|J\|_2^2 + (\textstyle\sum_j |J_j|)^2\big]
        = \lambda \sum_j \phi_j

    Source: Shapley Regularized Neural Granger Causality, eq. (29).
    """
    jacobian = now.bank.jacobian(now.hidden)
    squares = jacobian.square().sum(-1)
    sums = jacobian.abs().sum(-1)
    return 0.5 * strength * (squares + sums.square()).mean(-1)


def fast_shap(now: Pass, strength: torch.Tensor) -> torch.Tensor:
    r"""Return an unbiased estimate of the F-Shap penalty from one pair of sign vectors a row.

    .. math:: \tfrac{\lambda}{2} E\big[\|J\|_2^2 + \|J\|_2^4\big], \qquad
        \|J\|_2^2 \approx \tfrac12 (u_1^2 + u_2^2), \quad
        \|J\|_2^4 \approx u_1^2 u_2^2, \quad u_s = J z_s

    :math:`z_1, z_2` are independent Rademacher vectors; both meet the same Jacobian.

    Source: Shapley Regularized Neural Granger Causality, eq. (30), (51) and algorithm 1.
    """
    shape = (2, *now.inputs.shape)
    signs = torch.randint(0, 2, shape, generator=now.generator, device=now.generator.device)
    first, second = (2 * signs - 1).to(now.inputs)
    return fast_shap_of(
        now.bank.directional(now.hidden, first), now.bank.directional(now.hidden, second), strength
    )


def fast_shap_of(u1: torch.Tensor, u2: torch.Tensor, strength: torch.Tensor) -> torch.Tensor:
    """Return the F-Shap estimate from two projected Jacobians [nets, rows]: [nets]."""
    a, b = u1.square(), u2.square()
    return 0.5 * strength * (0.5 * (a + b) + a * b).mean(-1)


def jacobian_l1(now: Pass, strength: torch.Tensor) -> torch.Tensor:
    r"""Return :math:`\lambda E\|J\|_1` of every network (Jacob-L1)."""
    return strength * now.bank.jacobian(now.hidden).abs().sum(-1).mean(-1)


def jacobian_frobenius(now: Pass, strength: torch.Tensor) -> torch.Tensor:
    r"""Return :math:`\lambda E\|J\|_2^2` of every network, exact (Jacob-F, JRNGC)."""
    return strength * now.bank.jacobian(now.hidden).square().sum(-1).mean(-1)


def unpenalised(now: Pass, strength: torch.Tensor) -> torch.Tensor:
    """Return zero for every network."""
    return torch.zeros_like(strength, device=now.hidden.device)


def hierarchical_group_lasso(lags: int, ridge: float) -> Penalty:
    r"""Return the first-layer penalty of component-wise networks, with a ridge on the second layer.

    .. math:: \lambda \sum_j \sum_{k=1}^{K} \| W_1[\cdot, k..K, j] \|_2 + r \|w_2\|_2^2

    Later lags stand in more groups, so they go first. Without the ridge a network could shrink its
    first layer for nothing by growing the second.

    Source: Neural Granger Causality (Tank et al., 2021), penalty "H".

    Raises:
        InputError: ``ridge`` is negative or not finite.
    """
    if not 0 <= ridge < math.inf:
        raise InputError(
            "bad value", where="ridge", expected="a finite number of at least 0", found=repr(ridge)
        )

    def penalty(now: Pass, strength: torch.Tensor) -> torch.Tensor:
        squares = by_lag(now.bank.w1, lags).square().sum(1)
        tails = squares.flip(1).cumsum(1)
        # The norm has no gradient at zero; the offset gives it the subgradient zero there.
        groups = (tails + 1e-12).sqrt().sum((1, 2))
        return strength * groups + ridge * now.bank.w2.square().sum((1, 2))

    return penalty
