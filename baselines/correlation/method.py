"""Control: pairwise lagged correlation."""

from __future__ import annotations

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.data.columns import embed_scores, varying_columns
from podium.data.lags import lagged_design


def run(problem: Problem, context: Context, *, lags: int = 5) -> Prediction:
    r"""Score each pair by :math:`\max_{1 \le k \le K} |\mathrm{corr}(x_{j,t-k}, x_{i,t})|`.

    In [0, 1]; correlations are taken over all time steps that have a whole past.
    """
    columns = varying_columns(problem.public["series"])
    if not columns.any():
        return {"scores": embed_scores(np.zeros((0, 0)), columns)}
    x, y = lagged_design(problem.public["series"][:, columns], problem.public["lengths"], lags)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    size = np.sqrt((y**2).sum(axis=0))[:, None] * np.sqrt((x**2).sum(axis=0))[None, :]
    correlation = np.abs(y.T @ x) / np.where(size > 0, size, 1.0)
    d = y.shape[1]
    context.log(0, lags=lags)
    return {"scores": embed_scores(correlation.reshape(d, lags, d).max(axis=1), columns)}
