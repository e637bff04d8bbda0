"""Ward's agglomerative clustering by scikit-learn."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.discovery.representation import Rows, nearest, read_rows
from podium.discovery.samples import Ints
from podium.errors import InputError


def run(
    problem: Problem,
    context: Context,
    *,
    representation: Literal["auto", "class", "mean", "flat"] = "auto",
    axes: int = 50,
    most: int = 10_000,
) -> Prediction:
    """Group labelled and unlabelled samples alike; the labels only choose the representation.

    Args:
        problem: labelled and unlabelled tokens.
        context: what the engine gives.
        representation: what a sample's row is: ``class``, ``mean`` or ``flat`` (principal axes of
            all tokens); ``auto`` for the one by which nearest class means name most labelled
            samples right.
        axes: how many principal axes ``flat`` has.
        most: samples that are linked, since memory grows with their square; of larger sets as many
            are drawn, and every sample goes to the nearest centroid of their clusters.

    Raises:
        InputError: ``most`` below the number of classes.
    """
    samples, rows = read_rows(problem, context, representation, axes)
    if most < samples.classes:
        raise InputError(
            "bad most",
            where="most",
            expected=f"at least {samples.classes}, the number of classes",
            found=str(most),
        )
    context.progress(0, 1, f"Ward's linkage, representation {rows.kind}")
    everything = np.concatenate([rows.labelled, rows.unlabelled])
    clusters = linked(everything, samples.classes, most, context.rng("linked"))
    return rows.prediction(clusters[len(samples.labels) :])


def linked(rows: Rows, classes: int, most: int, rng: np.random.Generator) -> Ints:
    """Return the cluster of each row, int64: Ward's on at most ``most`` rows, then the nearest."""
    from sklearn.cluster import AgglomerativeClustering

    whole = len(rows) <= most
    chosen = rows if whole else rows[np.sort(rng.permutation(len(rows))[:most])]
    clusters = AgglomerativeClustering(classes, linkage="ward").fit_predict(chosen)
    if whole:
        return np.asarray(clusters, dtype=np.int64)
    centroids = np.stack([chosen[clusters == k].mean(axis=0) for k in range(classes)])
    return nearest(rows, centroids)
