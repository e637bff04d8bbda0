"""Kernel distance (KID): the unbiased squared MMD of two sets of features, cubic kernel."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.feature_sets import Floats, Rows, check_features

_BLOCK = 2048
"""Rows and columns of a block of the kernel's matrix: 32 MiB."""


def kernel_distance(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    subsets: int = 100,
    size: int = 1000,
    rng: np.random.Generator,
) -> float:
    r"""Kernel distance as the field reports it: the mean of ``mmd`` over random subsets.

    Args:
        x, y: real numbers [samples, d], at least two samples each.
        subsets: number of pairs of subsets, at least 1.
        size: samples of a subset, drawn without replacement; fewer where a set has fewer.
        rng: what the subsets are drawn from.

    Returns:
        A float, lower is better: 0 in the mean over draws from equal distributions, so that it may
        be below 0.

    Raises:
        InputError: too few samples, other dimensions, entries that are not finite (with rows), or
            a bad ``subsets`` or ``size``.

    Source: Binkowski et al., ICLR 2018, section 4.
    """
    first, second = _checked(x, y)
    for name, value, least in (("subsets", subsets, 1), ("size", size, 2)):
        if value < least:
            raise InputError(
                f"bad {name}",
                where=name,
                expected=f"a whole number >= {least}",
                found=repr(value),
            )
    size = min(size, len(first), len(second))
    total = 0.0
    for _ in range(subsets):
        one = first[rng.choice(len(first), size, replace=False)]
        two = second[rng.choice(len(second), size, replace=False)]
        total += _mmd(one, two)
    return total / subsets


def mmd(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Unbiased squared maximum mean discrepancy of two sets, with a cubic polynomial kernel.

    .. math:: \frac{\sum_{i \ne j} k(x_i, x_j)}{n(n-1)} + \frac{\sum_{i \ne j} k(y_i, y_j)}{m(m-1)}
              - \frac{2 \sum_{ij} k(x_i, y_j)}{nm},
              \qquad k(u, v) = \big(u^\top v / d + 1\big)^3

    Block by block, so that memory stays flat; time grows with the square of the samples.

    Args:
        x, y: real numbers [n, d] and [m, d], at least two samples each.

    Returns:
        A float, lower is better: 0 in the mean over draws from equal distributions, so that it may
        be below 0.

    Raises:
        InputError: too few samples, other dimensions, or entries that are not finite (with rows).

    Source: Gretton et al., JMLR 2012, equation 3; the kernel of Binkowski et al., ICLR 2018.
    """
    return _mmd(*_checked(x, y))


def _checked(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Rows, Rows]:
    first = check_features(x, "x", least=2)
    return first, check_features(y, "y", least=2, dimension=first.shape[1])


def _mmd(x: Rows, y: Rows) -> float:
    n, m = len(x), len(y)
    with np.errstate(over="ignore", invalid="ignore"):
        value = (
            _within(x) / (n * (n - 1))
            + _within(y) / (m * (m - 1))
            - 2.0
            * sum(float(_kernel(a, b).sum()) for a in _blocks(x) for b in _blocks(y))
            / (n * m)
        )
    if not np.isfinite(value):
        raise InputError("the features are too large for a cubic kernel", where="features")
    return value


def _within(rows: Rows) -> float:
    """Sum the kernel over all pairs of different rows."""
    blocks = _blocks(rows)
    total = 0.0
    for index, one in enumerate(blocks):
        kernel = _kernel(one, one)
        total += float(kernel.sum() - np.trace(kernel))
        total += 2.0 * sum(float(_kernel(one, other).sum()) for other in blocks[index + 1 :])
    return total


def _blocks(rows: Rows) -> list[Rows]:
    return [rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK)]


def _kernel(one: Rows, other: Rows) -> Floats:
    left = one.astype(np.float64)
    inner: Floats = left @ (left if other is one else other.astype(np.float64)).T
    inner /= one.shape[1]
    inner += 1.0
    return inner * inner * inner
