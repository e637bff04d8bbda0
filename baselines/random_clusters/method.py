"""Control: every sample gets a random cluster."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.discovery.samples import read_samples


def run(problem: Problem, context: Context) -> Prediction:
    """Draw each cluster uniformly from as many as there are classes, with the run's seed."""
    samples = read_samples(problem.public)
    context.progress(1, 1, "drawn")
    clusters = context.rng("clusters").integers(samples.classes, size=len(samples.unlabelled))
    return {"clusters": clusters}
