"""Policy gradients on the steps of a flow's stochastic sampler."""

from __future__ import annotations

import copy

import numpy as np
import torch

from podium.contracts import Context
from podium.errors import InputError
from podium.generation.problem import Generation
from podium.nn.flow.sampling import Trajectory, step_log_probability
from podium.nn.flow.sit import SiT
from podium.nn.policy import rollouts
from podium.nn.policy.advantages import batch_advantages, top_share
from podium.nn.policy.loss import clipped_loss
from podium.nn.policy.rewards import Reward
from podium.nn.policy.rollouts import BLOCK, Sampling
from podium.nn.policy.settings import PolicySettings


def train_by_reward(
    generation: Generation,
    model: SiT,
    reward: Reward,
    settings: PolicySettings,
    context: Context,
    *,
    refresh: int,
) -> SiT:
    """Train ``model`` in place towards a reward; return the moving average of its weights.

    An update: pictures by the SDE sampler of the current model, their rewards, advantages within
    the batch, the pictures with the largest share of them, one step of Adam on the clipped loss
    of their sampler steps. Nothing but the reward differs between entries. The moving average over
    updates is that of Flow-GRPO's code.

    Args:
        generation: the problem.
        model: trained in place.
        reward: called with the features of the pictures of each update.
        settings: of the training.
        context: what the engine gives.
        refresh: updates after which the reward is renewed with the current model.

    Raises:
        InputError: the training diverged.

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 3;
    Liu et al., Flow-GRPO, section 4.
    """
    sampling = Sampling(settings.steps, settings.noise_scale)
    noise = context.torch_generator("rollouts")
    rng = context.rng("trained steps")
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    average = copy.deepcopy(model)
    for update in range(settings.updates):
        if update % refresh == 0:
            reward.refresh(model)
        draw = reward.draw(settings.subsets, settings.size)
        labels = torch.as_tensor(draw.labels, device=generation.device)
        seen = rollouts.rollout(generation, model, labels, sampling, noise)
        rewards = reward(draw, rollouts.features(generation, seen.states[-1]))
        if not np.isfinite(rewards).all():
            raise InputError(
                "the rewards of a training are not finite",
                where=f"update {update}",
                fix="lower learning_rate",
            )
        advantages = batch_advantages(rewards)
        kept = np.flatnonzero(top_share(advantages, settings.keep, settings.order))
        steps = rng.choice(settings.steps, settings.trained_steps, replace=False)
        optimiser.zero_grad()
        _accumulate(model, seen, labels, advantages, kept, steps.tolist(), settings)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_norm)
        optimiser.step()
        _follow(average, model, settings.decay)
        context.log(update, reward=float(rewards.mean()), gradient=float(norm))
        context.progress(update + 1, settings.updates, "updates by rewards")
    return average


def _follow(average: SiT, model: SiT, decay: float) -> None:
    """Move a moving average of weights towards those of the model."""
    with torch.no_grad():
        for kept, now in zip(average.parameters(), model.parameters(), strict=True):
            kept.lerp_(now, 1 - decay)


def _accumulate(
    model: SiT,
    seen: Trajectory,
    labels: torch.Tensor,
    advantages: np.typing.NDArray[np.float64],
    kept: np.typing.NDArray[np.int64],
    steps: list[int],
    settings: PolicySettings,
) -> None:
    """Add up the gradients of the loss, the mean over the kept pictures and the given steps."""
    weights = torch.as_tensor(advantages, dtype=torch.float32, device=labels.device)
    for block in torch.split(torch.as_tensor(kept, device=labels.device), BLOCK):
        share = len(block) / (len(kept) * len(steps))
        for step in steps:
            log_probability = step_log_probability(
                model,
                seen.states[step, block],
                seen.states[step + 1, block],
                step,
                settings.steps,
                labels[block],
                settings.noise_scale,
            )
            old = seen.log_probabilities[step, block]
            loss = clipped_loss(log_probability, old, weights[block], settings.clip)
            torch.autograd.backward(share * loss)
