"""The number of classes, estimated from features and the labels that are known."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics.discovery import accuracies

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

ROWS = 5000
"""Samples that are looked at; of larger sets as many are drawn, labelled ones in proportion."""

AXES = 128
"""Principal axes that wider features are reduced to, since the cost of k-means grows with width."""

MANY = 100
"""Clusters above which k-means is started once only: each start costs more, and matters less."""

_CANDIDATES = 9
"""Numbers of classes tried in a round, evenly spaced over what the last round left."""


class _Merit(NamedTuple):
    """How good a number of classes is: the first decides, the second between equals."""

    accuracy: float
    separation: float


def estimate_classes(
    labelled: npt.ArrayLike,
    labels: npt.ArrayLike,
    unlabelled: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    most: int | None = None,
    restarts: int = 3,
) -> float:
    """Estimate how many classes the samples come from.

    For each candidate, all samples are grouped by k-means into that many clusters; the candidate
    wins whose clusters, matched with the classes of the labelled samples, name most of these right.
    Equal candidates are told apart by the index of Calinski and Harabasz, which needs no labels.
    Candidates are tried coarse to fine: nine over the bounds, then nine over the half around the
    best, and so on. At most ``ROWS`` samples are used, on their ``AXES`` leading principal axes.

    Args:
        labelled: float [labelled, dimension], features of the labelled samples, as they are: a
            method that groups by angle returns unit vectors.
        labels: whole numbers [labelled], 0 to ``old - 1``.
        unlabelled: float [unlabelled, dimension].
        rng: decides the starts of k-means and the samples drawn.
        most: the largest candidate; four times the old classes by default.
        restarts: starts of k-means for each candidate up to ``MANY``, of which the one of least
            inertia counts.

    Returns:
        A whole number from the number of old classes to ``most``; ``Undefined`` where there are not
        as many distinct feature vectors as old classes.

    Raises:
        InputError: shapes that do not fit, no labels, or ``most`` below the old classes.

    Source: Vaze et al., CVPR 2022, section 3.3 (there: Brent's method over the candidates).
    """
    first, second = np.asarray(labelled), np.asarray(unlabelled)
    y = np.asarray(labels, dtype=np.int64)
    if (
        first.ndim != 2
        or second.ndim != 2
        or first.shape[1] != second.shape[1]
        or (y.shape != first.shape[:1] or not y.size)
    ):
        raise InputError(
            "features and labels do not fit",
            where="labelled, labels and unlabelled",
            expected="[n, d], [n] and [m, d] with n of 1 or more",
            found=f"{list(first.shape)}, {list(y.shape)} and {list(second.shape)}",
        )
    old = int(y.max()) + 1
    if most is not None and most < old:
        raise InputError("most is out of range", expected=f"{old} or more", found=str(most))
    features, y = _drawn(first, y, second, rng)
    features = _narrowed(_scaled(features), rng)
    distinct = len(np.unique(features, axis=0))
    if distinct < old:
        return Undefined(f"{distinct} distinct feature vectors for {old} old classes")
    high = min(4 * old if most is None else most, distinct, len(features))
    return float(_search(features, y, old, high, rng, restarts))


def _search(
    features: Floats, y: Ints, low: int, high: int, rng: np.random.Generator, restarts: int
) -> int:
    """Return the best candidate from ``low`` to ``high``."""
    seen: dict[int, _Merit] = {}
    # One seed for all, so that a candidate's merit does not depend on which came before.
    seed = int(rng.integers(2**31))
    while True:
        spaced = np.linspace(low, high, min(_CANDIDATES, high - low + 1))
        tried = sorted({round(float(k)) for k in spaced})
        for k in tried:
            if k not in seen:
                seen[k] = _merit(features, y, k, seed, restarts)
        best = max(seen, key=lambda k: (seen[k], -k))
        if len(tried) == high - low + 1:
            return best
        place = min(range(len(tried)), key=lambda i: abs(tried[i] - best))
        low = tried[max(place - 2, 0)]
        high = tried[min(place + 2, len(tried) - 1)]


def _merit(features: Floats, y: Ints, clusters: int, seed: int, restarts: int) -> _Merit:
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    # With several threads scikit-learn adds up in any order: the same seed must give the same.
    with threadpool_limits(limits=1):
        starts = restarts if clusters <= MANY else 1
        model = KMeans(clusters, n_init=starts, max_iter=30, random_state=seed).fit(features)
    total = float(np.square(features).sum(dtype=np.float64))  # they are centred
    within, n = float(model.inertia_), len(features)
    separation = np.inf
    if within > 0 and clusters > 1:
        separation = (total - within) / (clusters - 1) / (within / max(n - clusters, 1))
    assigned = model.labels_[: y.size].astype(np.int64)
    return _Merit(accuracies(assigned, y, clusters).all, separation if clusters > 1 else 0.0)


def _scaled(features: npt.NDArray[Any]) -> Floats:
    """Centre the features and bring them near 1, where single precision is good enough."""
    centred = features - features.mean(axis=0, dtype=np.float64)
    largest = float(np.abs(centred).max(initial=0.0))
    scaled: Floats = (centred / largest if largest > 0 else centred).astype(np.float32)
    return scaled


def _narrowed(features: Floats, rng: np.random.Generator) -> Floats:
    """Return centred features on at most ``AXES`` principal axes, not scaled."""
    from sklearn.utils.extmath import randomized_svd

    if min(features.shape) <= AXES:
        return features
    seed = int(rng.integers(2**31))
    _, _, axes = randomized_svd(features, AXES, random_state=seed)
    narrow: Floats = features @ axes.T
    return narrow


def _drawn(
    labelled: npt.NDArray[Any], y: Ints, unlabelled: npt.NDArray[Any], rng: np.random.Generator
) -> tuple[npt.NDArray[Any], Ints]:
    """Return at most ``ROWS`` samples, the labelled ones first, and the labels of these."""
    n, m = len(labelled), len(unlabelled)
    if n + m > ROWS:
        # Few labels are all kept: without them there is nothing to choose by.
        kept = max(round(ROWS * n / (n + m)), min(n, ROWS // 10))
        rows = rng.permutation(n)[:kept]
        labelled, y = labelled[rows], y[rows]
        unlabelled = unlabelled[rng.permutation(m)[: ROWS - kept]]
    return np.concatenate([labelled, unlabelled]), y
