"""Gromov-Wasserstein by Bregman alternating projected gradient: POT's ``BAPG``."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.02,
    graph_iter: int = 1000,
    cloud_epsilon: float = 0.03,
    cloud_iter: int = 200,
) -> Prediction:
    """Take alternating steps for rows and columns, on graphs normalised by degree.

    The method drops one of the two marginals in each half step, so its plan meets them only nearly;
    it is returned as POT gives it, and its marginal gap is one of the metrics. The constant terms
    of the gradient (POT's ``marginal_loss``) are left out on graphs, as the authors do, and kept on
    clouds: each is much worse the other way round.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: step weight times the number of nodes, for sparse costs.
        graph_iter: largest number of steps for sparse costs.
        cloud_epsilon: step weight for dense costs, whose largest is 1.
        cloud_iter: largest number of steps for dense costs; it seldom converges by POT's test.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "BAPG")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    graphs = source.sparse
    if graphs:
        source, target = source.normalised(), target.normalised()
    plan = ot.gromov.BAPG_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        epsilon=graph_epsilon / max(a.size, b.size) if graphs else cloud_epsilon,
        symmetric=True,
        G0=first,
        max_iter=graph_iter if graphs else cloud_iter,
        marginal_loss=not graphs,
    )
    return {"coupling": plan}
