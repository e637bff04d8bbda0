"""The lagged design of one or several trajectories."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Floats = npt.NDArray[np.float64]


def check_series(series: npt.ArrayLike, lengths: npt.ArrayLike) -> tuple[Floats, list[int]]:
    """Return the series as float64 [time, variables] and the trajectories' lengths.

    Raises:
        InputError: not a matrix, not finite, or lengths that do not add up to its rows.
    """
    x = np.asarray(series, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] == 0:
        raise InputError(
            "the series is not a matrix",
            where="series",
            expected="shape [time, variables] with at least one variable",
            found=f"shape {list(x.shape)}",
        )
    bad = np.argwhere(~np.isfinite(x))
    if len(bad):
        row, column = (int(k) for k in bad[0])
        raise InputError(
            f"the series has {len(bad)} values that are not finite",
            where="series",
            expected="finite numbers",
            found=f"{x[row, column]} at time {row}, variable {column}",
        )
    sizes = [int(n) for n in np.asarray(lengths).ravel()]
    if not sizes or min(sizes) < 1 or sum(sizes) != len(x):
        raise InputError(
            "the trajectories' lengths do not add up to the series",
            where="lengths",
            expected=f"positive whole numbers with the sum {len(x)}",
            found=f"{sizes[:8]} with the sum {sum(sizes)}",
        )
    return x, sizes


def lagged_design(
    series: npt.ArrayLike, lengths: npt.ArrayLike, lags: int
) -> tuple[Floats, Floats]:
    r"""Return the past ``X`` and the present ``Y`` of every time step that has a whole past.

    .. math:: X_t = (x_{t-1}, x_{t-2}, \dots, x_{t-K}), \qquad Y_t = x_t

    A row never reaches over the border between two trajectories.

    Args:
        series: float [time, variables], the trajectories one after the other.
        lengths: int [trajectories], their lengths; the sum is ``time``.
        lags: K >= 1.

    Returns:
        ``X`` float64 [n, K * variables], lag-major: column ``(k - 1) * variables + j`` is variable
        ``j`` at lag ``k``; ``Y`` float64 [n, variables]; n = time - K * trajectories.

    Raises:
        InputError: a bad series or lengths (see ``check_series``), ``lags`` below 1, or a
            trajectory with no more steps than lags.
    """
    x, sizes = check_series(series, lengths)
    if isinstance(lags, bool) or not isinstance(lags, int | np.integer) or lags < 1:
        raise InputError("bad lags", where="lags", expected="a whole number >= 1", found=repr(lags))
    short = [(k, n) for k, n in enumerate(sizes) if n <= lags]
    if short:
        index, size = short[0]
        raise InputError(
            "a trajectory is too short for the lags",
            where="lengths",
            expected=f"more than lags={lags} steps in every trajectory",
            found=f"{size} steps in trajectory {index}"
            + (f" and {len(short) - 1} more like it" if len(short) > 1 else ""),
            fix=f"use at most {max(min(sizes) - 1, 0)} lags, or leave the trajectory out",
        )
    ends = np.cumsum(sizes)
    present = np.concatenate(
        [np.arange(end - size + lags, end) for end, size in zip(ends, sizes, strict=True)]
    )
    past = present[:, None] - np.arange(1, lags + 1)[None, :]
    return x[past].reshape(len(present), lags * x.shape[1]), x[present]
