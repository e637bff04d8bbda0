"""Metrics of a coupling between two spaces: who is matched with whom, and how well it fits.

A coupling and a cost matrix may each be a dense array or a scipy CSR array. No function makes a
sparse one dense as a whole: the work goes in blocks of rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Matrix: TypeAlias = "Floats | csr_array[Any, Any]"

_BLOCK = 1 << 22
"""Numbers of a dense block of rows."""


def marginal_gap(coupling: Matrix, source_weights: Floats, target_weights: Floats) -> float:
    r"""How far a coupling is from having the given marginals.

    .. math:: \|X 1 - a\|_1 + \|X^\top 1 - b\|_1

    Args:
        coupling: float64 [n, m] >= 0, mass.
        source_weights: float64 [n], sum 1.
        target_weights: float64 [m], sum 1.

    Returns:
        A float >= 0, lower is better: 0 for a feasible plan, 2 for a plan of zeros.

    Raises:
        InputError: shapes that do not fit each other.
    """
    shape = (source_weights.size, target_weights.size)
    if coupling.shape != shape:
        raise InputError(
            "coupling and weights differ in shape",
            where="coupling",
            expected=f"shape {list(shape)}",
            found=f"shape {list(coupling.shape)}",
        )
    rows, columns = _marginals(coupling)
    return float(np.abs(rows - source_weights).sum() + np.abs(columns - target_weights).sum())


def gw_objective(source_cost: Matrix, target_cost: Matrix, coupling: Matrix) -> float:
    r"""The Gromov-Wasserstein objective of a coupling under the square loss.

    .. math::
        \sum_{ijkl} (A_{ik} - B_{jl})^2 X_{ij} X_{kl}
        = p^\top (A \circ A) p + q^\top (B \circ B) q - 2 \langle A X, X B \rangle

    with the coupling's own marginals :math:`p = X 1`, :math:`q = X^\top 1`, so that it is the sum
    on the left for any coupling. A coupling that lost mass scores low: see
    ``podium.metrics.rounding.rounded_objective``.

    Args:
        source_cost: float64 [n, n], symmetric.
        target_cost: float64 [m, m], symmetric.
        coupling: float64 [n, m] >= 0.

    Returns:
        A float >= 0 (to rounding error), lower is better; 0 for isometric spaces at their match.

    Raises:
        InputError: shapes that do not fit each other.

    Source: Peyré, Cuturi and Solomon 2016, proposition 1.
    """
    n, m = coupling.shape
    if source_cost.shape != (n, n) or target_cost.shape != (m, m):
        raise InputError(
            "coupling and cost matrices differ in shape",
            where="coupling",
            expected=f"costs [{n}, {n}] and [{m}, {m}] for a coupling [{n}, {m}]",
            found=f"{list(source_cost.shape)} and {list(target_cost.shape)}",
        )
    rows, columns = _marginals(coupling)
    inner = 0.0
    for block in _blocks(n, m):
        inner += _inner(source_cost[block] @ coupling, coupling[block] @ target_cost)
    source = rows @ (_squared(source_cost) @ rows)
    target = columns @ (_squared(target_cost) @ columns)
    return float(source + target - 2 * inner)


def hits_at(coupling: Matrix, source_labels: Ints, target_labels: Ints, k: int) -> float:
    r"""Share of source nodes with a right target among the ``k`` largest entries of their row.

    Ties are broken at random, and the expectation is returned: of a group of t tied columns, c of
    them right, of which r fit into the first k, one right column is among them with probability
    :math:`1 - \binom{t-c}{r} / \binom{t}{r}`. A constant coupling thus scores k/m against one right
    column in m, whatever the order of the nodes.

    Args:
        coupling: float64 [n, m] >= 0.
        source_labels: int64 [n]; column j is right for row i where the labels agree. Give every
            node a label of its own where each has one counterpart.
        target_labels: int64 [m].
        k: whole number >= 1; more than m counts as m.

    Returns:
        A float in [0, 1], higher is better; with k = 1, the node correctness of the row argmax.
        ``Undefined`` for an empty coupling.

    Raises:
        InputError: k < 1, shapes that do not fit each other, or a coupling that is not finite.
    """
    n, m = coupling.shape
    if k < 1:
        raise InputError("bad k", where="k", expected="a whole number >= 1", found=repr(k))
    if source_labels.shape != (n,) or target_labels.shape != (m,):
        raise InputError(
            "coupling and labels differ in length",
            where="labels",
            expected=f"{n} source and {m} target labels",
            found=f"{list(source_labels.shape)} and {list(target_labels.shape)}",
        )
    if n == 0 or m == 0:
        return Undefined("the coupling is empty")
    total = 0.0
    for block in _blocks(n, m):
        rows = _dense(coupling[block])
        if not np.isfinite(rows).all():
            raise InputError("the coupling is not finite", where="coupling")
        right = source_labels[block, None] == target_labels[None, :]
        total += float(_hit_probability(rows, right, min(k, m)).sum())
    return float(total / n)


def node_correctness(coupling: Matrix, source_labels: Ints, target_labels: Ints) -> float:
    """Share of source nodes whose row's largest entry is a right target; ties in expectation.

    The same as ``hits_at`` with k = 1, which says what the arguments are.
    """
    return hits_at(coupling, source_labels, target_labels, 1)


def edge_correctness(
    source_cost: csr_array[Any, Any], target_cost: csr_array[Any, Any], coupling: Matrix
) -> float:
    r"""Share of the source's edges that the row argmax maps onto an edge of the target.

    .. math:: \frac{1}{|E_A|} \sum_{(i,k) \in E_A} (P\, 1[B \ne 0]\, P^\top)_{ik}

    where row i of P spreads 1 evenly over the largest entries of row i of the coupling: ties are
    broken at random, and this is the expectation. The truth is not used. A map of many nodes onto
    few may score high: read it beside node correctness.

    Args:
        source_cost: CSR float64 [n, n], symmetric; non-zeros are edges.
        target_cost: CSR float64 [m, m], symmetric.
        coupling: float64 [n, m] >= 0.

    Returns:
        A float in [0, 1], higher is better; ``Undefined`` where the source has no edge.

    Source: Kuchaiev et al. 2010 (edge correctness).
    """
    edges, target = _edges(source_cost), _edges(target_cost)
    if edges.nnz == 0:
        return Undefined("the source graph has no edge")
    choice, everything = _choices(coupling)
    # A row that is tied throughout stays a factor of rank one: written out it would fill memory.
    m = target.shape[0]
    degree = np.asarray(target.sum(axis=1)).ravel()
    reached = choice @ (degree / m)
    found = float(edges.multiply(choice @ target @ choice.T).sum())
    found += 2 * float(everything @ (edges @ reached))
    found += float(everything @ (edges @ everything)) * float(degree.sum()) / m**2
    return float(found / edges.nnz)


def _edges(cost: csr_array[Any, Any]) -> csr_array[Any, Any]:
    """Return 1 where two different nodes are joined."""
    from scipy.sparse import coo_array, csr_array

    entries = coo_array(cost)
    rows, columns = entries.coords
    kept = (entries.data != 0) & (rows != columns)
    ones = np.ones(int(kept.sum()))
    return csr_array((ones, (rows[kept], columns[kept])), shape=cost.shape)


def _choices(coupling: Matrix) -> tuple[csr_array[Any, Any], Floats]:
    """Return the argmax of each row as a distribution, and which rows are tied throughout (0/1)."""
    from scipy.sparse import csr_array, vstack

    n, m = coupling.shape
    parts = []
    everything = np.zeros(n)
    for block in _blocks(n, m):
        rows = _dense(coupling[block])
        top = rows == rows.max(axis=1, keepdims=True)
        ties = top.sum(axis=1)
        everything[block] = ties == m
        top[ties == m] = False
        parts.append(csr_array(top / ties[:, None]))
    return csr_array(vstack(parts, format="csr")), everything


def _hit_probability(rows: Floats, right: npt.NDArray[np.bool_], k: int) -> Floats:
    """Return for each row the probability that a right column is among the k largest."""
    bound = -np.partition(-rows, k - 1, axis=1)[:, k - 1 : k]
    above, tied = rows > bound, rows == bound
    room = k - above.sum(axis=1)
    ties = tied.sum(axis=1)
    wrong = ties - (tied & right).sum(axis=1)
    miss = np.ones(len(rows))
    for drawn in range(k):
        left = np.maximum(ties - drawn, 1)
        miss *= np.where(drawn < room, np.maximum(wrong - drawn, 0) / left, 1.0)
    return np.where((above & right).any(axis=1), 1.0, 1.0 - miss)


def _marginals(coupling: Matrix) -> tuple[Floats, Floats]:
    return (
        np.asarray(coupling.sum(axis=1), dtype=np.float64).ravel(),
        np.asarray(coupling.sum(axis=0), dtype=np.float64).ravel(),
    )


def _inner(left: Any, right: Any) -> float:
    """Return the sum of an entrywise product, dense or sparse on either side."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return float(np.vdot(left, right))
    sparse, other = (right, left) if isinstance(left, np.ndarray) else (left, right)
    return float(sparse.multiply(other).sum())


def _squared(cost: Matrix) -> Matrix:
    return cost * cost if isinstance(cost, np.ndarray) else cost.power(2)


def _dense(rows: Matrix) -> Floats:
    return rows if isinstance(rows, np.ndarray) else np.asarray(rows.toarray(), dtype=np.float64)


def _blocks(rows: int, columns: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))
