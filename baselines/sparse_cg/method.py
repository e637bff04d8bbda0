"""Frank-Wolfe with sparse products on an alignment problem."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.frank_wolfe import frank_wolfe
from podium.transport.marginals import round_to_marginals


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    steps: int = 1000,
    tolerance: float = 1e-9,
) -> Prediction:
    """Match nodes one to one, spaces of unequal size after padding with isolated nodes.

    Args:
        problem: the two spaces; the nodes of each must weigh the same.
        context: what the engine gives.
        start: the first plan.
        steps: largest number of steps.
        tolerance: smallest relative gain of a step, the default of POT's conditional gradient.
    """
    context.progress(0, 1, "Frank-Wolfe")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    plan = frank_wolfe(source, target, a, b, first, steps=steps, tolerance=tolerance)
    return {"coupling": round_to_marginals(plan, a, b)}
