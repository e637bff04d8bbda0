"""VADER: sentiment by a lexicon and rules, from its authors' package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.judging.items import answers, read_items
from podium.judging.linear import line_scores

Floats = npt.NDArray[np.float64]


def run(problem: Problem, context: Context, *, calibrated: bool = True) -> Prediction:
    """Score each text by VADER's compound sentiment.

    A text without a word of the lexicon is neutral, so that vectors are all scored alike.

    Args:
        problem: texts of the items, and of the train items with scores.
        context: what the engine gives.
        calibrated: whether the sentiment is brought onto the scale by the line that fits the train
            scores best; otherwise -1 and 1 are the ends of the scale. Correlations of sentiment
            that rises with the scores are the same.
    """
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    items = read_items(problem)
    rules = SentimentIntensityAnalyzer()

    def sentiment(texts: npt.NDArray[np.str_]) -> Floats:
        return np.array([rules.polarity_scores(str(text))["compound"] for text in texts])

    found = sentiment(items.texts)
    context.progress(1, 2, "scored the items")
    if calibrated:
        return answers(items, line_scores(items, sentiment(items.train_texts), found))
    middle, half = (items.low + items.high) / 2.0, (items.high - items.low) / 2.0
    return answers(items, middle + half * found)
