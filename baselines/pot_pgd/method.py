"""Entropic Gromov-Wasserstein by projected gradient: POT's ``entropic_gromov_wasserstein``."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.4,
    cloud_epsilon: float = 1e-3,
    max_iter: int = 300,
) -> Prediction:
    """Solve the entropic problem and return POT's plan, whatever it is.

    Where the kernel underflows, as on graphs with hubs from some 500 nodes on, POT warns and
    returns zeros; the scorer then refuses the plan.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: entropic weight times the number of nodes, for sparse costs (the gradient of
            a graph of bounded degree falls as 1 / n).
        cloud_epsilon: entropic weight for dense costs, whose largest is 1.
        max_iter: largest number of steps.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "entropic projected gradient")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    epsilon = graph_epsilon / max(a.size, b.size) if source.sparse else cloud_epsilon
    plan = ot.gromov.entropic_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        epsilon=epsilon,
        symmetric=True,
        G0=spaces.start(start, source, target, a, b),
        max_iter=max_iter,
        solver="PGD",
    )
    return {"coupling": plan}
