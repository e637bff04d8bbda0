"""Gromov-Wasserstein by conditional gradient: POT's ``gromov_wasserstein``."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    max_iter: int = 1000,
    transport_iter: int = 10_000_000,
) -> Prediction:
    """Descend on the costs as given, with an exact line search.

    On adjacency matrices POT's CG is best unnormalised. The inner transport's iteration limit is
    raised: at POT's own 100,000 it stops early from 2000 nodes on and goes on with what it has.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        max_iter: largest number of steps.
        transport_iter: largest number of pivots of one inner transport problem.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "conditional gradient")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    plan = ot.gromov.gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        symmetric=True,
        G0=spaces.start(start, source, target, a, b),
        max_iter=max_iter,
        numItermaxEmd=transport_iter,
    )
    return {"coupling": plan}
