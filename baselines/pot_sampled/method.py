"""Sampled Gromov-Wasserstein: POT's ``sampled_gromov_wasserstein``."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces


def run(
    problem: Problem,
    context: Context,
    *,
    samples: int = 20,
    graph_epsilon: float = 0.1,
    graph_iter: int = 100,
    cloud_epsilon: float = 0.0,
    cloud_iter: int = 100,
) -> Prediction:
    """Estimate the gradient from ``samples`` pairs in each step.

    POT starts from the product of the weights and takes no other start.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        samples: pairs drawn from the plan in each step.
        graph_epsilon: entropic weight for sparse costs, the estimated gradient's largest entry
            being 1.
        graph_iter: largest number of steps for sparse costs.
        cloud_epsilon: the same for dense costs; 0 is exact transport, which is better and faster
            there.
        cloud_iter: largest number of steps for dense costs.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "sampled Frank-Wolfe")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    plan = ot.gromov.sampled_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        _square_loss,
        nb_samples_grad=samples,
        epsilon=graph_epsilon if source.sparse else cloud_epsilon,
        max_iter=graph_iter if source.sparse else cloud_iter,
        random_state=np.random.RandomState(context.rng("samples").bit_generator),
    )
    return {"coupling": plan}


def _square_loss(x: Any, y: Any) -> Any:
    return (x - y) ** 2
