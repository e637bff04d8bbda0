"""Semi-relaxed Gromov-Wasserstein: POT's ``semirelaxed_gromov_wasserstein``."""

from __future__ import annotations

from typing import Literal

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.marginals import round_to_marginals


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    max_iter: int = 1000,
) -> Prediction:
    """Solve with the source's marginal alone, then round the plan to both marginals.

    The relaxed problem leaves the target's masses free, so its plan is no coupling of the two; the
    rounding moves only the mass that is too much (Altschuler, Weed and Rigollet 2017).

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        max_iter: largest number of steps.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "semi-relaxed conditional gradient")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    plan = ot.gromov.semirelaxed_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        symmetric=True,
        G0=spaces.start(start, source, target, a, b),
        max_iter=max_iter,
    )
    return {"coupling": round_to_marginals(np.asarray(plan), a, b)}
