"""Entropic Gromov-Wasserstein by projected gradient: POT's ``entropic_gromov_wasserstein``."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.entropic import entropic


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.8,
    graph_scalings: int = 100,
    cloud_epsilon: float = 3e-4,
    cloud_scalings: int = 100,
    max_iter: int = 300,
    tolerance: float = 1e-9,
) -> Prediction:
    """Solve the entropic problem on the costs as given and return POT's plan, whatever it is.

    Where the kernel underflows, POT warns and returns zeros, which the scorer refuses: on most
    graphs of 400 nodes at .2 / n, at .4 / n on some with large hubs from 1000 nodes on. Graphs
    stop, too, once the largest entries of the rows are at rest, as every solver here does: POT,
    which has no such test, is called for a few steps at a time.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: entropic weight times the number of nodes, for sparse costs (the gradient of
            a graph of bounded degree falls as 1 / n).
        graph_scalings: Sinkhorn scalings in each step, at most, for sparse costs.
        cloud_epsilon: entropic weight for dense costs, whose largest is 1.
        cloud_scalings: Sinkhorn scalings in each step, at most, for dense costs.
        max_iter: largest number of steps.
        tolerance: change of the plan at which to stop, POT's default.
    """
    context.progress(0, 1, "entropic projected gradient")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    graphs = source.sparse
    epsilon = graph_epsilon / max(a.size, b.size) if graphs else cloud_epsilon
    plan = entropic(
        "PGD",
        source,
        target,
        a,
        b,
        first,
        epsilon=epsilon,
        scalings=graph_scalings if graphs else cloud_scalings,
        max_iter=max_iter,
        tolerance=tolerance,
    )
    return {"coupling": plan}
