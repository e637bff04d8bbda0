"""The clipped loss: its gradient on policy, and what clipping takes away."""

from __future__ import annotations

import torch

from podium.nn.policy.loss import clipped_loss

ADVANTAGES = torch.tensor([1.0, -2.0, 0.5])


def gradient(shift: list[float], clip: float = 1e-4) -> torch.Tensor:
    old = torch.tensor([0.3, -1.0, 2.0])
    now = (old + torch.tensor(shift)).requires_grad_()
    torch.autograd.backward(clipped_loss(now, old, ADVANTAGES, clip))
    assert now.grad is not None
    return now.grad


def test_on_policy_the_gradient_is_that_of_reinforce() -> None:
    torch.testing.assert_close(gradient([0.0, 0.0, 0.0]), -ADVANTAGES / 3)


def test_a_step_that_went_far_enough_its_way_has_no_gradient() -> None:
    # Up for a positive advantage, down for a negative one.
    assert gradient([0.01, -0.01, 0.01]).tolist() == [0.0, 0.0, 0.0]


def test_a_step_that_went_the_wrong_way_keeps_its_gradient() -> None:
    found = gradient([-0.01, 0.01, -0.01])
    ratio = torch.tensor([-0.01, 0.01, -0.01]).exp()
    torch.testing.assert_close(found, -ADVANTAGES * ratio / 3)


def test_the_loss_is_minus_the_mean_advantage_on_policy() -> None:
    old = torch.zeros(3)
    assert float(clipped_loss(old, old, ADVANTAGES, 0.1)) == -float(ADVANTAGES.mean())
