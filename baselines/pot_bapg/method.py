"""Gromov-Wasserstein by Bregman alternating projected gradient: POT's ``BAPG``."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.stopping import in_chunks

Floats = npt.NDArray[np.float64]


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.02,
    graph_iter: int = 1000,
    cloud_epsilon: float = 0.03,
    cloud_iter: int = 200,
    tolerance: float = 1e-9,
) -> Prediction:
    """Take alternating steps for rows and columns, on graphs normalised by degree.

    The method drops one of the two marginals in each half step, so its plan meets them only nearly;
    it is returned as POT gives it, and its marginal gap is one of the metrics. The constant terms
    of the gradient (POT's ``marginal_loss``) are left out on graphs, as the authors do, and kept on
    clouds: each is much worse the other way round. Graphs stop, too, once the largest entries of
    the rows are at rest, as every solver here does: POT, which has no such test, is called for a
    few steps at a time. Clouds, where short steps rest on their way, stop by POT's test alone.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: step weight times the number of nodes, for sparse costs.
        graph_iter: largest number of steps for sparse costs.
        cloud_epsilon: step weight for dense costs, whose largest is 1.
        cloud_iter: largest number of steps for dense costs; it seldom converges by POT's test.
        tolerance: change of the plan at which to stop, POT's default.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "BAPG")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    graphs = source.sparse
    if graphs:
        source, target = source.normalised(), target.normalised()
    left, right = source.dense(), target.dense()
    epsilon = graph_epsilon / max(a.size, b.size) if graphs else cloud_epsilon

    def advance(plan: Floats, steps: int) -> Floats:
        return np.asarray(
            ot.gromov.BAPG_gromov_wasserstein(
                left,
                right,
                a,
                b,
                epsilon=epsilon,
                symmetric=True,
                G0=plan,
                max_iter=steps,
                tol=tolerance,
                marginal_loss=not graphs,
            )
        )

    if not graphs:
        return {"coupling": advance(first, cloud_iter)}
    return {"coupling": in_chunks(advance, first, steps=graph_iter, tolerance=tolerance)}
