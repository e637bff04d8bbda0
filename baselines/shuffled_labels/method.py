"""Control: ridge regression on scores of other texts."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.judging.items import answers, read_items
from podium.judging.linear import ridge_scores


def run(
    problem: Problem,
    context: Context,
    *,
    weakest: float = 1e-3,
    strongest: float = 1e3,
    penalties: int = 13,
) -> Prediction:
    """Shuffle the train scores with the run's seed, and regress them as the entry ``ridge`` does.

    Args:
        problem: embeddings of the items and the train items, and the latter's scores.
        context: what the engine gives.
        weakest: smallest penalty tried, above 0, a train item, on columns of variance 1.
        strongest: largest penalty tried.
        penalties: how many, in equal ratios.
    """
    items = read_items(problem)
    context.progress(0, 1, "ridge regression on shuffled scores")
    shuffled = context.rng("shuffle").permutation(items.train_scores)
    return answers(items, ridge_scores(items, shuffled, weakest, strongest, penalties))
