"""Squared error of the expectation over the levels, without reasoning."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.losses import regression_loss
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.supervised import train_directly


def run(
    problem: Problem,
    context: Context,
    *,
    steps: int = 900,
    batch: int = 64,
    learning_rate: float = 0.003,
    weight_decay: float = 0.01,
    dropout: float = 0.0,
    width: int = 64,
    heads: int = 4,
) -> Prediction:
    """Train the judge to score at once, by squared error; ``steps`` is all that ``real`` takes.

    Arguments: see ``JudgeSettings``.

    Source: Lukasik et al., Better autoregressive regression with LLMs via regression-aware
    fine-tuning, section 4.
    """
    settings = JudgeSettings(
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        dropout=dropout,
        width=width,
        heads=heads,
    )

    return train_directly(
        problem,
        context,
        settings,
        lambda found, batch, levels: regression_loss(found, batch.scores, levels),
    )
