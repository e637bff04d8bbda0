"""The samplers: exact velocities of Gaussians, and the density of a step."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from podium.errors import InputError
from podium.nn.flow.sampling import Trajectory, euler, sde, step_log_probability
from podium.nn.flow.sit import SiT

MEAN, SPREAD = 0.4, 0.3


def gaussian_velocity(x: torch.Tensor, t: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """E[noise - data | x] where data are N(MEAN, SPREAD^2) in every number; labels say nothing."""
    assert len(labels) == len(x)
    time = t.view(-1, *[1] * (x.ndim - 1))
    variance = ((1 - time) * SPREAD) ** 2 + time**2
    centred = x - (1 - time) * MEAN
    return (time - (1 - time) * SPREAD**2) / variance * centred - MEAN


def start(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 1, 2, 4, generator=generator), torch.zeros(count, dtype=torch.long)


def test_the_ordinary_equation_reaches_the_data() -> None:
    noise, labels = start(4000)
    x = euler(gaussian_velocity, noise, labels, 200)
    assert float(x.mean()) == pytest.approx(MEAN, abs=0.01)
    assert float(x.std()) == pytest.approx(SPREAD, abs=0.01)


@pytest.mark.parametrize("noise_scale", [0.3, 0.7, 1.0])
def test_the_stochastic_equation_has_the_marginals_of_the_ordinary_one(noise_scale: float) -> None:
    noise, labels = start(4000)
    steps = 400  # the largest steps are an error of the order of 1 / steps
    way = sde(
        gaussian_velocity, noise, labels, steps, torch.Generator().manual_seed(1), noise_scale
    )
    for index in (100, 200, 300, 400):
        t = 1 - index / steps
        spread = math.sqrt(((1 - t) * SPREAD) ** 2 + t**2)
        assert float(way.states[index].mean()) == pytest.approx((1 - t) * MEAN, abs=0.02)
        assert float(way.states[index].std()) == pytest.approx(spread, abs=0.02)


def test_the_stochastic_equation_forgets_its_start() -> None:
    """It is not the ordinary one with a little noise on top."""
    noise, labels = start(4000)
    ordinary = euler(gaussian_velocity, noise, labels, 100)
    stochastic = sde(
        gaussian_velocity, noise, labels, 100, torch.Generator().manual_seed(1), 1.0
    ).pictures

    def correlation(x: torch.Tensor) -> float:
        return float(torch.corrcoef(torch.stack([noise.flatten(), x.flatten()]))[0, 1])

    assert correlation(ordinary) > 0.999
    assert correlation(stochastic) < 0.5


def test_a_little_noise_is_nearly_the_ordinary_equation() -> None:
    noise, labels = start(50)
    near = sde(gaussian_velocity, noise, labels, 20, torch.Generator().manual_seed(1), 1e-4)
    torch.testing.assert_close(
        near.pictures, euler(gaussian_velocity, noise, labels, 20), rtol=0, atol=1e-3
    )


def formula(x: torch.Tensor, index: int, steps: int, scale: float) -> tuple[torch.Tensor, float]:
    """Mean and deviation of a step, as flow_grpo's paper writes them."""
    t, dt = 1 - index / steps, -1 / steps
    bounded = t if index else 1 - 1 / steps
    s = scale * math.sqrt(t / (1 - bounded))
    v = gaussian_velocity(x, torch.full((len(x),), t), torch.zeros(len(x)))
    mean = x * (1 + s**2 / (2 * t) * dt) + v * (1 + s**2 * (1 - t) / (2 * t)) * dt
    return mean, s * math.sqrt(-dt)


@pytest.mark.parametrize("index", [0, 1, 7])
def test_density_of_a_step(index: int) -> None:
    noise, labels = start(30)
    way = sde(gaussian_velocity, noise, labels, 8, torch.Generator().manual_seed(1))
    mean, deviation = formula(way.states[index], index, 8, 0.7)
    expected = norm.logpdf(way.states[index + 1].numpy(), mean.numpy(), deviation)
    averaged = torch.from_numpy(np.reshape(expected, (30, -1)).mean(axis=1)).float()
    torch.testing.assert_close(way.log_probabilities[index], averaged)


def trained(model: SiT) -> tuple[Trajectory, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    noise = torch.randn(6, 3, 4, 8, generator=generator)
    labels = torch.arange(6) % 5
    return sde(model, noise, labels, 5, generator), labels


def test_the_step_is_evaluated_again_as_it_was_drawn(model: SiT) -> None:
    way, labels = trained(model)
    assert way.states.shape == (6, 6, 3, 4, 8)
    assert not way.states.requires_grad
    for index in range(5):
        again = step_log_probability(
            model, way.states[index], way.states[index + 1], index, 5, labels
        )
        torch.testing.assert_close(again, way.log_probabilities[index], rtol=1e-4, atol=1e-4)


def test_gradients_reach_the_weights(model: SiT) -> None:
    way, labels = trained(model)
    logs = step_log_probability(model, way.states[2], way.states[3], 2, 5, labels)
    torch.autograd.backward(logs.sum())
    assert all(p.grad is not None and bool(p.grad.any()) for p in model.parameters())
    model.zero_grad()
    torch.autograd.backward(euler(model, way.states[0], labels, 3).square().sum())
    assert all(p.grad is not None and bool(p.grad.any()) for p in model.parameters())


def test_the_seed_decides() -> None:
    noise, labels = start(5)
    first, again, other = (
        sde(gaussian_velocity, noise, labels, 4, torch.Generator().manual_seed(seed)).pictures
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_what_makes_no_sampler_is_refused() -> None:
    noise, labels = start(2)
    generator = torch.Generator().manual_seed(0)
    with pytest.raises(InputError, match="too few steps"):
        euler(gaussian_velocity, noise, labels, 0)
    with pytest.raises(InputError, match="too few steps"):
        sde(gaussian_velocity, noise, labels, 1, generator)
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="use euler"):
            sde(gaussian_velocity, noise, labels, 5, generator, scale)
