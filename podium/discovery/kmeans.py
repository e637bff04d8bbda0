"""Semi-supervised k-means: the labelled samples stay with their class, the rest is grouped.

Source: Vaze et al., "Generalized Category Discovery", CVPR 2022, section 3.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.discovery.samples import check_old
from podium.errors import InputError

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]
Sums = npt.NDArray[np.float64]

_BLOCK = 4096
"""Rows taken at once: their distances stay in the processor's cache."""


@dataclass(frozen=True)
class Clustering:
    """A partition of the unlabelled samples.

    Attributes:
        clusters: int64 [unlabelled], 0 to ``classes - 1``; cluster k < old is that of class k.
        centres: [classes, dimension], the mean of each cluster, in the features' type.
        inertia: sum of the squared distances of ALL samples, labelled and unlabelled, to the centre
            of their cluster; the lower, the better.
        trace: the inertia after each iteration of the restart that was kept; it never rises.
        finals: the inertia of each restart that was run to its end.
    """

    clusters: Ints
    centres: Floats
    inertia: float
    trace: tuple[float, ...]
    finals: tuple[float, ...]


def semi_supervised_kmeans(
    labelled: Floats,
    labels: Ints,
    unlabelled: Floats,
    classes: int,
    rng: np.random.Generator,
    *,
    restarts: int = 30,
    finalists: int = 5,
    trial: int = 5,
    iterations: int = 200,
    tolerance: float = 1e-4,
) -> Clustering:
    r"""Group the unlabelled samples, with the labelled ones held to the cluster of their class.

    .. math:: \min_{z, \mu} \sum_{i \in L} \|x_i - \mu_{y_i}\|^2
              + \sum_{j \in U} \|x_j - \mu_{z_j}\|^2

    The centres of the old classes start from their labelled samples, the others are drawn from the
    unlabelled ones by greedy k-means++ given those. Of the restarts, the one of lowest inertia over
    labelled PLUS unlabelled samples is kept: the inertia of the unlabelled ones alone prefers
    partitions that pull the old centres off their labelled samples.

    Args:
        labelled: floats [labelled, dimension]; no rows for plain k-means.
        labels: int64 [labelled]; every class 0 to ``old - 1`` must have a sample.
        unlabelled: floats [unlabelled, dimension]. float32 is kept: halves memory and time.
        classes: number of clusters, at least ``old``.
        rng: what the seeds are drawn from.
        restarts: how many starts; one is made where there is no new class to seed.
        finalists: how many of them, those of lowest inertia after ``trial`` iterations, go on to
            the end: the others rarely catch up, and this affords three times the starts.
        trial: iterations before that choice.
        iterations: largest number of iterations of a restart.
        tolerance: a restart ends where its centres move by less, in squares and relative to the
            variance of a feature; 0 for until nothing changes.

    Raises:
        InputError: a bad argument, features that are not finite, an old class without a labelled
            sample, fewer classes than old ones, or fewer unlabelled samples than new classes.
    """
    counts = {
        "restarts": restarts,
        "finalists": finalists,
        "trial": trial,
        "iterations": iterations,
    }
    for name, value in counts.items():
        if value < 1:
            raise InputError(
                f"bad {name}", where=name, expected="a whole number >= 1", found=repr(value)
            )
    _check_tolerance(tolerance)
    data = _Data(labelled, labels, unlabelled, classes)
    old = data.class_centres()
    near = data.nearest(old)
    if len(old) == classes:
        restarts = 1
    runs = [_begin(data, _seeds(data, old, near, classes, rng)) for _ in range(restarts)]
    if restarts > finalists:
        for run in runs:
            _descend(data, run, min(trial, iterations), tolerance)
        runs = sorted(runs, key=lambda r: r.trace[-1])[:finalists]
    for run in runs:
        _descend(data, run, iterations, tolerance)
    best = min(runs, key=lambda r: r.trace[-1])
    return _result(data, best, tuple(r.trace[-1] for r in runs))


def kmeans_from(
    labelled: Floats,
    labels: Ints,
    unlabelled: Floats,
    centres: Floats,
    *,
    iterations: int = 200,
    tolerance: float = 1e-4,
) -> Clustering:
    """Run one restart of ``semi_supervised_kmeans`` from given centres [classes, dimension].

    Raises:
        InputError: as ``semi_supervised_kmeans``.
    """
    if centres.ndim != 2 or centres.shape[1:] != unlabelled.shape[1:]:
        raise InputError(
            "centres do not fit the samples",
            where="centres",
            expected=f"[classes, {', '.join(map(str, unlabelled.shape[1:]))}]",
            found=str(list(centres.shape)),
        )
    _check_tolerance(tolerance)
    data = _Data(labelled, labels, unlabelled, len(centres))
    start = np.asarray(centres, data.rows.dtype) - data.origin
    run = _begin(data, start)
    _descend(data, run, iterations, tolerance)
    return _result(data, run, (run.trace[-1],))


