"""Policy gradients towards a lower Fréchet distance of the whole generated set."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import emit
from podium.nn.discovery.settings import check_whole
from podium.nn.policy.rewards import DistributionReward
from podium.nn.policy.rollouts import Sampling
from podium.nn.policy.settings import PolicySettings
from podium.nn.policy.training import train_by_reward


def run(
    problem: Problem,
    context: Context,
    *,
    updates: int = 60,
    subsets: int = 100,
    size: int = 4,
    reference: int = 1000,
    refresh: int = 3,
    steps: int = 10,
    noise_scale: float = 0.7,
    trained_steps: int = 5,
    keep: float = 0.25,
    order: Literal["signed", "absolute"] = "absolute",
    clip: float = 1e-4,
    learning_rate: float = 1e-4,
    decay: float = 0.9,
    recorded: int = 64,
    shuffled: bool = False,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    r"""Train the base generator by the rewards of subsets, and sample it.

    A generated set G of ``reference`` pictures is renewed every ``refresh`` updates. In an update,
    ``subsets`` subsets of ``size`` pictures each are generated again by the stochastic sampler; a
    subset's reward is minus the Fréchet distance, under the reward's map and to the reward split,
    of G with the fresh pictures in place of the old. Further arguments: see ``PolicySettings``.
    ``recorded``: how many of the first rewards to return, with the same ones computed from all
    features. ``shuffled``: rewards go to other subsets than their own, a control. ``sampler``: of
    the samples that are returned; training always uses the stochastic one.

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 3.
    """
    for name, value, least in (("reference", reference, 2), ("refresh", refresh, 1)):
        check_whole(name, value, least)
    settings = PolicySettings(
        updates=updates,
        subsets=subsets,
        size=size,
        steps=steps,
        noise_scale=noise_scale,
        trained_steps=trained_steps,
        keep=keep,
        order=order,
        clip=clip,
        learning_rate=learning_rate,
        decay=decay,
    )
    generation = read_problem(problem, context.device)
    reward = DistributionReward(
        generation,
        min(reference, len(generation.sample_labels)),
        Sampling(steps, noise_scale),
        context.rng("subsets"),
        context.torch_generator("reference"),
        recorded=recorded,
        shuffled=shuffled,
    )
    model = train_by_reward(
        generation, generation.base(), reward, settings, context, refresh=refresh
    )
    samples = emit(generation, model, context, sampler=sampler, noise_scale=noise_scale)
    return {
        **samples,
        "subset_rewards": np.array(reward.given),
        "recomputed_rewards": np.array(reward.recomputed),
    }
