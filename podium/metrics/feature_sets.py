"""What a metric over sets of features accepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[Any]

BLOCK = 4096
"""Rows looked at in one go."""
_NAMED = 5


def check_features(
    features: npt.ArrayLike, where: str, *, least: int = 0, dimension: int | None = None
) -> Rows:
    """Return features as an array, in the type they have, or say what is wrong with them.

    Args:
        features: real numbers [samples, dimension].
        where: the argument's name, for the error.
        least: the smallest number of samples that will do.
        dimension: the dimension they must have; None for any but 0.

    Raises:
        InputError: not a matrix of real numbers, another dimension, too few samples, or NaN or
            infinite entries, with their rows.
    """
    rows = np.asarray(features)
    if rows.ndim != 2 or rows.dtype.kind not in "fiu" or rows.shape[1] == 0:
        raise InputError(
            "not a set of features",
            where=where,
            expected="real numbers of shape [samples, dimension]",
            found=f"{rows.dtype} of shape {list(rows.shape)}",
        )
    if dimension is not None and rows.shape[1] != dimension:
        raise InputError(
            "features of another dimension",
            where=where,
            expected=f"dimension {dimension}",
            found=str(rows.shape[1]),
            fix="take both sets from the same feature map",
        )
    if len(rows) < least:
        raise InputError(
            "too few samples",
            where=where,
            expected=f"at least {least}",
            found=str(len(rows)),
        )
    check_finite(rows, where)
    return rows


def check_finite(rows: Rows, where: str) -> None:
    """Refuse NaN and infinity, and name the rows that hold them.

    Raises:
        InputError: some entry is not finite.
    """
    if rows.dtype.kind != "f":
        return
    bad = [
        start + np.flatnonzero(~np.isfinite(rows[start : start + BLOCK]).all(axis=1))
        for start in range(0, len(rows), BLOCK)
        if not np.isfinite(rows[start : start + BLOCK]).all()
    ]
    if bad:
        indices = np.concatenate(bad)
        named = ", ".join(map(str, indices[:_NAMED])) + (", ..." if len(indices) > _NAMED else "")
        raise InputError(
            "features must be finite",
            where=where,
            found=f"NaN or infinity in {len(indices)} of {len(rows)} rows: {named}",
            fix="look at the pictures of these rows, and at the network's output for them",
        )
