"""Control: transport along the sorted degrees."""

from __future__ import annotations

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces


def run(problem: Problem, context: Context) -> Prediction:
    """Return the monotone plan between the row sums of the two costs, sparse.

    Nodes of equal degree keep the order they came in, which the task makes a random one.
    """
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    context.progress(1, 1, "sorted degrees")
    rows = np.argsort(source.degrees(), kind="stable")
    columns = np.argsort(target.degrees(), kind="stable")
    left, right = np.cumsum(a[rows]), np.cumsum(b[columns])
    # Sums of equal weights differ in their last digits; such ends are one.
    ends = np.unique(np.round(np.concatenate((left, right)), 12))
    middle = ends - np.diff(ends, prepend=0.0) / 2
    i = np.minimum(np.searchsorted(left, middle), a.size - 1)
    j = np.minimum(np.searchsorted(right, middle), b.size - 1)
    return {
        "rows": rows[i].astype(np.int64),
        "columns": columns[j].astype(np.int64),
        "values": np.diff(ends, prepend=0.0),
    }
