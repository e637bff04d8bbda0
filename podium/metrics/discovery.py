"""Clustering accuracy of category discovery, under one assignment of clusters to classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Accuracies:
    """Shares of samples that lie in the cluster matched with their class, each in [0, 1].

    Attributes:
        all: over all samples; the assignment maximises it.
        old: over samples of old classes, under that same assignment.
        new: over samples of new classes, under that same assignment.
        old_per_subset: over samples of old classes, under an assignment of these samples alone.
        new_per_subset: over samples of new classes, under an assignment of these samples alone.
    """

    all: float
    old: float
    new: float
    old_per_subset: float
    new_per_subset: float


def accuracies(clusters: npt.ArrayLike, truth: npt.ArrayLike, old: int) -> Accuracies:
    r"""Match clusters with classes one to one, and return who is where it belongs.

    .. math:: \max_{\pi} \frac1n \sum_i 1[\pi(c_i) = y_i]

    over the one-to-one maps of clusters to classes: the assignment is optimal for *all* samples,
    and ``old`` and ``new`` are shares under that one map. The other two match each subset on its
    own, so a cluster may stand for an old and a new class at once: never below the first two.

    Args:
        clusters: whole numbers [n], any names, as many or as few clusters as one likes; a cluster
            left without a class counts as wrong, and so does a class left without a cluster.
        truth: whole numbers [n], the classes; below ``old`` are the old ones.
        old: number of old classes.

    Returns:
        ``Accuracies``, higher is better; a share over no samples is ``Undefined``. Where several
        assignments are optimal for all samples, one of them decides how the total splits into old
        and new; which one depends on the clusters' members, not on their names or the order of
        the samples.

    Raises:
        InputError: arrays that are not one-dimensional, whole-numbered and of one length, a
            negative class, or a negative ``old``.

    Source: Vaze et al., CVPR 2022 (the protocol "v2" of its code; the subsets alone are "v1").
    """
    c, y = _whole(clusters, "clusters"), _whole(truth, "truth")
    if c.shape != y.shape:
        raise InputError(
            "every sample has a cluster and a class",
            where="clusters and truth",
            expected="one length",
            found=f"{c.size} and {y.size}",
        )
    if y.size and y.min() < 0:
        raise InputError("a class is 0 or more", where="truth", found=str(int(y.min())))
    if old < 0:
        raise InputError("a number of classes is 0 or more", where="old", found=str(old))
    table = confusion(c, y)
    hits = _hits(table)
    first, rest = table[:, :old], table[:, old:]
    return Accuracies(
        all=_share(hits.sum(), table, "samples"),
        old=_share(hits[:old].sum(), first, "samples of old classes"),
        new=_share(hits[old:].sum(), rest, "samples of new classes"),
        old_per_subset=_share(_hits(first).sum(), first, "samples of old classes"),
        new_per_subset=_share(_hits(rest).sum(), rest, "samples of new classes"),
    )


def confusion(clusters: npt.ArrayLike, truth: npt.ArrayLike) -> Ints:
    """Count the samples of each cluster and class.

    Args:
        clusters, truth: whole numbers [n]; truth is 0 or more.

    Returns:
        int64 [clusters, classes]: a row for every cluster that has a sample, in an order that
        depends on its counts alone; a column for every class up to the largest.
    """
    names, rows = np.unique(np.asarray(clusters), return_inverse=True)
    y = np.asarray(truth, dtype=np.int64)
    classes = int(y.max()) + 1 if y.size else 0
    counts = np.bincount(rows * classes + y, minlength=names.size * classes)
    table: Ints = counts.reshape(names.size, classes).astype(np.int64)
    # Rows in the order of their contents: which of several best assignments is found must not
    # depend on the clusters' names.
    ordered: Ints = table[np.lexsort(table.T[::-1])] if table.size else table
    return ordered


def _hits(table: Ints) -> Ints:
    """Return how many samples of each class lie in its cluster, under the best assignment."""
    from scipy.optimize import linear_sum_assignment

    hits = np.zeros(table.shape[1], dtype=np.int64)
    rows, columns = linear_sum_assignment(table, maximize=True)
    hits[columns] = table[rows, columns]
    return hits


def _share(hits: np.int64, table: Ints, what: str) -> float:
    total = int(table.sum())
    return int(hits) / total if total else Undefined(f"there are no {what}")


def _whole(values: npt.ArrayLike, where: str) -> Ints:
    raw = np.asarray(values)
    if raw.ndim != 1 or (raw.dtype.kind not in "iu" and raw.size):
        raise InputError(
            "expected one whole number a sample",
            where=where,
            expected="whole numbers of shape [samples]",
            found=f"{raw.dtype} of shape {list(raw.shape)}",
        )
    return raw.astype(np.int64)
