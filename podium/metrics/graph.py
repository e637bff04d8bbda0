"""Metrics of a recovered graph; edges are ``[target, source]`` everywhere."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

Diagonal = Literal["keep", "drop"]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def auroc(scores: npt.ArrayLike, graph: npt.ArrayLike, *, diagonal: Diagonal) -> float:
    r"""Area under the ROC curve of edge scores against the true graph.

    .. math:: P(s^+ > s^-) + \tfrac12 P(s^+ = s^-)

    over all pairs of a true edge and a non-edge: ties count as halves.

    Args:
        scores: float [d, d], ``scores[target, source]``; higher is more evidence.
        graph: bool or 0/1 [d, d], ``graph[target, source]``.
        diagonal: whether self-links are scored.

    Returns:
        A float in [0, 1], higher is better; ``Undefined`` where scores are NaN, nothing is scored,
        or only one class is present.

    Raises:
        InputError: shapes that differ or are not square, a graph with other values than 0 and 1,
            a ``diagonal`` other than the two.

    Source: Hanley & McNeil 1982 (the Mann-Whitney form).
    """
    s, y = _scored(scores, graph, diagonal)
    reason = _undefined(s, y)
    if reason is None and y.all():
        reason = "every scored pair is an edge; AUROC needs at least one non-edge"
    if reason is not None:
        return Undefined(reason)
    _, tie, size = np.unique(s, return_inverse=True, return_counts=True)
    # The mean rank of each group of ties, from 1.
    rank = np.cumsum(size) - (size - 1) / 2
    positive = int(y.sum())
    negative = y.size - positive
    wins = rank[tie][y].sum() - positive * (positive + 1) / 2
    return float(wins / (positive * negative))


def auprc(scores: npt.ArrayLike, graph: npt.ArrayLike, *, diagonal: Diagonal) -> float:
    r"""Average precision of edge scores against the true graph.

    .. math:: \sum_n (R_n - R_{n-1}) P_n

    over the distinct scores in descending order, without interpolation; tied scores enter together.

    Args:
        scores: float [d, d], ``scores[target, source]``; higher is more evidence.
        graph: bool or 0/1 [d, d], ``graph[target, source]``.
        diagonal: whether self-links are scored.

    Returns:
        A float in (0, 1], higher is better; the share of edges is what a constant score gets.
        ``Undefined`` where scores are NaN, nothing is scored, or there is no edge.

    Raises:
        InputError: as in ``auroc``.

    Source: the definition of scikit-learn's ``average_precision_score``.
    """
    s, y = _scored(scores, graph, diagonal)
    reason = _undefined(s, y)
    if reason is not None:
        return Undefined(reason)
    _, tie, size = np.unique(-s, return_inverse=True, return_counts=True)
    hits = np.bincount(tie, weights=y, minlength=size.size)
    precision = np.cumsum(hits) / np.cumsum(size)
    return float((hits * precision).sum() / y.sum())


def structural_hamming_distance(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    diagonal: Diagonal,
    reversed_as: Literal[1, 2],
) -> float:
    r"""Count the edges by which two directed graphs differ.

    A pair of variables counts 0 where both graphs agree on it in both directions, else the number
    of directions in which they differ; with ``reversed_as=1`` an edge that only points the other
    way counts once (Tsamardinos et al. 2006), with 2 it counts as one missing and one extra edge.

    Args:
        a, b: bool or 0/1 [d, d], ``[target, source]``; the order of the two does not matter.
        diagonal: whether self-links are compared.
        reversed_as: what a reversed edge counts.

    Returns:
        A whole number >= 0 as a float, lower is better; 0 only for equal graphs. ``Undefined``
        where nothing is compared.

    Raises:
        InputError: as in ``auroc``, or a ``reversed_as`` other than 1 and 2.
    """
    if reversed_as not in (1, 2):
        raise InputError(
            "bad reversed_as", where="reversed_as", expected="1 or 2", found=repr(reversed_as)
        )
    left, right = _graph(a, "a"), _graph(b, "b")
    if left.shape != right.shape:
        raise _shapes("a and b", left.shape, right.shape)
    keep = _mask(len(left), diagonal)
    if not keep.any():
        return Undefined("no pair of variables is compared")
    differ = (left != right) & keep
    count = int(differ.sum())
    if reversed_as == 1:
        flipped = differ & differ.T & (left != left.T) & (right != right.T)
        count -= int(np.triu(flipped, 1).sum())
    return float(count)


def _mask(size: int, diagonal: Diagonal) -> Bools:
    if diagonal not in ("keep", "drop"):
        raise InputError(
            "bad diagonal", where="diagonal", expected="'keep' or 'drop'", found=repr(diagonal)
        )
    mask = np.ones((size, size), dtype=np.bool_)
    if diagonal == "drop":
        np.fill_diagonal(mask, False)
    return mask


def _graph(values: npt.ArrayLike, where: str) -> Bools:
    raw = np.asarray(values)
    if raw.ndim != 2 or raw.shape[0] != raw.shape[1]:
        raise InputError(
            "a graph is a square matrix",
            where=where,
            expected="shape [variables, variables]",
            found=f"shape {list(raw.shape)}",
        )
    if not np.isin(raw, (0, 1)).all():
        raise InputError(
            "a graph holds only 0 and 1", where=where, expected="0 or 1", found=str(raw.dtype)
        )
    return raw.astype(np.bool_)


def _scored(
    scores: npt.ArrayLike, graph: npt.ArrayLike, diagonal: Diagonal
) -> tuple[Floats, Bools]:
    """Return the scored pairs as two flat arrays."""
    truth = _graph(graph, "graph")
    s = np.asarray(scores, dtype=np.float64)
    if s.shape != truth.shape:
        raise _shapes("scores and graph", s.shape, truth.shape)
    keep = _mask(len(truth), diagonal)
    return s[keep], truth[keep]


def _undefined(scores: Floats, edges: Bools) -> str | None:
    if edges.size == 0:
        return "no pair of variables is scored"
    holes = int(np.isnan(scores).sum())
    if holes:
        return f"{holes} of {scores.size} scores are NaN"
    if not edges.any():
        return "no scored pair is an edge"
    return None


def _shapes(what: str, left: tuple[int, ...], right: tuple[int, ...]) -> InputError:
    return InputError(
        f"{what} differ in shape",
        where=what,
        expected="two square matrices of one size",
        found=f"{list(left)} and {list(right)}",
    )
