"""Sampled Gromov-Wasserstein: POT's ``sampled_gromov_wasserstein``."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.pot import load_pot


def run(
    problem: Problem,
    context: Context,
    *,
    samples: int = 50,
    epsilon: float = 0.1,
    max_iter: int = 100,
) -> Prediction:
    """Estimate the gradient from ``samples`` pairs in each step.

    Graphs are normalised by degree first. POT starts from the product of the weights and takes no
    other start.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        samples: pairs drawn from the plan in each step.
        epsilon: entropic weight, the estimated gradient's largest entry being 1.
        max_iter: largest number of steps.
    """
    ot = load_pot()
    context.progress(0, 1, "sampled Frank-Wolfe")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    if source.sparse:
        source, target = source.normalised(), target.normalised()
    plan = ot.gromov.sampled_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        _square_loss,
        nb_samples_grad=samples,
        epsilon=epsilon,
        max_iter=max_iter,
        random_state=np.random.RandomState(context.rng("samples").bit_generator),
    )
    return {"coupling": plan}


def _square_loss(x: Any, y: Any) -> Any:
    return (x - y) ** 2
