"""Slot attention as a module before SimGCD's head."""

from __future__ import annotations

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.discovery.discover import discover
from podium.nn.discovery.settings import Settings, check_whole
from podium.nn.discovery.slots import SlotAttention


def run(
    problem: Problem,
    context: Context,
    *,
    slots: int = 16,
    iterations: int = 3,
    epochs: int = 100,
    steps: int = 800,
    batch: int = 128,
    learning_rate: float = 0.003,
    weight_decay: float = 0.01,
    entropy_weight: float = 1.0,
    width: int = 128,
    keep: float = 0.75,
    noise: float = 0.1,
    dropout: float = 0.1,
    block_rate: float = 0.01,
) -> Prediction:
    """Train ``simgcd`` with tokens refined by slots that compete for them."""
    check_whole("slots", slots, 1)
    check_whole("iterations", iterations, 1)
    settings = Settings(
        epochs=epochs,
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        entropy_weight=entropy_weight,
        width=width,
        keep=keep,
        noise=noise,
        dropout=dropout,
        block_rate=block_rate,
    )

    def refiner(features: int, generator: torch.Generator) -> SlotAttention:
        return SlotAttention(features, slots, iterations, generator)

    return discover(problem, context, settings, refiner=refiner)
