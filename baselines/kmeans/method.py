"""Plain k-means by scikit-learn."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.discovery.representation import read_rows


def run(
    problem: Problem,
    context: Context,
    *,
    representation: Literal["auto", "class", "mean", "flat"] = "auto",
    axes: int = 50,
    restarts: int = 30,
    iterations: int = 300,
    tolerance: float = 1e-4,
) -> Prediction:
    """Group labelled and unlabelled samples alike; the labels only choose the representation.

    Args:
        problem: labelled and unlabelled tokens.
        context: what the engine gives.
        representation: what a sample's row is: ``class``, ``mean`` or ``flat`` (principal axes of
            all tokens); ``auto`` for the one by which nearest class means name most labelled
            samples right.
        axes: how many principal axes ``flat`` has.
        restarts: how many starts by greedy k-means++; the one of lowest inertia is kept.
        iterations: largest number of iterations of a restart.
        tolerance: how little the centres move, relative to the variance of a feature, when a
            restart ends.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    samples, rows = read_rows(problem, context, representation, axes)
    context.progress(0, 1, f"k-means, representation {rows.kind}")
    model = KMeans(
        samples.classes,
        n_init=restarts,
        max_iter=iterations,
        tol=tolerance,
        random_state=int(context.rng("seeds").integers(2**31)),
    )
    # With several threads scikit-learn adds up in any order: the same seed must give the same.
    with threadpool_limits(limits=1):
        model.fit(np.concatenate([rows.labelled, rows.unlabelled]))
    return rows.prediction(model.labels_[len(samples.labels) :].astype(np.int64))
