"""The base generator, untouched: what every other entry must beat."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import emit


def run(
    problem: Problem, context: Context, *, sampler: Literal["ode", "sde"] = "ode", steps: int = 10
) -> Prediction:
    """Sample the base generator.

    Args:
        problem: the generator, and the classes asked for.
        context: what the engine gives.
        sampler: ``ode`` (Euler steps) or ``sde``.
        steps: of the sampler.
    """
    generation = read_problem(problem, context.device)
    return emit(generation, generation.base(), context, sampler=sampler, steps=steps)
