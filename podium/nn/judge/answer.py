"""From a problem to a judge in training, and from a trained judge to its answers."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.judging.items import Items, answers, read_items
from podium.nn.judge.data import judge_data
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.training import Trainer, distributions


def start(problem: Problem, context: Context, settings: JudgeSettings) -> tuple[Items, Trainer]:
    """Return the items of a problem and an untrained judge of them."""
    items = read_items(problem)
    return items, Trainer(judge_data(items, context.device), settings, context)


def answer(items: Items, trainer: Trainer, *, reasons: bool) -> Prediction:
    """Return the judge's expectation for every item, and its distribution over the levels.

    Args:
        items: of the problem.
        trainer: holds the judge.
        reasons: the judge writes its most likely reasoning first.
    """
    data = trainer.data
    length = trainer.length if reasons else 0
    found = distributions(trainer.judge, data.test, length)
    return answers(items, found @ data.scale.levels, found)
