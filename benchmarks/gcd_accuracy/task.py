"""Build and score the problems of GCD accuracy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.benchmarks.gcd_accuracy import splits
from podium.benchmarks.gcd_accuracy.params import read_params, where
from podium.benchmarks.gcd_accuracy.sources import read_source
from podium.contracts import (
    Array,
    BuildContext,
    Instance,
    InvalidPredictionError,
    Prediction,
    Recipe,
    Scores,
    Undefined,
)
from podium.discovery.estimate import estimate_classes
from podium.metrics.discovery import accuracies
from podium.metrics.spectrum import rank_at, spectrum, von_neumann_entropy
from podium.seeding import generator

Ints = npt.NDArray[np.int64]

WIDEST = 4096
"""Columns that features may have: their d x d matrix, in double precision, then takes 128 MiB."""

_SHOWN = 5
_FEATURES = ("labelled_features", "unlabelled_features")
_OF_FEATURES = ("rank_99", "von_neumann_entropy", "class_count_error")


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: labelled and unlabelled tokens in a random order, hidden ``truth``.

    Which samples of the old classes are labelled is drawn from the seed; which classes are old is
    not.
    """
    params = read_params(recipe)
    source = read_source(params, context)
    classes = params.classes or int(source.labels.max()) + 1
    chosen, rest = splits.halves(
        source.labels,
        classes=classes,
        old=source.old,
        labelled=params.labelled,
        rng=context.rng("split"),
        where=where(recipe),
    )
    public: dict[str, Array] = {
        "labelled_tokens": source.tokens(chosen),
        "labels": source.labels[chosen],
        "unlabelled_tokens": source.tokens(rest),
        "grid": np.array(source.grid or (0, 0), dtype=np.int64),
        "classes": np.array([classes], dtype=np.int64),
    }
    if source.class_tokens is not None:
        public["labelled_class_tokens"] = source.class_tokens(chosen)
        public["unlabelled_class_tokens"] = source.class_tokens(rest)
    if source.entering is not None and source.block is not None:
        public["labelled_entering_tokens"] = source.entering(chosen)
        public["unlabelled_entering_tokens"] = source.entering(rest)
        public["block_weights"] = source.block
        public["block_heads"] = np.array([source.heads], dtype=np.int64)
    return Instance(public=public, hidden={"truth": source.labels[rest]})


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Score the clusters, and the features where a method returns them.

    Raises:
        InvalidPredictionError: a cluster that is not below the number of samples, only one of
            the two arrays of features, or features of more than ``WIDEST`` columns.
    """
    truth, labels = instance.hidden["truth"], instance.public["labels"]
    clusters = prediction["clusters"]
    _check_clusters(clusters, labels.size + truth.size)
    found = accuracies(clusters, truth, int(labels.max()) + 1)
    return {
        "accuracy_all": found.all,
        "accuracy_old": found.old,
        "accuracy_new": found.new,
        "accuracy_old_per_subset": found.old_per_subset,
        "accuracy_new_per_subset": found.new_per_subset,
        **_diagnostics(prediction, labels, int(instance.public["classes"][0]), recipe),
    }


def _check_clusters(clusters: Ints, samples: int) -> None:
    outside = np.flatnonzero((clusters < 0) | (clusters >= samples))
    if outside.size:
        shown = ", ".join(f"{clusters[row]} in row {row}" for row in outside[:_SHOWN])
        more = f" and {outside.size - _SHOWN} more" if outside.size > _SHOWN else ""
        raise InvalidPredictionError(
            f"clusters must lie in [0, {samples}), the number of samples; found {shown}{more}"
        )


def _diagnostics(
    prediction: Prediction, labels: Ints, classes: int, recipe: Recipe
) -> dict[str, float]:
    given = [name for name in _FEATURES if name in prediction]
    if not given:
        return {name: Undefined("the method returns no features") for name in _OF_FEATURES}
    if len(given) == 1:
        raise InvalidPredictionError(
            f"expected both or neither of {' and '.join(_FEATURES)}; found {given[0]} alone"
        )
    labelled, unlabelled = (prediction[name] for name in _FEATURES)
    width = labelled.shape[1]
    if width > WIDEST:
        raise InvalidPredictionError(
            f"features may have at most {WIDEST} columns; found {width}: return fewer of them (the "
            "mean of the tokens, or principal axes), or no features"
        )
    energies = spectrum(labelled, unlabelled)
    estimate = estimate_classes(
        labelled, labels, unlabelled, generator(recipe.seed, recipe.task, recipe.problem, "count")
    )
    return {
        "rank_99": rank_at(energies, 0.99),
        "von_neumann_entropy": von_neumann_entropy(energies),
        "class_count_error": estimate
        if isinstance(estimate, Undefined)
        else abs(estimate - classes) / classes,
    }
