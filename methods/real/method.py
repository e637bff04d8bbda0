"""Policy gradients on reasoning, and the gradient of the reward through the score."""

from __future__ import annotations

from typing import Literal

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.judge.losses import real_loss
from podium.nn.judge.reinforced import reinforce
from podium.nn.judge.settings import JudgeSettings, check_weight
from podium.nn.judge.training import Batch, Trainer
from podium.nn.policy.settings import check_one_of


def run(
    problem: Problem,
    context: Context,
    *,
    form: Literal["paper", "released"] = "paper",
    strength: float = 1.0,
    refinement: float = 1.0,
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
    r"""Warm-start a judge on a teacher's reasoning, then train it by its own.

    Arguments: see ``real_loss`` for ``form``, ``strength`` (:math:`\lambda`) and ``refinement``
    (:math:`\beta`); ``JudgeSettings`` for the others.

    Source: Zhang et al., REAL: Regression-Aware Reinforcement Learning for LLM-as-a-Judge,
    section 3.
    """
    check_one_of("form", form, ("paper", "released"))
    for name, value in (("strength", strength), ("refinement", refinement)):
        check_weight(name, value)
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
        return real_loss(
            log_reasoning,
            log_levels,
            batch.scores,
            batch.labels,
            trainer.data.levels,
            form=form,
            strength=strength,
            refinement=refinement,
        )

    return reinforce(problem, context, settings, loss)
