"""Lasso-Granger: sparse linear autoregression, penalty by cross-validation on blocks of time."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.data.columns import embed_scores, varying_columns
from podium.data.lags import lagged_design
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

# Below this share of the largest penalty, coordinate descent no longer converges on series that are
# as strongly autocorrelated as Lorenz-96 or DREAM3.
_SMALLEST = 1e-2
_ITERATIONS = 10_000


def run(
    problem: Problem, context: Context, *, lags: int = 5, folds: int = 5, penalties: int = 50
) -> Prediction:
    r"""Score each pair by its largest absolute coefficient over the lags.

    .. math:: \min_b \tfrac{1}{2n} \|y_i - X b\|_2^2 + \alpha_i \|b\|_1

    on columns of unit variance; :math:`\alpha_i` is the value on a geometric grid of ``penalties``
    values, two decades down from the smallest one that leaves no coefficient, with the least
    squared error over ``folds`` contiguous blocks of time, each held out once.
    """
    for name, value, least in (("folds", folds, 2), ("penalties", penalties, 2)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(
                f"bad {name}", where=name, expected=f"a whole number >= {least}", found=repr(value)
            )
    columns = varying_columns(problem.public["series"])
    if not columns.any():
        return {"scores": embed_scores(np.zeros((0, 0)), columns)}
    x, y = lagged_design(problem.public["series"][:, columns], problem.public["lengths"], lags)
    if len(x) < 2 * folds:
        raise InputError(
            "too few rows for the folds",
            where="folds",
            expected=f"at most {len(x) // 2} folds for {len(x)} rows",
            found=str(folds),
        )
    coefficients = fit(_scaled(x), _scaled(y), folds, penalties, context)
    d = y.shape[1]
    strength = np.abs(coefficients).reshape(d, lags, d).max(axis=1)
    return {"scores": embed_scores(strength, columns)}


def fit(x: Floats, y: Floats, folds: int, penalties: int, context: Context) -> Floats:
    """Return the lasso coefficients, float64 [targets, columns of x], each target's own penalty.

    The Gram matrix of a fold is computed once for all targets. The number of penalties for which
    coordinate descent stopped short of its tolerance is logged as ``unconverged``.
    """
    top = np.abs(x.T @ y).max(axis=0) / len(x)
    # A target that nothing correlates with keeps a grid of positive numbers and no coefficient.
    top = np.where(top > 0, top, 1.0)
    grid = top[:, None] * np.geomspace(1.0, _SMALLEST, penalties)[None, :]
    error = np.zeros_like(grid)
    unconverged = 0
    rows = np.arange(len(x))
    for done, held in enumerate(np.array_split(rows, folds)):
        kept = np.setdiff1d(rows, held, assume_unique=True)
        shift_x, shift_y = x[kept].mean(axis=0), y[kept].mean(axis=0)
        paths, stopped = _paths(x[kept] - shift_x, y[kept] - shift_y, grid)
        unconverged += stopped
        predicted = (x[held] - shift_x) @ paths
        error += (((y[held] - shift_y).T[:, :, None] - predicted) ** 2).sum(axis=1)
        context.progress(done + 1, folds + 1, "cross-validation")
    chosen = error.argmin(axis=1)
    paths, stopped = _paths(x - x.mean(axis=0), y - y.mean(axis=0), grid)
    context.log(0, unconverged=unconverged + stopped)
    return np.stack([path[:, k] for path, k in zip(paths, chosen, strict=True)])


def _paths(x: Floats, y: Floats, grid: Floats) -> tuple[Floats, int]:
    """Return all lasso paths, float64 [targets, columns of x, penalties], and how many stopped."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import lasso_path

    gram, cross = x.T @ x, x.T @ y
    paths, unconverged = [], 0
    with warnings.catch_warnings():
        # Counted below, once for each penalty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        for i, alphas in enumerate(grid):
            _, path, _, iterations = lasso_path(
                x,
                y[:, i],
                alphas=alphas,
                precompute=gram,
                Xy=cross[:, i],
                max_iter=_ITERATIONS,
                return_n_iter=True,
                # Unused by cyclic descent, but None would draw from numpy's global state.
                random_state=0,
            )
            paths.append(path)
            unconverged += int((np.asarray(iterations) >= _ITERATIONS).sum())
    return np.stack(paths), unconverged


def _scaled(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    scaled: Floats = centred / np.where(spread > 0, spread, 1.0)
    return scaled
