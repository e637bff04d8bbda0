"""Couplings with given marginals: Sinkhorn's scaling and the rounding that makes it exact."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.rounding import rounding

Floats = npt.NDArray[np.float64]

# Below this exponent the kernel keeps a positive floor, so that no row or column is all zero.
_LOWEST = -200.0


def sinkhorn(
    log_kernel: Floats, a: Floats, b: Floats, *, iterations: int = 200, tolerance: float = 1e-10
) -> Floats:
    r"""Scale a kernel to the marginals: :math:`\mathrm{diag}(u)\, e^{L}\, \mathrm{diag}(v)`.

    Stops once the row sums are within ``tolerance`` (L1) of ``a``, or after ``iterations``; what is
    left is removed by ``round_to_marginals``, so the result is feasible to rounding error.

    Args:
        log_kernel: float64 [n, m], finite; values more than 200 below the row's largest are raised
            to that floor.
        a: float64 [n] >= 0 with sum 1.
        b: float64 [m] >= 0 with sum 1.

    Returns:
        float64 [n, m] >= 0.

    Source: Sinkhorn and Knopp 1967; Cuturi 2013, algorithm 1.
    """
    if not np.isfinite(log_kernel).all():
        raise InputError("the log kernel must be finite", where="log_kernel")
    kernel = log_kernel - log_kernel.max(axis=1, keepdims=True)
    np.maximum(kernel, _LOWEST, out=kernel)
    np.exp(kernel, out=kernel)
    v = np.ones_like(b)
    u = np.zeros_like(a)
    for _ in range(iterations):
        rows = kernel @ v
        if np.abs(u * rows - a).sum() <= tolerance:
            break
        u = a / rows
        v = b / (u @ kernel)
    return round_to_marginals(u[:, None] * kernel * v[None, :], a, b)


def round_to_marginals(plan: Floats, a: Floats, b: Floats) -> Floats:
    """Return a non-negative matrix moved onto the transport polytope, float64 [n, m].

    The sum that ``podium.metrics.rounding.rounding`` describes, written out.

    Args:
        plan: float64 [n, m] >= 0.
        a: float64 [n] >= 0, the row sums wanted.
        b: float64 [m] >= 0, the column sums wanted, of the same total.

    Source: Altschuler, Weed and Rigollet 2017, algorithm 2.
    """
    kept, rows, columns = rounding(plan, a, b)
    return np.asarray(kept + np.outer(rows, columns))
