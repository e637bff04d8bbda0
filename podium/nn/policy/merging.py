"""Weights of a merge of checkpoints, learned by rewards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from podium.contracts import Context
from podium.generation.problem import Generation
from podium.generation.samples import for_sampling
from podium.nn.discovery.layers import linear
from podium.nn.discovery.settings import check_whole
from podium.nn.flow.sampling import euler
from podium.nn.policy import rollouts
from podium.nn.policy.advantages import batch_advantages
from podium.nn.policy.rewards import DistributionReward
from podium.nn.policy.settings import check_positive

Weights = npt.NDArray[np.float32]

_LATENT, _WIDTH = 16, 32


@dataclass(frozen=True)
class MergeSettings:
    """Configuration of learning the weights of a merge.

    ``updates``: of the weights' distribution, each from ``candidates`` merges. ``subsets``,
    ``replacements``, ``size``: a candidate's reward is the mean over so many subsets of so many
    pictures, each generated so many times. ``steps``: of the sampler. ``spread``: standard
    deviation of a candidate's weights. ``learning_rate``: of Adam, constant.
    """

    updates: int
    candidates: int
    subsets: int
    replacements: int
    size: int
    steps: int
    spread: float
    learning_rate: float

    def __post_init__(self) -> None:
        """Refuse values without a meaning, naming the argument."""
        least = {
            "updates": 0,
            "candidates": 2,
            "subsets": 1,
            "replacements": 1,
            "size": 1,
            "steps": 1,
        }
        for name, value in least.items():
            check_whole(name, getattr(self, name), value)
        check_positive("spread", self.spread)
        check_positive("learning_rate", self.learning_rate)


def moving_average(checkpoints: int, decay: float) -> Weights:
    r"""Return the weights of an exponential moving average over checkpoints, of sum 1.

    .. math:: w_i \propto c^{n - 1 - i}

    Args:
        checkpoints: n, the last one the latest.
        decay: c, from 0 (the last alone) to 1 (all alike).

    Returns:
        float32 [checkpoints].
    """
    powers = np.power(np.float64(decay), np.arange(checkpoints)[::-1])
    weights: Weights = (powers / powers.sum()).astype(np.float32)
    return weights


class WeightPolicy(nn.Module):
    r"""A Gaussian over weights that sum to 1, whose mean a network makes of a learned latent.

    .. math:: \bar w = w_0 + P\,\mathrm{MLP}(z), \qquad w = \bar w + \sigma P \epsilon,
        \qquad P = I - \tfrac1n 1 1^\top

    The network has three layers, the last of which starts at 0.

    Args:
        start: :math:`w_0` [n], of sum 1.
        spread: :math:`\sigma`, above 0.
        generator: draws the latent and the first weights.

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 4.
    """

    start: torch.Tensor

    def __init__(self, start: torch.Tensor, spread: float, generator: torch.Generator) -> None:
        super().__init__()
        self.spread = spread
        self.latent = nn.Parameter(torch.randn(_LATENT, generator=generator))
        self.layers = nn.Sequential(
            linear(_LATENT, _WIDTH, generator),
            nn.SiLU(),
            linear(_WIDTH, _WIDTH, generator),
            nn.SiLU(),
            linear(_WIDTH, len(start), generator, zero=True),
        )
        self.register_buffer("start", start)

    def forward(self) -> torch.Tensor:
        """Return the mean weights [n], of sum 1."""
        change: torch.Tensor = self.layers(self.latent)
        return self.start + change - change.mean()

    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return weights [count, n], each of sum 1, without gradients."""
        mean = self.mean()
        noise = torch.randn(count, len(mean), generator=generator)
        return mean + self.spread * (noise - noise.mean(1, keepdim=True))

    def mean(self) -> torch.Tensor:
        """Return the mean weights [n] without gradients."""
        mean: torch.Tensor = self().detach()
        return mean

    def log_probability(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the log-density of ``weights`` [count, n] up to a constant, as [count]."""
        squares: torch.Tensor = (weights - self()).square().sum(1)
        return -squares / (2 * self.spread**2)


def learn_weights(
    generation: Generation,
    start: Weights,
    reward: DistributionReward,
    settings: MergeSettings,
    context: Context,
    *,
    refresh: int,
) -> Weights:
    """Learn the weights of a merge of the problem's checkpoints; return their mean [checkpoints].

    All candidates of an update are judged on the same subsets and the same noise, so that nothing
    but their weights tells them apart.

    Args:
        generation: the problem.
        start: weights to begin with, of sum 1.
        reward: of subsets; its set is generated by the merge with the mean weights.
        settings: of the learning.
        context: what the engine gives.
        refresh: updates after which the reward's set is generated anew.

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 4.
    """
    own = context.torch_generator("weights", "cpu")
    noise = context.torch_generator("rollouts")
    policy = WeightPolicy(torch.as_tensor(start, dtype=torch.float32), settings.spread, own)
    optimiser = torch.optim.Adam(policy.parameters(), lr=settings.learning_rate)
    for update in range(settings.updates):
        if update % refresh == 0:
            reward.refresh(generation.merged(policy.mean()))
        candidates = policy.sample(settings.candidates, own)
        rewards = _rewards(generation, candidates, reward, settings, noise)
        advantages = torch.as_tensor(batch_advantages(rewards), dtype=torch.float32)
        optimiser.zero_grad()
        loss = -(advantages * policy.log_probability(candidates)).mean()
        torch.autograd.backward(loss)
        optimiser.step()
        context.log(update, reward=float(rewards.mean()))
        context.progress(update + 1, settings.updates, "updates of the weights")
    return policy.mean().numpy()


def _rewards(
    generation: Generation,
    candidates: torch.Tensor,
    reward: DistributionReward,
    settings: MergeSettings,
    generator: torch.Generator,
) -> npt.NDArray[np.float64]:
    """Return the mean reward of every candidate over subsets and replacements."""
    draw = reward.draw(settings.subsets, settings.size)
    labels = torch.as_tensor(draw.labels, device=generation.device)
    rewards = np.zeros(len(candidates))
    noises = [
        rollouts.noise(generation, len(labels), generator) for _ in range(settings.replacements)
    ]
    for i, weights in enumerate(candidates):
        model = for_sampling(generation.merged(weights))
        for noise in noises:
            with torch.no_grad():
                generated = euler(model, noise, labels, settings.steps)
            rewards[i] += reward(draw, rollouts.features(generation, generated)).mean()
    return rewards / settings.replacements
