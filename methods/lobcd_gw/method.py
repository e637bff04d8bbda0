"""LoBCD-GW on an alignment problem."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport.alignment import align
from podium.transport.costs import costs, weights
from podium.transport.solver import Options


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    sharpness: float = 160.0,
    scalings: int = 20,
    steps: int = 200,
    rounds: int = 6,
    dtype: Literal["float32", "float64"] = "float32",
) -> Prediction:
    """Align by localised block coordinate descent.

    Args:
        start: the plan to start from.
        sharpness: exponent of a mirror step for a pair of nodes whose neighbourhoods agree fully.
        scalings: Sinkhorn iterations in a step, at most.
        steps: mirror steps, at most.
        rounds: blocks that are cut out and solved, at most.
        dtype: of the descent; the result is float64 with exact marginals.
    """
    source, target = costs(problem.public)
    a, b = weights(problem.public)
    result = align(
        source,
        target,
        a,
        b,
        begin=start,
        options=Options(
            sharpness=sharpness,
            scalings=scalings,
            steps=steps,
            rounds=rounds,
            dtype=dtype,
            device=context.device,
        ),
    )
    for number, step in enumerate(result.trace):
        context.log(number, objective=step.objective, rows=step.rows)
    return result.prediction()
