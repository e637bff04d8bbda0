"""Ask a model of lm-eval's registry for a score of each text."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.judging.items import answers, read_items
from podium.lm.harness import judge
from podium.lm.models import named_model


def run(
    problem: Problem,
    context: Context,
    *,
    model: str = "dummy",
    reading: Literal["decoded", "expectation"] = "decoded",
    batch: int = 8,
) -> Prediction:
    """Judge every text zero-shot.

    Args:
        problem: the items; what is for training is left alone.
        context: the device.
        model: ``KIND,KEY=VALUE,...`` as lm-eval names its models; ``dummy`` answers nonsense.
        reading: the number that the model writes, or its expectation under the probabilities of
            the written levels.
        batch: prompts at a time.

    Raises:
        InputError: lm-eval knows no such model.
        MissingError: the model cannot be had.
    """
    items = read_items(problem)
    language_model = named_model(model, device=context.device, batch=batch)
    found = judge(
        language_model,
        items.rubric,
        [str(text) for text in items.texts],
        items.levels,
        reading=reading,
    )
    context.log(0, texts_cut=found.cut)
    return {**answers(items, found.scores, found.distribution), "raw": found.raw}
