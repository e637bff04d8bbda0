"""Control: the most frequent labelled class for every sample."""

from __future__ import annotations

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.discovery.samples import read_samples


def run(problem: Problem, context: Context) -> Prediction:
    """Return one cluster: the most frequent class of the labelled samples, the lowest of equals."""
    samples = read_samples(problem.public)
    context.progress(1, 1, "counted labels")
    most = int(np.bincount(samples.labels).argmax())
    return {"clusters": np.full(len(samples.unlabelled), most, dtype=np.int64)}
