r"""Products :math:`A X B` of two spaces and the steps of mirror descent, in NumPy and SciPy.

``Pair`` is for the CPU; ``podium.transport.torch_products.TorchPair`` has the same methods for a
CUDA device. A sparse graph costs one addition for each edge and column instead of one for each
node and column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Plan = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.intp]

# Columns of a panel: a panel of a few thousand rows and its product stay in a core's cache.
_PANEL = 64
# Entries of a part of the plan that is updated while in cache.
_PART = 2**16
# A row keeps all its entries above this share of its largest one: scaling stays within float32,
# no row or column dies, and a pair that was given up can return within one step.
LOWEST = -28.0
FLOOR = 1e-12


class Pair:
    """Two symmetric matrices A [n, n] and B [m, m], each dense or CSR, of one float dtype."""

    def __init__(
        self, source: Plan | csr_array[Any, Any], target: Plan | csr_array[Any, Any]
    ) -> None:
        self.source = source
        self.target = target

    def array(self, values: Plan) -> Plan:
        """Return ``values`` as the pair computes with them: a copy in the pair's dtype."""
        return np.array(values, dtype=self.source.dtype)

    def numpy(self, values: Plan) -> Plan:
        """Return an array of the pair as a NumPy array."""
        return values

    def cross(self, plan: Plan) -> Plan:
        """Return A X B [n, m] for a plan X [n, m]."""
        return _product_transposed(self.target, _product_transposed(self.source, plan))

    def block(self, rows: Indices, columns: Indices) -> Pair:
        """Return the pair A[rows, rows], B[columns, columns]."""
        return Pair(self.source[rows][:, rows], self.target[columns][:, columns])

    def take(self, plan: Plan, rows: Indices, columns: Indices) -> Plan:
        """Return a copy of plan[rows, columns]."""
        return plan[np.ix_(rows, columns)]

    def put(self, plan: Plan, rows: Indices, columns: Indices, values: Plan) -> Plan:
        """Return the plan with ``values`` at [rows, columns]."""
        result = plan.copy()
        result[np.ix_(rows, columns)] = values
        return result

    def inner(self, one: Plan, other: Plan) -> float:
        """Return the sum of the products of the entries."""
        return float(np.vdot(one, other))

    def largest(self, plan: Plan) -> Indices:
        """Return the column of the largest entry of each row."""
        return np.asarray(plan.argmax(axis=1))

    def entries(self, plan: Plan, mapping: Indices) -> Plan:
        """Return the entry of each row in the column that ``mapping`` names, [n]."""
        return plan[np.arange(len(mapping)), mapping]

    def column_sums(self, plan: Plan, rows: Indices) -> Plan:
        """Return the column sums over some rows, [m]."""
        return np.asarray(plan[rows].sum(axis=0))

    def mirror(self, plan: Plan, gain: Plan, potential: Plan, step: float) -> Plan:
        r"""Return :math:`X \circ e^{s (H - \max_j H)}`, :math:`H_{ij} = G_{ij} + p_j`, unscaled.

        Factors that are constant along a row or a column have no effect once the plan is scaled to
        its marginals; a good ``potential`` p [m] leaves less for the scaling to do.
        """
        result = np.empty_like(plan)
        kind = plan.dtype.type
        rows = max(1, _PART // plan.shape[1])
        for first in range(0, plan.shape[0], rows):
            part = slice(first, first + rows)
            factor, out = gain[part], result[part]
            factor = factor + potential
            factor -= factor.max(axis=1, keepdims=True)
            factor *= kind(step)
            np.maximum(factor, kind(LOWEST), out=factor)
            np.exp(factor, out=factor)
            np.multiply(plan[part], factor, out=out)
            np.maximum(out, kind(FLOOR) * out.max(axis=1, keepdims=True), out=out)
        return result

    def scale(self, plan: Plan, a: Plan, b: Plan, iterations: int, tolerance: float) -> Plan:
        """Scale a plan in place to row sums ``a``, exact, and column sums ``b``, by Sinkhorn.

        Stops once the column sums are within ``tolerance`` (L1) of ``b``. Returns the logarithm of
        the factors of the columns, [m].
        """
        v = np.ones_like(b)
        for _ in range(iterations):
            u = a / (plan @ v)
            columns = u @ plan
            if float(np.abs(columns * v - b).sum()) <= tolerance:
                break
            v = b / columns
        plan *= (a / (plan @ v))[:, None]
        plan *= v
        return np.log(v)


def _product_transposed(matrix: Plan | csr_array[Any, Any], values: Plan) -> Plan:
    """Return (A V)^T in row order, transposed panel by panel while it is in cache."""
    if isinstance(matrix, np.ndarray):
        return values.T @ matrix
    width = values.shape[1]
    result = np.empty((width, matrix.shape[0]), dtype=values.dtype)
    for first in range(0, width, _PANEL):
        panel = np.ascontiguousarray(values[:, first : first + _PANEL])
        result[first : first + _PANEL] = (matrix @ panel).T
    return result
