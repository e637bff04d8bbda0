"""The base generator, untouched: what every other entry must beat."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import STEPS, Sampler, emit


def run(
    problem: Problem, context: Context, *, sampler: Sampler = "ode", steps: int = STEPS
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
