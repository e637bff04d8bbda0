"""How far tokens lie from zero and from each other, without a second copy of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Array
from podium.errors import InputError

_ROWS = 512
"""Samples measured at once."""

_CONSTANT = 1e-12
"""Share of the mean square below which a variance is rounding."""


@dataclass(frozen=True)
class Scale:
    """What moves tokens to mean 0 and a root mean square of 1.

    Attributes:
        mean: float64 [feature], over all tokens of all samples.
        spread: root mean square of what is left, over all features; 1 where nothing is.
    """

    mean: npt.NDArray[np.float64]
    spread: float


def measured(parts: Sequence[Array], name: str) -> Scale:
    """Return the scale of tokens [samples, token, feature], given in parts.

    Raises:
        InputError: values that are not finite; ``name`` says whose.
    """
    width = parts[0].shape[-1]
    total, squares, count = np.zeros(width), np.zeros(width), 0
    for part in parts:
        for start in range(0, len(part), _ROWS):
            rows = part[start : start + _ROWS].reshape(-1, width).astype(np.float64)
            total += rows.sum(0)
            squares += np.square(rows).sum(0)
            count += len(rows)
    mean, square = total / count, float((squares / count).mean())
    if not np.isfinite(square):
        raise InputError(
            "values that are not finite",
            where=name,
            expected="finite numbers",
            found="NaN or infinite ones",
        )
    variance = square - float(np.square(mean).mean())
    return Scale(mean, variance**0.5 if variance > _CONSTANT * square else 1.0)
