"""Judges trained by rewards of the reasoning that they sample."""

from __future__ import annotations

from collections.abc import Callable

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.answer import answer, start
from podium.nn.judge.network import Judge
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.training import Batch, Trainer

# Given log-probabilities of reasonings [batch, K] and of the levels after them [batch, K, levels].
RewardLoss = Callable[[Trainer, torch.Tensor, torch.Tensor, Batch], torch.Tensor]


def reinforce(
    problem: Problem, context: Context, settings: JudgeSettings, loss: RewardLoss
) -> Prediction:
    """Warm-start a judge, train it by rewards, and return its answers.

    Every step samples ``settings.samples`` reasonings an item from the judge as it is. Nothing but
    the loss differs between entries: one seed gives them all the same warm start.

    Args:
        problem: to be judged.
        context: what the engine gives.
        settings: of the training.
        loss: of sampled reasonings and the scores after them.
    """
    items, trainer = start(problem, context, settings)
    trainer.warm_start()

    def sampled(judge: Judge, batch: Batch) -> torch.Tensor:
        written = judge.write(batch.memory, settings.samples, trainer.length, trainer.reasoning)
        log_reasoning, log_levels = judge(batch.memory, written)
        return loss(trainer, log_reasoning, log_levels, batch)

    trainer.fit(sampled, settings.steps, settings.learning_rate)
    return answer(items, trainer, reasons=True)
