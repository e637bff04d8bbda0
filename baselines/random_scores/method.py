"""Control: every pair gets a random score."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem


def run(problem: Problem, context: Context) -> Prediction:
    """Draw each score from U(0, 1) with the run's seed."""
    d = problem.public["series"].shape[1]
    return {"scores": context.rng("scores").random((d, d))}
