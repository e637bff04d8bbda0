"""Cross-entropy on the level nearest to each rating, without reasoning."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.losses import label_loss
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
    """Train the judge to score at once, by cross-entropy; ``steps`` is all that ``real`` takes.

    Arguments: see ``JudgeSettings``.

    Source: Ouyang et al., Training language models to follow instructions with human feedback,
    section 3.5 (supervised fine-tuning).
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
        problem, context, settings, lambda found, batch, _: label_loss(found, batch.labels)
    )
