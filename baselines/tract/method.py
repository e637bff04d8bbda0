"""Imitation of a teacher's reasoning, then of the judge's own, with squared error on the score."""

from __future__ import annotations

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.answer import answer, start
from podium.nn.judge.losses import regression_loss
from podium.nn.judge.settings import JudgeSettings, check_weight
from podium.nn.judge.training import Batch, imitation


def run(
    problem: Problem,
    context: Context,
    *,
    strength: float = 1.0,
    steps: int = 400,
    warm_steps: int = 500,
    batch: int = 64,
    learning_rate: float = 0.003,
    weight_decay: float = 0.01,
    dropout: float = 0.0,
    width: int = 64,
    heads: int = 4,
    length: int = 4,
    symbols: int = 10,
    teacher_noise: float = 1.0,
) -> Prediction:
    r"""Fine-tune a judge in two stages, each from the same start.

    In the first of ``warm_steps`` the reasoning is a teacher's; in the second of ``steps`` it is
    what the judge of the first writes about the rated items, as it will write about others. Both
    have the loss

    .. math:: -\log\pi(c) + \lambda (\hat y - y)^2

    Arguments: ``strength`` is :math:`\lambda`; see ``JudgeSettings`` for the others.

    Source: Chiang, Lee, Lukasik, TRACT, section 3.
    """
    check_weight("strength", strength)
    settings = JudgeSettings(
        steps=steps,
        warm_steps=warm_steps,
        batch=batch,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        dropout=dropout,
        width=width,
        heads=heads,
        length=length,
        symbols=symbols,
        teacher_noise=teacher_noise,
    )
    items, trainer = start(problem, context, settings)
    levels = trainer.data.levels

    def squared(found: torch.Tensor, batch: Batch) -> torch.Tensor:
        return strength * regression_loss(found, batch.scores, levels)

    trainer.fit(imitation(trainer.teacher, squared), warm_steps, learning_rate)
    written = trainer.own_reasoning()
    trainer.judge = trainer.new_judge()
    trainer.fit(imitation(written, squared), steps, learning_rate)
    return answer(items, trainer, reasons=True)
