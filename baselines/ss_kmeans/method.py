"""Semi-supervised k-means on tokens as they are."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.discovery.kmeans import semi_supervised_kmeans
from podium.discovery.representation import read_rows


def run(
    problem: Problem,
    context: Context,
    *,
    representation: Literal["auto", "class", "mean", "flat", "centred"] = "auto",
    axes: int = 50,
    restarts: int = 30,
    finalists: int = 5,
    trial: int = 5,
    iterations: int = 200,
    tolerance: float = 1e-4,
) -> Prediction:
    """Group the samples by one row each; cluster k below ``old`` is the old class k.

    Args:
        problem: labelled and unlabelled tokens.
        context: what the engine gives.
        representation: what a sample's row is: ``class``, ``mean``, ``flat`` (principal axes of all
            tokens) or ``centred`` (what a module that changes nothing gives); ``auto`` for the one
            of the first three by which nearest class means name most labelled samples right.
        axes: how many principal axes ``flat`` has.
        restarts: how many starts; the one of lowest inertia over all samples is kept.
        finalists: how many of them, the best after ``trial`` iterations, are run to the end.
        trial: iterations before that choice.
        iterations: largest number of iterations of a restart.
        tolerance: how little the centres move, in squares and relative to the variance of a
            feature, when a restart ends.
    """
    samples, rows = read_rows(problem, context, representation, axes)
    context.progress(0, 1, f"semi-supervised k-means, representation {rows.kind}")
    found = semi_supervised_kmeans(
        rows.labelled,
        samples.labels,
        rows.unlabelled,
        samples.classes,
        context.rng("seeds"),
        restarts=restarts,
        finalists=finalists,
        trial=trial,
        iterations=iterations,
        tolerance=tolerance,
    )
    for step, inertia in enumerate(found.trace):
        context.log(step, inertia=inertia)
    return rows.prediction(found.clusters)
