"""Merge the checkpoints of a training by a fixed moving average."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import emit
from podium.nn.policy.merging import moving_average
from podium.nn.policy.settings import check_share


def run(
    problem: Problem,
    context: Context,
    *,
    decay: float = 0.7,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    """Sample the exponential moving average of the checkpoints; nothing is trained or chosen.

    ``decay``: from one checkpoint to the one before it; 1 weighs all alike.

    Source: Karras et al., Analyzing and Improving the Training Dynamics of Diffusion Models,
    section 3, averages made after training.
    """
    check_share("decay", decay)
    generation = read_problem(problem, context.device)
    weights = moving_average(len(generation.checkpoints), decay)
    return emit(generation, generation.merged(weights), context, sampler=sampler)
