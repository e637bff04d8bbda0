"""The differentiable Fréchet distance: its value, its gradient, its limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from podium.metrics.frechet import frechet_of_features
from podium.nn.policy.frechet import TorchFrechet


def drawn(count: int, size: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    mixed = torch.randn(size, size, generator=generator, dtype=torch.float64)
    return torch.randn(count, size, generator=generator, dtype=torch.float64) @ mixed + seed


def distance_to(real: torch.Tensor) -> TorchFrechet:
    covariance = torch.as_tensor(np.cov(real.numpy(), rowvar=False))
    return TorchFrechet(real.mean(0), covariance)


@pytest.mark.parametrize("count", [500, 12, 2])
def test_the_value_is_that_of_the_metric(count: int) -> None:
    real, fake = drawn(400, 6, 0), drawn(count, 6, 1)
    expected = frechet_of_features(fake.numpy(), real.numpy())
    # Below seven samples the covariance is singular and the floor leaves roots out.
    assert float(distance_to(real)(fake)) == pytest.approx(expected, rel=1e-6)


def test_a_shift_alone_gives_its_squared_length_and_twice_it_as_gradient() -> None:
    real = drawn(300, 4, 0)
    shift = torch.tensor([1.0, 0.0, -2.0, 0.5], dtype=torch.float64)
    moved = (real + shift).requires_grad_()
    value = distance_to(real)(moved)
    assert float(value.detach()) == pytest.approx(float(shift.square().sum()))
    torch.autograd.backward(value)
    assert moved.grad is not None
    torch.testing.assert_close(moved.grad.sum(0), 2 * shift)


def test_the_gradient_agrees_with_differences() -> None:
    fake = drawn(9, 3, 1).requires_grad_()
    assert torch.autograd.gradcheck(distance_to(drawn(50, 3, 0)), (fake,))


def test_steps_along_the_gradient_come_nearer_even_from_one_point() -> None:
    real = drawn(200, 3, 0)
    function = distance_to(real)
    fake = (0.01 * drawn(60, 3, 2)).requires_grad_()
    first = float(function(fake).detach())
    optimiser = torch.optim.Adam([fake], lr=0.1)
    for _ in range(100):
        optimiser.zero_grad()
        torch.autograd.backward(function(fake))
        optimiser.step()
    assert float(function(fake).detach()) < 0.2 * first


def test_directions_without_spread_have_a_finite_gradient() -> None:
    fake = drawn(40, 3, 1)
    fake[:, 0] = 0.5
    fake.requires_grad_()
    torch.autograd.backward(distance_to(drawn(50, 3, 0))(fake))
    assert fake.grad is not None
    assert bool(torch.isfinite(fake.grad).all())
