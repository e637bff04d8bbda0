"""Gromov-Wasserstein by Bregman alternating projected gradient: POT's ``BAPG``."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.pot import load_pot


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.02,
    cloud_epsilon: float = 1e-3,
    max_iter: int = 1000,
) -> Prediction:
    """Take alternating steps for rows and columns, on graphs normalised by degree.

    The method drops one of the two marginals in each half step, so its plan meets them only nearly;
    it is returned as POT gives it, and its marginal gap is one of the metrics.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: step weight times the number of nodes, for sparse costs.
        cloud_epsilon: step weight for dense costs, whose largest is 1.
        max_iter: largest number of steps.
    """
    ot = load_pot()
    context.progress(0, 1, "BAPG")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    epsilon = cloud_epsilon
    if source.sparse:
        source, target = source.normalised(), target.normalised()
        epsilon = graph_epsilon / max(a.size, b.size)
    plan = ot.gromov.BAPG_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        epsilon=epsilon,
        symmetric=True,
        G0=first,
        max_iter=max_iter,
    )
    return {"coupling": plan}
