"""SimGCD on frozen tokens."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.discovery.discover import discover
from podium.nn.discovery.settings import Settings


def run(
    problem: Problem,
    context: Context,
    *,
    epochs: int = 100,
    steps: int = 800,
    batch: int = 128,
    learning_rate: float = 0.1,
    weight_decay: float = 0.01,
    entropy_weight: float = 1.0,
    width: int = 128,
    keep: float = 0.75,
    noise: float = 0.1,
    dropout: float = 0.1,
    block_rate: float = 0.01,
) -> Prediction:
    """Train a classifier of old and new classes on the class token, or on the tokens' mean."""
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
    return discover(problem, context, settings)
