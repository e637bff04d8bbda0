"""Train a bank of networks under a penalty, and choose the penalty on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from podium.nn.batched_mlp import MLPBank
from podium.nn.penalties import Pass, Penalty

# Called every ``check_every`` steps and at the end with the step and the squared errors of the
# rows just trained on, averaged per network [nets].
Check = Callable[[int, MLPBank, torch.Tensor], None]


def losses(now: Pass, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of every network: ``targets`` [nets, rows] to [nets]."""
    return (now.bank.output(now.hidden) - targets).square().mean(-1)


def train(
    start: MLPBank,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    *,
    penalty: Penalty,
    strength: torch.Tensor,
    generator: torch.Generator,
    learning_rate: float,
    steps: int,
    stop_at: int | None = None,
    check: Check | None = None,
    check_every: int = 10,
) -> MLPBank:
    r"""Train every network of a bank by full-batch Adam; networks never influence each other.

    .. math:: L_b = \tfrac1n \sum_t (g_b(x_t) - y_{b,t})^2 + \lambda_b \Omega_b

    The rate falls from ``learning_rate`` to 0 along half a cosine over ``steps``; ``stop_at`` ends
    the run earlier on that same schedule.

    Args:
        start: where to start; left unchanged.
        inputs: [rows, inputs], seen by every network.
        targets: [nets, rows].
        penalty: one of ``podium.nn.penalties``.
        strength: :math:`\lambda_b` [nets].
        generator: for penalties that draw random projections.
        learning_rate: Adam's rate at the start.
        steps: length of the schedule.
        stop_at: how many steps to take; ``steps`` if None.
        check: see ``Check``; called without gradients.
        check_every: steps between two checks.

    Returns:
        The trained bank.
    """
    bank = start.trainable()
    optimiser = torch.optim.Adam(bank.parameters, lr=learning_rate, fused=True)
    last = steps if stop_at is None else stop_at
    for step in range(last):
        optimiser.param_groups[0]["lr"] = (
            0.5 * learning_rate * (1 + math.cos(math.pi * step / steps))
        )
        now = Pass(bank, inputs, bank.hidden(inputs), generator)
        fit = losses(now, targets)
        if check is not None and step % check_every == 0:
            with torch.no_grad():
                check(step, bank, fit.detach())
        optimiser.zero_grad()
        torch.autograd.backward((fit + penalty(now, strength)).sum())
        optimiser.step()
    if check is not None:
        with torch.no_grad():
            check(last, bank, losses(Pass(bank, inputs, bank.hidden(inputs), generator), targets))
    return bank.detached()


def one_standard_error(
    errors: torch.Tensor, penalties: Sequence[float], *, blocks: int = 10
) -> int:
    r"""Return the index of the largest penalty that predicts as well as the best one.

    The best mean error plus its standard error is the limit; of the penalties under it the largest
    is taken. The plain minimum keeps weak spurious inputs, which cost next to nothing in error.
    Errors close in time are alike, so the standard error is that of the means of ``blocks``
    contiguous blocks.

    Args:
        errors: squared errors on held-out rows in order of time [penalties, rows].
        penalties: the penalties, in any order.
        blocks: how many blocks; at most one a row.

    Returns:
        The chosen index.

    Source: Hastie, Tibshirani, Friedman, The Elements of Statistical Learning, section 7.10.
    """
    means = errors.mean(-1)
    best = int(means.argmin())
    parts = torch.tensor_split(errors[best], min(blocks, errors.shape[-1]))
    block_means = torch.stack([part.mean() for part in parts])
    spread = float(block_means.std()) / math.sqrt(len(parts)) if len(parts) > 1 else 0.0
    limit = float(means[best]) + spread
    near = [k for k in range(len(penalties)) if float(means[k]) <= limit]
    return max(near, key=lambda k: penalties[k])
