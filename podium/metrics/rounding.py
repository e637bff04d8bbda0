"""Couplings rounded to exact marginals, and what they are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from podium.metrics.alignment import gw_objective

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Matrix: TypeAlias = "Floats | csr_array[Any, Any]"


def rounding(coupling: Matrix, a: Floats, b: Floats) -> tuple[Matrix, Floats, Floats]:
    r"""Move a non-negative matrix onto the transport polytope, exact to rounding error.

    Rows, then columns, that carry too much are scaled down to S; the missing mass is added as
    :math:`r c^\top` with r >= 0 what the rows lack and c >= 0 the shares of what the columns lack.
    The coupling moves by at most twice its marginal gap (L1).

    Args:
        coupling: float64 [n, m] >= 0.
        a: float64 [n] >= 0, the row sums wanted.
        b: float64 [m] >= 0, the column sums wanted, of the same total.

    Returns:
        S [n, m], dense or CSR as the coupling is, r float64 [n] and c float64 [m]: the rounded
        coupling is :math:`S + r c^\top`. Where nothing is missing, r and c are 0.

    Source: Altschuler, Weed and Rigollet 2017, algorithm 2.
    """
    kept = _scaled(coupling, _at_most_one(a, _sums(coupling, 1))[:, None])
    kept = _scaled(kept, _at_most_one(b, _sums(kept, 0))[None, :])
    rows = np.maximum(a - _sums(kept, 1), 0.0)
    columns = np.maximum(b - _sums(kept, 0), 0.0)
    missing = float(rows.sum())
    if missing == 0:
        return kept, 0 * rows, 0 * columns
    return kept, rows, columns / missing


def rounded_objective(
    source_cost: Matrix, target_cost: Matrix, coupling: Matrix, a: Floats, b: Floats
) -> float:
    r"""The Gromov-Wasserstein objective of a coupling after rounding to the marginals.

    The objective of a coupling that lost mass is low for that reason alone, and that of one whose
    columns are uneven may be; of couplings with the same marginals, the lower one fits better. With
    the rounded coupling :math:`S + r c^\top`,

    .. math::
        a^\top (A \circ A) a + b^\top (B \circ B) b - 2 \left(\langle A S, S B \rangle
        + 2\, (A r)^\top S\, (B c) + (r^\top A r)(c^\top B c)\right)

    so that a sparse coupling stays sparse. For a coupling that has the marginals it is
    ``podium.metrics.alignment.gw_objective``.

    Args:
        source_cost: float64 [n, n], symmetric.
        target_cost: float64 [m, m], symmetric.
        coupling: float64 [n, m] >= 0.
        a: float64 [n] >= 0 with sum 1.
        b: float64 [m] >= 0 with sum 1.

    Returns:
        A float >= 0 (to rounding error), lower is better.

    Raises:
        InputError: shapes that do not fit each other.
    """
    kept, rows, columns = rounding(coupling, a, b)
    value = gw_objective(source_cost, target_cost, kept)
    left, right = source_cost @ rows, target_cost @ columns
    value -= 2 * float(2 * (left @ (kept @ right)) + (rows @ left) * (columns @ right))
    # gw_objective took the marginals of S; the rounded coupling has a and b.
    for cost, wanted, found in ((source_cost, a, _sums(kept, 1)), (target_cost, b, _sums(kept, 0))):
        squares = cost * cost if isinstance(cost, np.ndarray) else cost.power(2)
        value += float(wanted @ (squares @ wanted) - found @ (squares @ found))
    return value


def _scaled(matrix: Matrix, factor: Floats) -> Matrix:
    if isinstance(matrix, np.ndarray):
        return matrix * factor
    return matrix.multiply(factor).tocsr()


def _sums(matrix: Matrix, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel()


def _at_most_one(wanted: Floats, found: Floats) -> Floats:
    factor = np.ones_like(wanted)
    np.divide(wanted, found, out=factor, where=found > wanted)
    return factor
