"""Judge texts with a local model: the prompts, the answers, and what is read from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.judging.parsing import read_score
from podium.lm.causal import CausalJudge
from podium.lm.levels import Judgement, expected_level
from podium.lm.prompts import fitted_prompts, spelled_levels

ANSWER_TOKENS = 8
"""So many tokens a model may write; a number of the scale takes two or three."""


def judged(
    model: CausalJudge,
    rubric: str,
    texts: Sequence[str],
    levels: npt.ArrayLike,
    *,
    reading: Literal["decoded", "expectation"] = "decoded",
) -> Judgement:
    """Let a local model judge texts zero-shot.

    Args:
        model: the model.
        rubric: the instruction, and what the scale means.
        texts: what is to be judged; they may be empty.
        levels: the scale, float64 [levels], rising.
        reading: ``decoded``: the number that it writes, NaN where there is none; ``expectation``:
            the mean of the levels under its probabilities of writing them.
    """
    scale = np.asarray(levels, dtype=np.float64)
    room = model.context - ANSWER_TOKENS
    prompts, cut = fitted_prompts(rubric, texts, scale, room=room, count=model.count)
    if reading == "decoded":
        words = model.generate(prompts, tokens=ANSWER_TOKENS)
        low, high = float(scale[0]), float(scale[-1])
        scores = np.array([read_score(text, low, high) for text in words], dtype=np.float64)
        return Judgement(scores, None, np.array(words, dtype=np.str_), cut)
    table = model.log_likelihoods(prompts, spelled_levels(scale)).numpy()
    means, distribution = expected_level(table, scale)
    raw = [
        json.dumps([round(v, 6) if np.isfinite(v) else None for v in row]) for row in table.tolist()
    ]
    return Judgement(means, distribution, np.array(raw, dtype=np.str_), cut)
