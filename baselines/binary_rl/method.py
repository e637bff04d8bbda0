"""Policy gradients on reasoning and score with a reward of 1 for the right level."""

from __future__ import annotations

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.losses import binary_loss
from podium.nn.judge.reinforced import reinforce
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.training import Batch, Trainer


def run(
    problem: Problem,
    context: Context,
    *,
    steps: int = 400,
    warm_steps: int = 500,
    samples: int = 8,
    batch: int = 64,
    learning_rate: float = 0.003,
    warm_rate: float = 0.003,
    weight_decay: float = 0.01,
    dropout: float = 0.0,
    width: int = 64,
    heads: int = 4,
    length: int = 4,
    symbols: int = 10,
    teacher_noise: float = 1.0,
) -> Prediction:
    """Warm-start a judge on a teacher's reasoning, then train it by right and wrong scores.

    Arguments: see ``JudgeSettings``; they are those of ``real``, from which this differs in the
    loss alone. The label is the level nearest to the rating. What is returned is the expectation
    over the levels, as of all judges here.

    Source: Shao et al., DeepSeekMath, section 4.1 (GRPO).
    """
    settings = JudgeSettings(
        steps=steps,
        warm_steps=warm_steps,
        samples=samples,
        batch=batch,
        learning_rate=learning_rate,
        warm_rate=warm_rate,
        weight_decay=weight_decay,
        dropout=dropout,
        width=width,
        heads=heads,
        length=length,
        symbols=symbols,
        teacher_noise=teacher_noise,
    )

    def loss(
        trainer: Trainer, log_reasoning: torch.Tensor, log_levels: torch.Tensor, batch: Batch
    ) -> torch.Tensor:
        chances = log_levels.detach().exp()
        drawn = torch.multinomial(chances.flatten(0, 1), 1, generator=trainer.reasoning).view_as(
            log_reasoning
        )
        return binary_loss(log_reasoning, log_levels, drawn, batch.labels)

    return reinforce(problem, context, settings, loss)
