"""Choose the checkpoint with the lowest Fréchet distance to the reward split."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import emit
from podium.metrics.frechet import Reference
from podium.metrics.moments import Moments
from podium.nn.discovery.settings import check_whole
from podium.nn.policy import rollouts
from podium.nn.policy.rewards import real_moments
from podium.nn.policy.rollouts import Sampling
from podium.nn.policy.settings import bad


def run(
    problem: Problem,
    context: Context,
    *,
    pictures: int = 44_000,
    steps: int = 10,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    """Sample the best single checkpoint.

    ``pictures``: generated in all to choose, the same number by every checkpoint, of equal classes
    and from equal noise; judged under the reward's map. ``steps``: of the sampler that makes them.
    """
    check_whole("pictures", pictures, 2)
    check_whole("steps", steps, 1)
    generation = read_problem(problem, context.device)
    count = len(generation.checkpoints)
    each = pictures // count
    if each < 2:
        raise bad("pictures", pictures, f"at least 2 for each of the {count} checkpoints")
    labels = rollouts.drawn_labels(generation, each, context.rng("classes"))
    reference = Reference(*real_moments(generation))
    distances = []
    for i, weights in enumerate(np.eye(count, dtype=np.float32)):
        generated = rollouts.pictures(
            generation,
            generation.merged(weights),
            labels,
            Sampling(steps),
            context.torch_generator("choice"),
        )
        features = rollouts.features(generation, generated)
        moments = Moments(features.shape[1])
        moments.update(features)
        distances.append(reference.distance(moments.mean, moments.covariance()))
        context.log(i, distance=distances[-1])
        context.progress(i + 1, count, "checkpoints")
    best = np.eye(count, dtype=np.float32)[int(np.argmin(distances))]
    return emit(generation, generation.merged(best), context, sampler=sampler)
