"""From plans to matchings: linear assignment, and how well a matching agrees with both graphs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium.transport.descent import Step
from podium.transport.products import Indices, Plan

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]


def assignment(plan: Plan) -> Indices:
    r"""Return the permutation :math:`\pi` that maximises :math:`\sum_i X_{i\pi(i)}`, int [n].

    Where the largest entries of the rows already lie in different columns they are the optimum, and
    no assignment problem is solved.

    Args:
        plan: float [n, n], finite.
    """
    largest = np.asarray(plan.argmax(axis=1))
    if np.unique(largest).size == largest.size:
        return largest
    from scipy.optimize import linear_sum_assignment

    return np.asarray(linear_sum_assignment(plan, maximize=True)[1])


def overlap(source: csr_array[Any, Any], target: csr_array[Any, Any], mapping: Indices) -> Floats:
    r"""Return how well each node's neighbourhood is kept, float64 [n] in [0, 1] for costs >= 0.

    .. math:: r_i = \frac{\sum_k A_{ik} B_{\pi(i)\pi(k)}}
                         {\|A_{i\cdot}\|_2\, \|B_{\pi(i)\pi(\cdot)}\|_2}

    the cosine between row i of A and the row of its image; 1 where both are all zero, 0 where one
    of them is. For a mapping that is far from the right one it is near the density of the graphs.

    Args:
        source: CSR [n, n].
        target: CSR [m, m].
        mapping: int [n], the image of each node, not necessarily different ones.
    """
    image = target[mapping][:, mapping]
    shared = _row_sums(source.multiply(image))
    lengths = np.sqrt(_row_sums(source.multiply(source)) * _row_sums(image.multiply(image)))
    result = np.zeros(len(shared))
    np.divide(shared, lengths, out=result, where=lengths > 0)
    # An image without its own neighbours in the mapping's range still has them in the target.
    own = np.diff(target.indptr)[mapping]
    result[(np.diff(source.indptr) == 0) & (own == 0)] = 1.0
    return np.minimum(result, 1.0)


def kept(
    source: Floats | csr_array[Any, Any], target: Floats | csr_array[Any, Any], mapping: Indices
) -> float:
    r"""Return :math:`\langle A P B^\top, P\rangle = \sum_{ik} A_{ik} B_{\pi(i)\pi(k)}`.

    For permutations of equal weights, the Gromov-Wasserstein objective is a constant minus
    :math:`2/n^2` times this.
    """
    image = target[mapping][:, mapping]
    return float((source * image).sum())


def assignment_descent(
    source: Floats, target: Floats, plan: Floats | None, steps: int
) -> tuple[Indices, tuple[Step, ...]]:
    r"""Descend by assignments: :math:`P \leftarrow \arg\min_Q \langle F(P), Q\rangle`.

    :math:`F_{ij} = \|A_i\|^2 + \|B_j\|^2 - 2 (A P B)_{ij}` is the gradient of the
    Gromov-Wasserstein objective of n points of equal weight. It is Frank-Wolfe's step of full
    length, and the limit of a mirror step of infinite length. Where the objective is concave over
    the plans, as between Euclidean distances, each step lowers it; a step that does not is refused
    and ends the descent.

    Args:
        source: float64 [n, n], symmetric.
        target: float64 [n, n], symmetric.
        plan: float64 [n, n] with row sums 1, where to start; None for the uniform plan, from where
            the first assignment is that of the sorted row sums.
        steps: how many at most.

    Returns:
        The permutation int [n], and its steps with the objective
        :math:`-\langle A P B, P\rangle`.
    """
    started = time.process_time()
    if plan is None:
        mapping = _by_order(source.sum(axis=1), target.sum(axis=1))
    else:
        mapping = assignment(-_gradient(source, source @ plan @ target, target))
    value = -kept(source, target, mapping)
    trace = [Step("assignment", len(source), value, time.process_time() - started)]
    while len(trace) < steps:
        started = time.process_time()
        following = assignment(-_gradient(source, source @ target[mapping], target))
        reached = -kept(source, target, following)
        if not reached < value:
            break
        mapping, value = following, reached
        trace.append(Step("assignment", len(source), value, time.process_time() - started))
    return mapping, tuple(trace)


def _gradient(source: Floats, gain: Floats, target: Floats) -> Floats:
    lengths = (source**2).sum(axis=1)[:, None] + (target**2).sum(axis=0)
    return np.asarray(lengths - 2 * gain)


def _by_order(source: Floats, target: Floats) -> Indices:
    """Return the permutation that maximises the sum of products of two lists of numbers."""
    mapping = np.empty(len(source), dtype=np.intp)
    mapping[np.argsort(source, kind="stable")] = np.argsort(target, kind="stable")
    return mapping


def _row_sums(matrix: Any) -> Floats:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
