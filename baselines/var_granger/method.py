"""Granger causality in a linear VAR: all pairwise F-tests from one least-squares solve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.data.columns import embed_scores, varying_columns
from podium.data.lags import lagged_design
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

# A column of unit length this close to the span of those before it counts as dependent.
_DEPENDENT = 1e-8
_APART = 0.05
_RIDGE = 1e-2


@dataclass(frozen=True)
class FTest:
    """The F-tests of all pairs: ``statistic`` float64 [target, source] >= 0, degrees of freedom.

    ``ridge`` is the penalty that had to be added, 0 where least squares has one solution.
    """

    statistic: Floats
    lags: int
    df_model: int
    df_residual: float
    ridge: float

    def p_values(self) -> Floats:
        """Return the upper tail of each statistic, float64 [target, source] in [0, 1]."""
        from scipy.special import fdtrc

        return np.asarray(fdtrc(self.df_model, self.df_residual, self.statistic))


def f_test(series: npt.ArrayLike, lengths: npt.ArrayLike, lags: int) -> FTest:
    r"""Test every pair: are all lags of the source without effect on the target?

    With :math:`V = (X^\top X)^{-1}` of the centred design, :math:`B = V X^\top Y` and
    :math:`s_i^2` the residual variance of target :math:`i`,

    .. math:: F_{ij} = \frac{B_{ji}^\top (V_{jj})^{-1} B_{ji}}{K s_i^2},
              \qquad F_{ij} \sim F(K,\, d\,(n - Kd - 1))

    where :math:`B_{ji}` [K] and :math:`V_{jj}` [K, K] are the parts of source :math:`j`.

    Where the design has dependent columns or too few rows, a ridge of :math:`0.01\,n` (on columns
    of unit variance) is added and the number of coefficients becomes the trace of the hat matrix.

    Args:
        series: float [time, variables], no constant column.
        lengths: int [trajectories], their sum is ``time``.
        lags: K >= 1.

    Raises:
        InputError: see ``podium.data.lags.lagged_design``.

    Source: Lütkepohl 2005, section 3.6.1; the same test as ``test_causality`` of statsmodels.
    """
    x, y = lagged_design(series, lengths, lags)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    n, d = y.shape
    length = np.sqrt((x**2).sum(axis=0))
    x /= np.where(length > 0, length, 1.0)
    r = _triangle(x)
    ridge = 0.0
    fitted = float(lags * d)
    if n - 1 <= lags * d or np.abs(np.diag(r)).min() < _DEPENDENT:
        # Columns have unit length here: 0.01 n on unit variance is 0.01.
        ridge = _RIDGE
        r = _householder(np.vstack([x, np.sqrt(ridge) * np.eye(lags * d)]))
        fitted = float(((x @ np.linalg.inv(r)) ** 2).sum())
    inverse = np.linalg.inv(r)
    coefficients = inverse @ (inverse.T @ (x.T @ y))
    # One step of refinement: the seminormal equations alone square the condition number.
    gradient = x.T @ (y - x @ coefficients) - ridge * coefficients
    coefficients += inverse @ (inverse.T @ gradient)
    residual = y - x @ coefficients
    df = n - 1 - fitted
    # An exact fit would divide by zero: the floor is the rounding error of the targets.
    floor = np.finfo(np.float64).eps ** 2 * (y**2).mean(axis=0)
    variance = np.maximum((residual**2).sum(axis=0) / df, np.maximum(floor, np.finfo(float).tiny))
    by_source = coefficients.reshape(lags, d, d).transpose(1, 0, 2)
    rows = inverse.reshape(lags, d, lags * d).transpose(1, 0, 2)
    blocks = rows @ rows.transpose(0, 2, 1)
    wald = (by_source * np.linalg.solve(blocks, by_source)).sum(axis=1).T
    return FTest(wald / (lags * variance[:, None]), lags, lags, d * df, ridge)


def _triangle(x: Floats) -> Floats:
    """Return upper triangular R with R'R = X'X, for columns of unit length.

    Cholesky's rule takes a third of the time of Householder's, and is exact enough where no column
    is near the span of those before it.
    """
    try:
        upper = np.asarray(np.linalg.cholesky(x.T @ x).T, dtype=np.float64)
    except np.linalg.LinAlgError:
        return _householder(x)
    return upper if np.diag(upper).min() > _APART else _householder(x)


def _householder(x: Floats) -> Floats:
    return np.asarray(np.linalg.qr(x, mode="r"), dtype=np.float64)


def choose_lags(series: npt.ArrayLike, lengths: npt.ArrayLike, max_lags: int) -> int:
    r"""Choose the lag order by BIC on one common sample.

    .. math:: \log\det \hat\Sigma_K + \frac{\log n}{n} K d^2

    Orders that leave less than one residual degree of freedom a coefficient are not considered,
    since BIC rewards overfitting there; order 1 always is.
    """
    sizes = np.asarray(lengths).ravel()
    d = np.asarray(series).shape[1]
    top = 1
    for lags in range(2, min(max_lags, int(sizes.min()) - 1) + 1):
        if sizes.sum() - lags * sizes.size >= 2 * (lags * d + 1):
            top = lags
    x, y = lagged_design(series, lengths, top)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    n = len(x)
    # Columns are lag-major: the first K d columns of Q belong to order K.
    explained = np.linalg.qr(x)[0].T @ y
    best, order = np.inf, 1
    for lags in range(1, top + 1):
        part = explained[: lags * d]
        _, log_det = np.linalg.slogdet((y.T @ y - part.T @ part) / n)
        bic = float(log_det) + np.log(n) / n * lags * d**2
        if bic < best:
            best, order = bic, lags
    return order


def run(problem: Problem, context: Context, *, max_lags: int = 5) -> Prediction:
    """Score each pair by its F statistic.

    All pairs share the degrees of freedom, so F orders them as the p-value does, and F does not
    underflow where the evidence is strong.
    """
    if isinstance(max_lags, bool) or not isinstance(max_lags, int) or max_lags < 1:
        raise InputError(
            "bad max_lags", where="max_lags", expected="a whole number >= 1", found=repr(max_lags)
        )
    series, lengths = problem.public["series"], problem.public["lengths"]
    columns = varying_columns(series)
    if not columns.any():
        return {"scores": embed_scores(np.zeros((0, 0)), columns)}
    lags = choose_lags(series[:, columns], lengths, max_lags)
    test = f_test(series[:, columns], lengths, lags)
    context.log(0, lags=lags, ridge=test.ridge)
    return {"scores": embed_scores(test.statistic, columns)}
