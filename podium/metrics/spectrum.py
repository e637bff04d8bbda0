"""How many directions a set of features uses: rank at an energy, and von Neumann entropy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

_ROWS = 4096
_ENTRIES = 1 << 22
"""Rows and numbers taken in one go: tall features are never copied whole in double precision."""


def spectrum(*features: npt.ArrayLike) -> Floats:
    r"""Eigenvalues of the trace-normalised autocorrelation of L2-normalised features.

    .. math:: \rho = \frac{\sum_i f_i f_i^\top / |f_i|^2}{\mathrm{tr}(\cdot)}

    It is not centred. Rows of zeros have no direction and are left out. Features wider than they
    are many have the nonzero eigenvalues of the samples' Gram matrix, which is the smaller one: no
    matrix larger than the features themselves is ever held.

    Args:
        features: one or more float arrays [samples, dimension], taken together.

    Returns:
        float64 [dimension], at least 0, falling, with sum 1; empty where no row has a direction.

    Raises:
        InputError: not two-dimensional, of different widths, or not finite.
    """
    parts = [np.asarray(part) for part in features]
    if not parts or any(part.ndim != 2 for part in parts) or len({p.shape[1] for p in parts}) != 1:
        raise InputError(
            "features are matrices of one width",
            where="features",
            expected="[samples, dimension] each",
            found=", ".join(str(list(p.shape)) for p in parts) or "none",
        )
    samples, width = sum(map(len, parts)), parts[0].shape[1]
    if samples < width:
        rows = np.empty((samples, width))
        start = 0
        for block in _unit_rows(parts):
            rows[start : start + len(block)] = block
            start += len(block)
        total = rows @ rows.T
    else:
        total = np.zeros((width, width))
        for block in _unit_rows(parts):
            total += block.T @ block
    trace = float(np.trace(total))
    if trace == 0.0:
        return np.zeros(0)
    total /= trace
    values = np.linalg.eigvalsh(total)[::-1].clip(min=0.0)
    energies = np.zeros(width)
    energies[: values.size] = values / values.sum()
    return energies


def _unit_rows(parts: Sequence[npt.NDArray[Any]]) -> Iterator[Floats]:
    """Yield the rows of all parts at unit length, block by block; a row of zeros stays one."""
    for part in parts:
        step = max(1, min(_ROWS, _ENTRIES // max(part.shape[1], 1)))
        for start in range(0, len(part), step):
            rows = part[start : start + step].astype(np.float64)
            if not np.isfinite(rows).all():
                raise InputError("features must be finite", where="features")
            # Scaled by the largest entry first: a square must neither overflow nor vanish.
            largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
            rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
            length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
            yield np.divide(rows, length, out=rows, where=length > 0)


def rank_at(energies: Floats, share: float = 0.99) -> float:
    r"""Smallest number of eigenvalues that hold a share of the energy.

    .. math:: \min \{ r : \sum_{k \le r} \lambda_k \ge s \}

    Args:
        energies: float64 [dimension], falling, with sum 1, as ``spectrum`` returns them.
        share: the share s, in (0, 1].

    Returns:
        A whole number from 1 to the dimension as a float, lower means fewer directions;
        ``Undefined`` where ``energies`` is empty.

    Raises:
        InputError: a share outside (0, 1].

    Source: Dai, Chen, Yu, ICML 2026 (rank_99).
    """
    if not 0.0 < share <= 1.0:
        raise InputError("bad share", where="share", expected="in (0, 1]", found=str(share))
    if energies.size == 0:
        return Undefined("every feature vector is zero")
    # A sum that falls short by rounding alone has reached the share.
    return float(np.searchsorted(np.cumsum(energies), share - 1e-12) + 1)


def von_neumann_entropy(energies: Floats) -> float:
    r"""Von Neumann entropy of a density matrix with the given eigenvalues.

    .. math:: -\sum_k \lambda_k \ln \lambda_k

    Args:
        energies: float64 [dimension] with sum 1, as ``spectrum`` returns them.

    Returns:
        A float in [0, ln dimension], in nats, lower means fewer directions; ``Undefined`` where
        ``energies`` is empty.

    Source: Dai, Chen, Yu, ICML 2026.
    """
    if energies.size == 0:
        return Undefined("every feature vector is zero")
    positive = energies[energies > 0]
    return float(max(0.0, -(positive * np.log(positive)).sum()))
