"""Train a host on batches that are half labelled, and read off its features."""

from __future__ import annotations

import math
from typing import Any

import torch

from podium.contracts import Context
from podium.errors import InputError
from podium.nn.discovery.host import Host
from podium.nn.discovery.settings import Settings
from podium.nn.discovery.tokens import TokenData

LOG_EVERY = 10
LAST_RATE = 1e-3
"""The learning rate at the end, as a share of that at the start."""

CHUNK = 1024
"""Samples whose features are computed at once."""

BLOCK_CHUNK = 64
"""The same where the backbone's last block is computed too."""


def shuffled(length: int, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return ``length`` indices below ``count``: one random order of all after another."""
    orders = [torch.randperm(count, generator=generator) for _ in range(-(-length // count))]
    return torch.cat(orders)[:length]


def batches(data: TokenData, settings: Settings, generator: torch.Generator) -> torch.Tensor:
    """Return the samples of every step [steps, batch], the labelled half first.

    SimGCD draws labelled and unlabelled samples with equal weight; here both halves have a fixed
    size, so that every step has the same shapes.
    """
    labelled, unlabelled = data.labelled, len(data.tokens) - data.labelled
    half = settings.batch // 2
    rest, steps = settings.batch - half, settings.length(unlabelled)
    known = shuffled(steps * half, labelled, generator).view(steps, half)
    free = shuffled(steps * rest, unlabelled, generator).view(steps, rest)
    return torch.cat([known, free + labelled], dim=1)


def train(host: Host, data: TokenData, settings: Settings, context: Context) -> None:
    """Train ``host`` in place by AdamW on two views of every batch; logs the parts of its loss.

    Raises:
        InputError: the loss is no longer finite.
    """
    step_batches = batches(data, settings, context.torch_generator("batches", "cpu"))
    step_batches = step_batches.to(data.tokens.device)
    views_generator = context.torch_generator("views", str(data.tokens.device))
    views, half = settings.views, settings.batch // 2
    optimiser = torch.optim.AdamW(
        _groups(host, data.block, settings.block_rate),
        lr=settings.learning_rate,
        weight_decay=settings.weight_decay,
        fused=True,
    )
    steps = len(step_batches)
    for step in range(steps):
        done = step / steps
        rate = LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimiser.param_groups:
            group["lr"] = settings.learning_rate * rate * group["share"]
        index = step_batches[step]
        tokens, class_tokens = views.draw(data.tokens, data.class_tokens, index, views_generator)
        parts = host.losses(tokens, class_tokens, data.labels[index[:half]], done)
        loss = torch.stack(list(parts.values())).sum()
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()
        if step % LOG_EVERY == 0 or step == steps - 1:
            _report(step, steps, loss, parts, context)


def _groups(host: Host, block: torch.nn.Module | None, share: float) -> list[dict[str, Any]]:
    """Return what is trained, with its share of the learning rate; no decay of vectors."""
    slow = [] if block is None else list(block.parameters())
    known = {id(p) for p in slow}
    rest = [p for p in host.parameters() if p.requires_grad and id(p) not in known]
    groups: list[dict[str, Any]] = []
    for parameters, part in ((rest, 1.0), (slow, share)):
        if parameters:
            groups += [
                {"params": [p for p in parameters if p.ndim > 1], "share": part},
                {
                    "params": [p for p in parameters if p.ndim <= 1],
                    "share": part,
                    "weight_decay": 0.0,
                },
            ]
    return groups


def _report(
    step: int, steps: int, loss: torch.Tensor, parts: dict[str, torch.Tensor], context: Context
) -> None:
    total = loss.item()
    if not math.isfinite(total):
        raise InputError(
            f"the loss is no longer finite at step {step}",
            where="training",
            fix="lower learning_rate",
        )
    context.log(step, loss=total, **{name: part.item() for name, part in parts.items()})
    context.progress(step + 1, steps, "training")


def features_of(host: Host, data: TokenData) -> torch.Tensor:
    """Return the features of all samples as they are, without views [samples, D]."""
    chunk = CHUNK if data.block is None else BLOCK_CHUNK
    with torch.inference_mode():
        return torch.cat(
            [
                host.features(
                    data.tokens[start : start + chunk],
                    None if data.class_tokens is None else data.class_tokens[start : start + chunk],
                )
                for start in range(0, len(data.tokens), chunk)
            ]
        )
