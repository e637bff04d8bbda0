"""What a trained network says about its inputs: Info-Shap, mean absolute Jacobian, weight norms."""

from __future__ import annotations

from collections.abc import Callable

import torch

from podium.nn.batched_mlp import MLPBank, by_lag

# Rows are worked off in parts, so that the Jacobians of a long series need not fit in memory.
ROWS_AT_ONCE = 2048

Readout = Callable[[MLPBank, torch.Tensor, int], torch.Tensor]


def info_shap(jacobian: torch.Tensor) -> torch.Tensor:
    r"""Return the Info-Shap value of every input.

    .. math:: \phi_{ij} = E[J_{ij}^2] + \tfrac12 \sum_{k \ne j} E|J_{ij} J_{ik}|

    The sum over k is :math:`|J_{ij}| (\rho_i - |J_{ij}|)` with the row sum
    :math:`\rho_i = \sum_k |J_{ik}|`. Zero exactly where the input never moves the output.

    Args:
        jacobian: [..., rows, inputs]; the mean is over the rows.

    Returns:
        [..., inputs], non-negative, higher for more influence.

    Source: Shapley Regularized Neural Granger Causality, eq. (13) and (28).
    """
    size = jacobian.abs()
    return (0.5 * size * (size + size.sum(-1, keepdim=True))).mean(-2)


def mean_absolute_jacobian(jacobian: torch.Tensor) -> torch.Tensor:
    r"""Return :math:`E|J_{ij}|` over the rows: [..., rows, inputs] to [..., inputs].

    Source: Jacobian Regularizer-based Neural Granger Causality (Zhou et al., 2024).
    """
    return jacobian.abs().mean(-2)


def strongest_lag(scores: torch.Tensor, lags: int) -> torch.Tensor:
    """Return each variable's largest score over its lags: [..., lags * variables], lag-major."""
    return scores.reshape(*scores.shape[:-1], lags, -1).amax(-2)


def _mean_over_rows(
    measure: Callable[[torch.Tensor], torch.Tensor], bank: MLPBank, inputs: torch.Tensor
) -> torch.Tensor:
    total = inputs.new_zeros(bank.nets, inputs.shape[1])
    for part in torch.split(inputs, ROWS_AT_ONCE):
        total += measure(bank.jacobian(bank.hidden(part))) * len(part)
    return total / len(inputs)


def info_shap_readout(bank: MLPBank, inputs: torch.Tensor, lags: int) -> torch.Tensor:
    """Return Info-Shap at ``inputs`` [rows, lags * variables], strongest lag: [nets, variables]."""
    return strongest_lag(_mean_over_rows(info_shap, bank, inputs), lags)


def jacobian_readout(bank: MLPBank, inputs: torch.Tensor, lags: int) -> torch.Tensor:
    """Return the mean absolute Jacobian, strongest lag: [nets, variables]."""
    return strongest_lag(_mean_over_rows(mean_absolute_jacobian, bank, inputs), lags)


def first_layer_readout(bank: MLPBank, inputs: torch.Tensor, lags: int) -> torch.Tensor:  # noqa: ARG001
    r"""Return the norm of a variable's first-layer weights over lags and units: [nets, variables].

    .. math:: s_{ij} = \| W_{1,i}[\cdot, \cdot, j] \|_2

    Source: Neural Granger Causality (Tank et al., 2021).
    """
    return by_lag(bank.w1, lags).square().sum((1, 2)).sqrt()
