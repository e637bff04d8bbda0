"""Judges trained on ratings without reasoning."""

from __future__ import annotations

from collections.abc import Callable

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.answer import answer, start
from podium.nn.judge.network import Judge
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.training import Batch


def train_directly(
    problem: Problem,
    context: Context,
    settings: JudgeSettings,
    loss: Callable[[torch.Tensor, Batch, torch.Tensor], torch.Tensor],
) -> Prediction:
    """Train a judge that scores at once, and return its answers.

    Args:
        problem: to be judged.
        context: what the engine gives.
        settings: of the training; ``warm_steps`` and ``steps`` are one phase.
        loss: of the log-probabilities of the levels [batch, 1, levels], the batch and the levels.
    """
    items, trainer = start(problem, context, settings)
    levels = trainer.data.levels

    def at_once(judge: Judge, batch: Batch) -> torch.Tensor:
        nothing = batch.rows.new_empty(len(batch.rows), 1, 0)
        return loss(judge(batch.memory, nothing)[1], batch, levels)

    trainer.fit(at_once, trainer.total, settings.learning_rate)
    return answer(items, trainer, reasons=False)
