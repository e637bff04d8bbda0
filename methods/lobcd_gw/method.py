"""LoBCD-GW on an alignment problem."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport.alignment import align_problem
from podium.transport.solver import Options


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    sharpness: float = 160.0,
    scalings: int = 100,
    tolerance: float = 3e-4,
    steps: int = 200,
    rounds: int = 6,
    attempts: int = 4,
    dtype: Literal["float32", "float64"] = "float32",
) -> Prediction:
    """Align by localised block coordinate descent.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the plan to start from.
        sharpness: exponent of a mirror step for a pair of nodes whose neighbourhoods agree fully.
        scalings: Sinkhorn iterations in a step, at most.
        tolerance: relative gap of the columns at which these stop.
        steps: mirror steps, at most.
        rounds: blocks that are cut out and solved, at most.
        attempts: descents, at most, each with steps twice as long as the one before; a
            further one is made only where over a tenth of the nodes did not settle.
        dtype: of the descent; the result is float64 with exact marginals.
    """
    options = Options(
        sharpness=sharpness,
        scalings=scalings,
        tolerance=tolerance,
        steps=steps,
        rounds=rounds,
        attempts=attempts,
        dtype=dtype,
        device=context.device,
    )
    return align_problem(problem, context, start, options)
