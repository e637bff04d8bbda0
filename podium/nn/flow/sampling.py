"""Samplers of a flow: the ordinary and the stochastic differential equation.

Times run from 1 (noise) to 0 (pictures) in equal steps; see ``podium.nn.flow.sit.SiT`` for the path
and the sign of the velocity. Both equations have the same distribution at every time (Song et al.,
Score-Based Generative Modeling through SDEs, ICLR 2021, section 4.3), up to the size of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from podium.errors import InputError

Velocity = Callable[[Tensor, Tensor, Tensor], Tensor]
"""A model: x [n, c, h, w], t [n], labels [n] to v [n, c, h, w]."""

NOISE_SCALE = 0.7
"""The noise of flow_grpo."""


@dataclass(frozen=True)
class Trajectory:
    """A way from noise to pictures.

    Attributes:
        states: [steps + 1, n, c, h, w], the noise first, the pictures last.
        log_probabilities: of each step given the state before it, per number of the picture,
            [steps, n].
    """

    states: Tensor
    log_probabilities: Tensor

    @property
    def pictures(self) -> Tensor:
        """The last state, [n, c, h, w]."""
        return self.states[-1]


def euler(model: Velocity, noise: Tensor, labels: Tensor, steps: int) -> Tensor:
    r"""Integrate the ordinary differential equation :math:`dx = v\, dt` by Euler steps.

    Differentiable in the model's weights and in the noise, unless gradients are switched off.

    Args:
        model: the velocity.
        noise: standard Gaussian, [n, c, h, w].
        labels: classes, int64 [n].
        steps: number of steps.

    Returns:
        [n, c, h, w]; pictures lie in [-1, 1], samples nearly.

    Raises:
        InputError: fewer than one step.
    """
    _check_steps(steps)
    x = noise
    for index in range(steps):
        x = x - model(x, _times(x, 1 - index / steps), labels) / steps
    return x


@torch.no_grad()
def sde(
    model: Velocity,
    noise: Tensor,
    labels: Tensor,
    steps: int,
    generator: torch.Generator,
    noise_scale: float = NOISE_SCALE,
) -> Trajectory:
    r"""Sample the stochastic differential equation of the same distributions, without gradients.

    With :math:`s_t = a \sqrt{t / (1 - t)}` and :math:`dt = -1/steps`,

    .. math:: x_{t+dt} = x \Big(1 + \frac{s_t^2}{2t} dt\Big)
        + v \Big(1 + \frac{s_t^2 (1 - t)}{2t}\Big) dt + s_t \sqrt{-dt}\, z, \qquad z \sim N(0, I)

    At t = 1, where :math:`s_t` has no bound, the time of the next state stands in its denominator.

    Args:
        model, noise, labels, steps: as in ``euler``.
        generator: what z is drawn from; numbers are drawn on its device.
        noise_scale: a, above 0.

    Raises:
        InputError: fewer than two steps, or a scale that is not above 0.

    Source: Liu et al., Flow-GRPO (NeurIPS 2025), equations 9 and 10, and its code.
    """
    _check_noise(steps, noise_scale)
    states = [noise]
    logs = []
    for index in range(steps):
        mean, deviation = _step(model, states[-1], index, steps, labels, noise_scale)
        z = torch.randn(
            noise.shape, generator=generator, device=generator.device, dtype=noise.dtype
        ).to(noise.device)
        states.append(mean + deviation * z)
        logs.append(_log_probability(states[-1], mean, deviation))
    return Trajectory(torch.stack(states), torch.stack(logs))


def step_log_probability(
    model: Velocity,
    state: Tensor,
    following: Tensor,
    index: int,
    steps: int,
    labels: Tensor,
    noise_scale: float = NOISE_SCALE,
) -> Tensor:
    """Return the log-density of one step of ``sde``, averaged over the numbers of a picture.

    Differentiable in the model's weights.

    Args:
        model: the velocity.
        state: before the step, [n, c, h, w].
        following: after it.
        index: of the step, 0 for the one that leaves the noise.
        steps: of the whole way.
        labels: classes, int64 [n].
        noise_scale: as in ``sde``.

    Returns:
        [n].
    """
    _check_noise(steps, noise_scale)
    mean, deviation = _step(model, state, index, steps, labels, noise_scale)
    return _log_probability(following, mean, deviation)


def _step(
    model: Velocity, x: Tensor, index: int, steps: int, labels: Tensor, noise_scale: float
) -> tuple[Tensor, float]:
    """Return mean and standard deviation of the next state."""
    t = 1 - index / steps
    below = t if index else 1 - 1 / steps
    square = noise_scale**2 * t / (1 - below)
    v = model(x, _times(x, t), labels)
    dt = -1 / steps
    mean = x * (1 + square / (2 * t) * dt) + v * ((1 + square * (1 - t) / (2 * t)) * dt)
    return mean, math.sqrt(-square * dt)


def _log_probability(x: Tensor, mean: Tensor, deviation: float) -> Tensor:
    squares = (x - mean).square().flatten(1).mean(1)
    return -squares / (2 * deviation**2) - math.log(deviation) - 0.5 * math.log(2 * math.pi)


def _times(x: Tensor, t: float) -> Tensor:
    return torch.full((len(x),), t, dtype=x.dtype, device=x.device)


def _check_steps(steps: int, least: int = 1) -> None:
    if steps < least:
        raise InputError(
            "too few steps",
            where="steps",
            expected=f"{least} or more",
            found=str(steps),
        )


def _check_noise(steps: int, noise_scale: float) -> None:
    _check_steps(steps, 2)
    if not (noise_scale > 0.0 and math.isfinite(noise_scale)):
        raise InputError(
            "bad noise scale",
            where="noise_scale",
            expected="a number above 0; without noise use euler",
            found=str(noise_scale),
        )
