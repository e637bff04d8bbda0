"""Flow matching: the training of the velocity, with its moving average and its checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.nn.flow.sit import SiT

Told = Callable[[int, float], None]
"""Called after a step with its number, from 1, and the loss."""


@dataclass(frozen=True)
class Trained:
    """What a training leaves.

    Attributes:
        average: exponential moving average of the weights, [parameters].
        checkpoints: raw weights at even distances, the last one at the end,
            [checkpoints, parameters].
        losses: the loss of each step, [steps].
    """

    average: Tensor
    checkpoints: Tensor
    losses: Tensor


def matching_loss(
    model: nn.Module, x: Tensor, labels: Tensor, generator: torch.Generator
) -> Tensor:
    r"""Return the loss of flow matching at one random time and noise for each picture.

    .. math:: E\, \| v(x_t, t) - (\epsilon - x_0) \|^2 / \dim, \qquad x_t = (1 - t) x_0 + t \epsilon

    Times are logistic-normal, so that the middle of the way is seen most.

    Args:
        model: the velocity.
        x: pictures [n, c, h, w] in [-1, 1].
        labels: classes, int64 [n].
        generator: for times and noise; on the device of ``x`` or drawn and moved.

    Source: Esser et al., Scaling Rectified Flow Transformers (ICML 2024), section 3.1.
    """
    drawn = generator.device
    t = torch.randn(len(x), generator=generator, device=drawn).sigmoid().to(x.device)
    noise = torch.randn(x.shape, generator=generator, device=drawn).to(x.device)
    at = t.view(-1, 1, 1, 1)
    predicted = model(torch.lerp(x, noise, at), t, labels)
    return nn.functional.mse_loss(predicted, noise - x)


def train(
    model: SiT,
    x: Tensor,
    labels: Tensor,
    *,
    steps: int,
    batch: int,
    learning_rate: float,
    generator: torch.Generator,
    decay: float = 0.999,
    checkpoints: int = 8,
    warm_up: int = 100,
    weight_decay: float = 0.0,
    told: Told | None = None,
) -> Trained:
    """Train a model in place by flow matching, at a constant rate after a warm-up.

    The rate stays constant so that raw checkpoints are as noisy as those of long trainings, which
    is what averages of weights are for.

    Args:
        model: changed in place.
        x: pictures [n, c, h, w] in [-1, 1], on the model's device.
        labels: classes, int64 [n].
        steps: optimiser steps (AdamW).
        batch: pictures a step, drawn with replacement.
        learning_rate: after the warm-up.
        generator: for batches, times and noise.
        decay: of the moving average, which forgets faster at the start.
        checkpoints: how many raw weights to keep, at most ``steps``.
        warm_up: steps over which the rate rises.
        weight_decay: of AdamW.
        told: hears of every step.

    Raises:
        InputError: more checkpoints than steps, or none.
    """
    if not 1 <= checkpoints <= steps:
        raise InputError(
            "bad number of checkpoints",
            where="checkpoints",
            expected=f"1 to {steps}, the number of steps",
            found=str(checkpoints),
        )
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(
        parameters, lr=learning_rate, weight_decay=weight_decay, betas=(0.9, 0.99), fused=True
    )
    average = [p.detach().clone() for p in parameters]
    kept_at = {math.ceil(steps * (k + 1) / checkpoints) for k in range(checkpoints)}
    kept, losses = [], []
    for step in range(1, steps + 1):
        optimiser.param_groups[0]["lr"] = learning_rate * min(1.0, step / max(warm_up, 1))
        rows = torch.randint(len(x), (batch,), generator=generator, device=generator.device)
        rows = rows.to(x.device)
        loss = matching_loss(model, x[rows], labels[rows], generator)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        keep = min(decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(average, [p.detach() for p in parameters], 1 - keep)
        losses.append(loss.detach())
        if step in kept_at:
            kept.append(nn.utils.parameters_to_vector(p.detach() for p in parameters))
        if told is not None:
            told(step, float(loss.detach()))
    return Trained(
        nn.utils.parameters_to_vector(average), torch.stack(kept), torch.stack(losses).cpu()
    )
