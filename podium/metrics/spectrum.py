"""How many directions a set of features uses: rank at an energy, and von Neumann entropy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

_ROWS = 4096
"""Rows taken in one go, so that the features are never copied whole in double precision."""


def spectrum(*features: npt.ArrayLike) -> Floats:
    r"""Eigenvalues of the trace-normalised autocorrelation of L2-normalised features.

    .. math:: \rho = \frac{\sum_i f_i f_i^\top / |f_i|^2}{\mathrm{tr}(\cdot)}

    It is not centred. Rows of zeros have no direction and are left out.

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
    total = np.zeros((parts[0].shape[1],) * 2)
    for part in parts:
        for start in range(0, len(part), _ROWS):
            rows = part[start : start + _ROWS].astype(np.float64)
            if not np.isfinite(rows).all():
                raise InputError("features must be finite", where="features")
            # Scaled by the largest entry first: a square must neither overflow nor vanish.
            largest = np.abs(rows).max(axis=1, keepdims=True, initial=0.0)
            rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
            length = np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
            rows = np.divide(rows, length, out=rows, where=length > 0)
            total += rows.T @ rows
    trace = float(np.trace(total))
    if trace == 0.0:
        return np.zeros(0)
    values = np.linalg.eigvalsh(total / trace)[::-1].clip(min=0.0)
    energies: Floats = values / values.sum()
    return energies


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
