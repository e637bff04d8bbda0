"""Fast approximate quadratic programming: scipy's ``quadratic_assignment``."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.errors import InputError
from podium.transport import costs as spaces
from podium.transport.marginals import round_to_marginals

Floats = npt.NDArray[np.float64]


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    max_iter: int = 100,
) -> Prediction:
    """Match nodes one to one, spaces of unequal size after padding with isolated nodes.

    Args:
        problem: the two spaces; the nodes of each must weigh the same, since a permutation knows no
            weights.
        context: what the engine gives.
        start: the first doubly stochastic matrix, flat or a soft match of the degrees.
        max_iter: largest number of steps.

    Raises:
        InputError: unequal weights within a space.
    """
    from scipy.optimize import quadratic_assignment

    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    for side, mass in (("source", a), ("target", b)):
        if np.ptp(mass) > 1e-12:
            raise InputError(
                "FAQ matches nodes of equal weight",
                where=f"{side}_weights",
                expected="the same weight for every node",
                found=f"{mass.min():.6g} to {mass.max():.6g}",
            )
    context.progress(0, 1, "FAQ")
    size = max(a.size, b.size)
    found = quadratic_assignment(
        _padded(source.dense(), size),
        _padded(target.dense(), size),
        method="faq",
        options={
            "maximize": True,
            "maxiter": max_iter,
            "P0": doubly_stochastic(spaces.start(start, source, target, a, b)),
        },
    )
    match = found.col_ind[: a.size]
    inside = match < b.size
    rows = np.flatnonzero(inside)
    plan = np.zeros((a.size, b.size))
    plan[rows, match[inside]] = np.minimum(a[rows], b[match[inside]])
    return {"coupling": round_to_marginals(plan, a, b)}


def doubly_stochastic(plan: Floats) -> Floats:
    """Return a plan [n, m] of uniform weights as a doubly stochastic matrix [max(n, m)] * 2.

    The rows (or columns) that padding adds share evenly what the others leave.
    """
    n, m = plan.shape
    size = max(n, m)
    padded = np.full((size, size), 1.0 / size)
    padded[:n, :m] = plan * min(n, m)
    return padded


def _padded(cost: Floats, size: int) -> Floats:
    return np.pad(cost, (0, size - len(cost)))