class _Data:
    """The samples about their mean: distances from inner products lose no digits to an offset.

    The labelled samples never move, so only their sums and counts by class are kept.
    """

    def __init__(self, labelled: Floats, labels: Ints, unlabelled: Floats, classes: int) -> None:
        _check(labelled, labels, unlabelled, classes)
        dtype = np.result_type(labelled, unlabelled, np.float32)
        total = labelled.sum(axis=0, dtype=np.float64) + unlabelled.sum(axis=0, dtype=np.float64)
        if not np.isfinite(total).all():
            raise _not_finite(dtype)
        size = len(labelled) + len(unlabelled)
        self.origin = (total / size).astype(dtype)
        self.rows: Floats = unlabelled - self.origin
        held: Floats = labelled - self.origin
        self.squares: Floats = np.einsum("ij,ij->i", self.rows, self.rows)
        self.energy = float(
            self.squares.sum(dtype=np.float64)
            + np.einsum("ij,ij->i", held, held).sum(dtype=np.float64)
        )
        if not math.isfinite(self.energy):
            raise _not_finite(dtype)
        self.counts: Ints = np.bincount(labels, minlength=classes).astype(np.int64)
        self.sums = _sums(held, labels, np.ones(len(labels)), classes)
        self.variance = self.energy / held.shape[1] / size

    def class_centres(self) -> Floats:
        """Return the means of the labelled samples, [old, dimension]."""
        old = int(np.count_nonzero(self.counts))
        means: Floats = (self.sums[:old] / self.counts[:old, None]).astype(self.rows.dtype)
        return means

    def nearest(self, centres: Floats) -> Floats:
        """Return the squared distance of each row to the nearest of the centres, inf if none."""
        if not len(centres):
            return np.full(len(self.rows), np.inf, self.rows.dtype)
        return self.distances(centres, self.assign(centres))

    def assign(self, centres: Floats) -> Ints:
        r"""Return the nearest centre of each row: the least :math:`\|\mu\|^2 - 2 \mu^\top x`."""
        clusters = np.empty(len(self.rows), np.int64)
        weights = np.ascontiguousarray(-2 * centres.T)
        lengths = np.einsum("ij,ij->i", centres, centres)
        for first in range(0, len(self.rows), _BLOCK):
            scores = self.rows[first : first + _BLOCK] @ weights
            scores += lengths
            scores.argmin(axis=1, out=clusters[first : first + _BLOCK])
        return clusters

    def distances(self, centres: Floats, clusters: Ints) -> Floats:
        """Return the squared distance of each row to the centre of its cluster."""
        found = np.empty_like(self.squares)
        for first in range(0, len(self.rows), _BLOCK):
            block = slice(first, first + _BLOCK)
            gaps = self.rows[block] - centres[clusters[block]]
            np.einsum("ij,ij->i", gaps, gaps, out=found[block])
        return found


def _not_finite(dtype: npt.DTypeLike) -> InputError:
    return InputError(
        "features cannot be grouped",
        where="labelled, unlabelled",
        expected=f"finite numbers whose squares fit {np.dtype(dtype).name}",
        found="NaN, infinite or larger values",
    )


def _check_tolerance(tolerance: float) -> None:
    if not 0 <= tolerance < math.inf:
        raise InputError(
            "bad tolerance", where="tolerance", expected="0 or more", found=repr(tolerance)
        )


def _check(labelled: Floats, labels: Ints, unlabelled: Floats, classes: int) -> None:
    """Raise InputError for samples that cannot be grouped into ``classes``."""
    fit = labelled.ndim == unlabelled.ndim == 2 and labelled.shape[1] == unlabelled.shape[1]
    if not fit or not labelled.shape[1]:
        raise InputError(
            "features do not fit",
            where="labelled, unlabelled",
            expected="two arrays [samples, dimension] of one dimension, 1 or more",
            found=f"{list(labelled.shape)} and {list(unlabelled.shape)}",
        )
    if labels.shape != (len(labelled),) or labels.dtype.kind not in "iu" or (labels < 0).any():
        raise InputError(
            "bad labels",
            where="labels",
            expected=f"{len(labelled)} whole numbers >= 0, one for each labelled sample",
            found=f"{labels.dtype} {list(labels.shape)}"
            + (f", the least {labels.min()}" if labels.size else ""),
        )
    old = check_old(labels, classes)
    if not len(unlabelled) or len(unlabelled) < classes - old:
        raise InputError(
            "too few samples to group",
            where="unlabelled",
            expected=f"at least {max(classes - old, 1)}, one for each new class",
            found=str(len(unlabelled)),
        )


def _sums(rows: Floats, clusters: Ints, weights: npt.NDArray[np.float64], classes: int) -> Sums:
    """Return the weighted sums of rows by cluster, float64 [classes, dimension]."""
    from scipy.sparse import csr_array

    total = np.zeros((classes, rows.shape[1]))
    for first in range(0, len(rows), _BLOCK):
        block = rows[first : first + _BLOCK].astype(np.float64)
        index = (clusters[first : first + _BLOCK], np.arange(len(block)))
        members = csr_array((weights[first : first + _BLOCK], index), shape=(classes, len(block)))
        total += np.asarray(members @ block)
    return total


