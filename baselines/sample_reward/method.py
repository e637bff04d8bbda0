"""Policy gradients towards pictures that are each typical of their class."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import emit
from podium.nn.policy.rewards import TypicalityReward
from podium.nn.policy.settings import PolicySettings
from podium.nn.policy.training import train_by_reward


def run(
    problem: Problem,
    context: Context,
    *,
    updates: int = 60,
    subsets: int = 100,
    size: int = 4,
    steps: int = 10,
    noise_scale: float = 0.7,
    trained_steps: int = 5,
    keep: float = 0.25,
    order: Literal["signed", "absolute"] = "absolute",
    clip: float = 1e-4,
    learning_rate: float = 1e-4,
    decay: float = 0.9,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    """Train the base generator by a reward of each picture alone, and sample it.

    The reward is ``TypicalityReward``: minus the squared Mahalanobis distance to the mean of the
    asked class in the reward split. Arguments as of ``distribution_reward``, from which
    it differs in the reward alone: an update generates ``subsets`` x ``size`` pictures.

    Source: Black et al., Training Diffusion Models with Reinforcement Learning, section 4; Liu et
    al., Flow-GRPO, section 4.
    """
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
    reward = TypicalityReward(generation, context.rng("classes"))
    model = train_by_reward(
        generation, generation.base(), reward, settings, context, refresh=settings.updates + 1
    )
    return emit(generation, model, context, sampler=sampler, noise_scale=noise_scale)
