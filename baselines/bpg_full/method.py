"""Mirror descent on the whole plan: LoBCD-GW with localisation off."""

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
    """Align by the steps of ``lobcd_gw``, each taken on everything; its arguments are the same."""
    options = Options(
        sharpness=sharpness,
        scalings=scalings,
        tolerance=tolerance,
        steps=steps,
        rounds=rounds,
        attempts=attempts,
        localise=False,
        dtype=dtype,
        device=context.device,
    )
    return align_problem(problem, context, start, options)
