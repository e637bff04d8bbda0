"""Frank-Wolfe with a linear assignment inside and one sparse product a step."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.transport.costs import Cost

Floats = npt.NDArray[np.float64]


def frank_wolfe(
    source: Cost,
    target: Cost,
    a: Floats,
    b: Floats,
    plan: Floats,
    *,
    steps: int,
    tolerance: float,
) -> Floats:
    r"""Maximise :math:`\langle A X B, X\rangle` over doubly stochastic X, with exact line search.

    The direction is a permutation P, so that A P B takes one product of sparse matrices, and A X B
    follows by the same convex combination as X. The last direction is taken as the match.

    Args:
        source: [n, n], padded with isolated nodes to the larger size.
        target: [m, m], likewise.
        a: float64 [n], equal weights with sum 1.
        b: float64 [m], equal weights with sum 1.
        plan: float64 [n, m] with marginals a and b, where to start.
        steps: at most.
        tolerance: stop once a step raises the objective by no more than this share.

    Returns:
        float64 [n, m] >= 0: the mass of matched nodes, before any rounding to the marginals.

    Raises:
        InputError: weights that differ within a space.

    Source: Vogelstein et al. 2015; Vayer et al. 2019, with assignments in place of transport.
    """
    for side, weights in (("source", a), ("target", b)):
        if np.ptp(weights) > 1e-12 * weights.max():
            raise InputError(
                "an assignment matches nodes of equal weight",
                where=f"{side}_weights",
                expected="the same weight for every node",
                found=f"{weights.min():.6g} to {weights.max():.6g}",
            )
    from scipy.optimize import linear_sum_assignment

    n, m = plan.shape
    size = max(n, m)
    first, second = _padded(source, size), _padded(target, size)
    point = np.full((size, size), 1.0 / size)
    point[:n, :m] = plan * min(n, m)
    gain = np.asarray((second @ np.asarray(first @ point).T).T)
    value = float(np.vdot(gain, point))
    rows = np.arange(size)
    match = rows
    for _ in range(steps):
        match = linear_sum_assignment(gain, maximize=True)[1]
        towards = first @ second[match]
        cross = float(gain[rows, match].sum())
        vertex = float(towards[rows, match].sum())
        step = _line_search(value - 2 * cross + vertex, 2 * (cross - value))
        reached = (1 - step) ** 2 * value + 2 * step * (1 - step) * cross + step**2 * vertex
        if reached <= value + tolerance * abs(value):
            break
        gain *= 1 - step
        gain += step * towards
        point *= 1 - step
        point[rows, match] += step
        value = reached
    match = linear_sum_assignment(point, maximize=True)[1][:n]
    inside = np.flatnonzero(match < m)
    result = np.zeros((n, m))
    result[inside, match[inside]] = np.minimum(a[inside], b[match[inside]])
    return result


def _line_search(curvature: float, slope: float) -> float:
    """Return the step in [0, 1] that maximises curvature t^2 + slope t."""
    if curvature >= 0:
        return 1.0 if curvature + slope > 0 else 0.0
    return float(np.clip(-slope / (2 * curvature), 0.0, 1.0))


def _padded(cost: Cost, size: int) -> Any:
    from scipy.sparse import csr_array

    if not cost.sparse:
        return np.pad(cost.dense(), (0, size - cost.size))
    matrix = cost.csr()
    pointers = np.pad(matrix.indptr, (0, size - cost.size), mode="edge")
    return csr_array((matrix.data, matrix.indices, pointers), shape=(size, size))
