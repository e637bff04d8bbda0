"""Weights of a merge: their sum, their distribution, their gradient."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from podium.nn.policy.merging import WeightPolicy, moving_average


def policy(spread: float = 0.2) -> WeightPolicy:
    start = torch.as_tensor(moving_average(5, 0.7))
    return WeightPolicy(start, spread, torch.Generator().manual_seed(0))


def test_moving_averages_from_the_last_alone_to_all_alike() -> None:
    np.testing.assert_allclose(moving_average(4, 1.0), np.full(4, 0.25))
    np.testing.assert_allclose(moving_average(3, 0.5), np.array([1, 2, 4]) / 7, rtol=1e-6)
    np.testing.assert_allclose(moving_average(3, 0.0), [0, 0, 1])


def test_the_mean_begins_at_the_start() -> None:
    torch.testing.assert_close(policy().mean(), torch.as_tensor(moving_average(5, 0.7)))


def test_every_sample_sums_to_one_and_spreads_as_declared() -> None:
    drawn = policy().sample(20_000, torch.Generator().manual_seed(1))
    torch.testing.assert_close(drawn.sum(1), torch.ones(20_000), atol=1e-5, rtol=0)
    # The projection on sum 0 leaves 1 - 1/n of each variance.
    torch.testing.assert_close(drawn.var(0), torch.full((5,), 0.04 * 0.8), atol=0.001, rtol=0)


def test_the_seed_matters() -> None:
    one, two = (policy().sample(3, torch.Generator().manual_seed(s)) for s in (0, 1))
    assert not torch.equal(one, two)


def test_rewards_pull_the_mean_towards_the_weights_they_prefer() -> None:
    learnt, generator = policy(), torch.Generator().manual_seed(2)
    wanted = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0])
    optimiser = torch.optim.Adam(learnt.parameters(), lr=0.003)
    first = float((learnt.mean() - wanted).norm())
    for _ in range(300):
        drawn = learnt.sample(16, generator)
        rewards = -(drawn - wanted).square().sum(1)
        advantages = (rewards - rewards.mean()) / rewards.std()
        optimiser.zero_grad()
        torch.autograd.backward(-(advantages * learnt.log_probability(drawn)).mean())
        optimiser.step()
    assert float((learnt.mean() - wanted).norm()) < 0.3 * first
    assert float(learnt.mean().sum()) == pytest.approx(1, abs=1e-5)
