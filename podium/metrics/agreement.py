"""How well a judge's scores agree with people's."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from podium.contracts import Undefined
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

_BLOCK = 1 << 22
"""Resampled items that are held at once."""


def pearson(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    r"""Pearson's correlation of two variables.

    .. math:: \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}
        {\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    Args:
        scores, truth: finite numbers [items].

    Returns:
        A float in [-1, 1], higher is better; ``Undefined`` for fewer than two items, or where one
        of the two is constant.

    Raises:
        InputError: arrays of other shapes, or numbers that are not finite.
    """
    x, y = _pair(scores, truth)
    reason = _no_correlation(x, y)
    return reason if reason is not None else _correlation(x, y)


def spearman(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, ties with their mean rank.

    Args, returns and raises as ``pearson``.
    """
    from scipy.stats import rankdata

    x, y = _pair(scores, truth)
    reason = _no_correlation(x, y)
    return reason if reason is not None else _correlation(rankdata(x), rankdata(y))


def kendall_tau_b(scores: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    r"""Kendall's rank correlation, corrected for ties (tau-b).

    .. math:: \tau_b = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}}

    with P and Q the concordant and discordant pairs, T and U the pairs tied in one variable alone.

    Args, returns and raises as ``pearson``.

    Source: Kendall, Biometrika 33, 1945; computed by scipy.
    """
    from scipy.stats import kendalltau

    x, y = _pair(scores, truth)
    reason = _no_correlation(x, y)
    return reason if reason is not None else float(kendalltau(x, y, variant="b").statistic)


def rmse(scores: npt.ArrayLike, truth: npt.ArrayLike, width: float = 1.0) -> float:
    r"""Root mean squared error, in shares of a scale's width.

    .. math:: \frac1w \sqrt{\frac1n \sum_i (x_i - y_i)^2}

    Args:
        scores, truth: finite numbers [items].
        width: w, the highest level minus the lowest, above 0.

    Returns:
        A float >= 0, lower is better; ``Undefined`` for no item.

    Raises:
        InputError: arrays of other shapes, numbers that are not finite, or a bad width.
    """
    x, y = _pair(scores, truth)
    if not (math.isfinite(width) and width > 0):
        raise InputError("bad width", where="width", expected="above 0", found=str(width))
    if not x.size:
        return Undefined("there is no item")
    # Scaled first: squares of large finite scores would overflow.
    error = x / width - y / width
    largest = float(np.abs(error).max())
    if largest == 0:
        return 0.0
    return largest * math.sqrt(float(np.mean(np.square(error / largest))))


def calibration_error(
    distribution: npt.ArrayLike, observed: npt.ArrayLike, levels: npt.ArrayLike
) -> float:
    r"""Mean distance of a judge's distributions from the raters', in shares of the scale's width.

    .. math:: \frac1n \sum_i \sum_{l < L} \frac{z_{l+1} - z_l}{z_L - z_1}\, |F_i(z_l) - G_i(z_l)|

    with F and G the cumulative distributions of judge and raters over the levels z: the
    1-Wasserstein distance of the two. With a single rater it is the judge's expected absolute
    error.

    Args:
        distribution: float [items, levels], the judge's probabilities; rows sum to 1.
        observed: float [items, levels], the shares of the raters; rows sum to 1.
        levels: float [levels], rising.

    Returns:
        A float in [0, 1], lower is better; ``Undefined`` for no item.

    Raises:
        InputError: shapes that do not fit each other.
    """
    f, g = (np.asarray(rows, dtype=np.float64) for rows in (distribution, observed))
    z = np.asarray(levels, dtype=np.float64)
    if f.ndim != 2 or f.shape != g.shape or f.shape[1] != z.size or z.size < 2:
        raise InputError(
            "distributions are of the same items and levels",
            where="distribution and observed",
            expected="one shape [items, levels], two levels or more",
            found=f"{list(f.shape)} and {list(g.shape)} with {z.size} levels",
        )
    if not len(f):
        return Undefined("there is no item")
    gaps = np.abs(np.cumsum(f - g, axis=1)[:, :-1])
    return float(np.mean(gaps @ (np.diff(z) / (z[-1] - z[0]))))


def pearson_interval(
    scores: npt.ArrayLike,
    truth: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    resamples: int = 2000,
    coverage: float = 0.95,
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of Pearson's correlation, over items.

    It says how far the figure depends on which items were judged; how far it depends on a
    training's seed is another thing. Resamples in which one of the two is constant have no
    correlation and are left out.

    Args:
        scores, truth: finite numbers [items].
        rng: draws the resamples.
        resamples: how many.
        coverage: between 0 and 1.

    Returns:
        Two floats in [-1, 1]; ``Undefined`` where the correlation is, or in half of the resamples.

    Raises:
        InputError: as ``pearson``.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    x, y = _pair(scores, truth)
    reason = _no_correlation(x, y)
    if reason is not None:
        return reason, reason
    x, y = _standardised(x), _standardised(y)
    terms = np.stack([x, y, x * x, y * y, x * y], axis=1)
    found = []
    for start in range(0, resamples, max(1, _BLOCK // x.size)):
        count = min(max(1, _BLOCK // x.size), resamples - start)
        weights = rng.multinomial(x.size, np.full(x.size, 1.0 / x.size), size=count)
        mx, my, mxx, myy, mxy = (weights @ terms / x.size).T
        spread = (mxx - mx * mx) * (myy - my * my)
        whole = spread > 1e-20
        found.append((mxy - mx * my)[whole] / np.sqrt(spread[whole]))
    values = np.concatenate(found)
    if 2 * values.size <= resamples:
        undefined = Undefined("most resamples of the items have no correlation")
        return undefined, undefined
    low, high = np.quantile(values, [(1 - coverage) / 2, (1 + coverage) / 2])
    return float(np.clip(low, -1.0, 1.0)), float(np.clip(high, -1.0, 1.0))


def stepped_up(correlation: float) -> float:
    r"""Return the correlation of two whole panels from that of the halves of one.

    .. math:: \frac{2 r}{1 + r}

    Args:
        correlation: r of the means of two halves, in [-1, 1].

    Returns:
        A float in [-1, 1]; a correlation of 0 or less stays as it is, and so does ``Undefined``.

    Source: Spearman, and Brown, British Journal of Psychology 3, 1910.
    """
    if not correlation > 0:
        return correlation
    return 2.0 * correlation / (1.0 + correlation)


def _pair(scores: npt.ArrayLike, truth: npt.ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(
            "every item has a score and a truth",
            where="scores and truth",
            expected="one shape [items]",
            found=f"{list(x.shape)} and {list(y.shape)}",
        )
    bad = int(np.count_nonzero(~(np.isfinite(x) & np.isfinite(y))))
    if bad:
        raise InputError(
            "scores and truth are finite", where="scores and truth", found=f"{bad} that are not"
        )
    return x, y


def _no_correlation(x: Floats, y: Floats) -> Undefined | None:
    if x.size < 2:
        return Undefined("a correlation takes two items or more")
    for values, what in ((x, "scores"), (y, "people's scores")):
        if values.min() == values.max():
            return Undefined(f"all {what} are equal: a constant has no correlation")
    return None


def _standardised(values: Floats) -> Floats:
    """Return values with mean 0 and largest 1, safe from overflow."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    found: Floats = centred / np.abs(centred).max()
    return found


def _correlation(x: Floats, y: Floats) -> float:
    a, b = _standardised(x), _standardised(y)
    value = float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))
    return min(1.0, max(-1.0, value))