def _seeds(
    data: _Data, old: Floats, near: Floats, classes: int, rng: np.random.Generator
) -> Floats:
    """Return the old centres and new ones drawn by greedy k-means++ given them.

    Args:
        data: the samples.
        old: [old, dimension], centres that are given.
        near: squared distance of each row to the nearest of them.
        classes: how many centres in all.
        rng: what the new ones are drawn from.
    """
    centres = list(old)
    # As many candidates as scikit-learn tries.
    trials = 2 + int(math.log(max(classes - len(old), 1)))
    while len(centres) < classes:
        if centres and near.any():
            steps = np.cumsum(near, dtype=np.float64)
            drawn = np.searchsorted(steps, rng.random(trials) * steps[-1], side="right")
            candidates = np.minimum(drawn, len(near) - 1)
        else:
            candidates = rng.integers(len(near), size=1)
        points = data.rows[candidates]
        distances = data.squares - 2 * (points @ data.rows.T) + data.squares[candidates, None]
        closer = np.minimum(np.maximum(distances, 0), near)
        best = int(closer.sum(axis=1, dtype=np.float64).argmin())
        centres.append(points[best])
        near = closer[best]
    return np.stack(centres)


@dataclass
class _Restart:
    """Where a restart stands: its partition, that partition's means, and its inertia so far."""

    clusters: Ints
    counts: Ints
    sums: Sums
    centres: Floats
    trace: list[float]
    ended: bool = False


def _begin(data: _Data, centres: Floats) -> _Restart:
    """Return the partition by given centres, its means, and its inertia."""
    clusters, counts = _partition(data, centres)
    sums = data.sums + _sums(data.rows, clusters, np.ones(len(clusters)), len(centres))
    means = _means(sums, counts, centres)
    return _Restart(clusters, counts, sums, means, [_inertia(data, sums, counts)])


def _descend(data: _Data, run: _Restart, iterations: int, tolerance: float) -> None:
    """Alternate assignments and means until nothing changes; see ``semi_supervised_kmeans``."""
    while not run.ended and len(run.trace) < iterations:
        clusters, counts = _partition(data, run.centres)
        # Only the samples that moved change the sums: few, after the first iterations.
        moved = np.flatnonzero(clusters != run.clusters)
        both = np.concatenate([clusters[moved], run.clusters[moved]])
        signs = np.repeat([1.0, -1.0], len(moved))
        sums = run.sums + _sums(data.rows[np.tile(moved, 2)], both, signs, len(counts))
        reached = _inertia(data, sums, counts)
        if not len(moved) or not reached < run.trace[-1]:
            run.ended = True  # nothing moves, or only ties in floating point
            return
        means = _means(sums, counts, run.centres)
        run.ended = float(((means - run.centres) ** 2).sum()) <= tolerance * data.variance
        run.clusters, run.counts, run.sums, run.centres = clusters, counts, sums, means
        run.trace.append(reached)


def _partition(data: _Data, centres: Floats) -> tuple[Ints, Ints]:
    """Return the nearest centre of each row, no cluster left empty, and all clusters' sizes."""
    clusters = data.assign(centres)
    counts = data.counts + np.bincount(clusters, minlength=len(centres))
    _fill_empty(data, centres, clusters, counts)
    return clusters, counts


def _result(data: _Data, run: _Restart, finals: tuple[float, ...]) -> Clustering:
    trace = tuple(run.trace)
    return Clustering(run.clusters, run.centres + data.origin, trace[-1], trace, finals)


def _means(sums: Sums, counts: Ints, before: Floats) -> Floats:
    """Return the means by cluster; an empty cluster keeps its centre."""
    filled = counts > 0
    means = before.copy()
    means[filled] = sums[filled] / counts[filled, None]
    return means


def _inertia(data: _Data, sums: Sums, counts: Ints) -> float:
    r"""Return :math:`\sum_i \|x_i\|^2 - \sum_k \|s_k\|^2 / n_k`, the inertia about the means."""
    filled = counts > 0
    kept = float(((sums[filled] ** 2).sum(axis=1) / counts[filled]).sum())
    return max(data.energy - kept, 0.0)


def _fill_empty(data: _Data, centres: Floats, clusters: Ints, counts: Ints) -> None:
    """Move the sample furthest from its centre into each empty cluster, in place.

    Samples alone in their cluster stay. Where all lie on their centres, the cluster stays empty.
    """
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return
    distances = data.distances(centres, clusters)
    furthest = iter(np.argsort(-distances, kind="stable"))
    for cluster in empty:
        for row in furthest:
            if distances[row] <= 0:
                return
            if counts[clusters[row]] > 1:
                counts[clusters[row]] -= 1
                clusters[row], counts[cluster] = cluster, 1
                break
