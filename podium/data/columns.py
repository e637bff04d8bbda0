"""Constant columns: set apart before a fit, given no evidence after it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def varying_columns(series: npt.ArrayLike) -> Bools:
    """Return bool [variables]: which columns of the series [time, variables] are not constant."""
    x = np.asarray(series, dtype=np.float64)
    varying: Bools = (x != x[:1]).any(axis=0)
    return varying


def embed_scores(scores: npt.ArrayLike, columns: Bools) -> Floats:
    """Return the scores [k, k] of the k marked columns as [variables, variables], 0 elsewhere.

    A constant variable neither drives anything nor is driven: its edges have no evidence.
    """
    whole = np.zeros((columns.size, columns.size))
    whole[np.ix_(columns, columns)] = scores
    return whole
