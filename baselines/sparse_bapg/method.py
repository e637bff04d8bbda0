"""BAPG with sparse products on an alignment problem."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.alignment import feasible
from podium.transport.bapg import bapg


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    epsilon: float = 0.02,
    steps: int = 1000,
    tolerance: float = 1e-6,
    dtype: Literal["float32", "float64"] = "float32",
) -> Prediction:
    """Take the alternating steps of ``pot_bapg``, then an assignment or a scaling in float64.

    Args:
        problem: the two spaces; graphs are normalised by degree.
        context: what the engine gives.
        start: the first plan.
        epsilon: step weight times the number of nodes.
        steps: largest number of pairs of half steps.
        tolerance: relative change of the plan at which to stop.
        dtype: of the iteration.
    """
    context.progress(0, 1, "BAPG")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    if source.sparse and target.sparse:
        source, target = source.normalised(), target.normalised()
    plan = bapg(
        source,
        target,
        a,
        b,
        first,
        epsilon=epsilon / max(a.size, b.size),
        steps=steps,
        tolerance=tolerance,
        dtype=dtype,
    )
    return feasible(plan, a, b).prediction()
