"""Gromov-Wasserstein by proximal point steps: POT's ``entropic_gromov_wasserstein``."""

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
    graph_epsilon: float = 0.00375,
    graph_scalings: int = 100,
    cloud_epsilon: float = 1e-3,
    cloud_scalings: int = 10,
    max_iter: int = 300,
    tolerance: float = 1e-9,
) -> Prediction:
    """Take proximal steps, on graphs normalised by degree.

    A few Sinkhorn scalings a step (Xu et al. take one) are several times faster than POT's default
    of up to 1000; ten leave marginals that are off by some 1e-3. Graphs stop, too, once the largest
    entries of the rows are at rest, as every solver here does: POT, which has no such test, is
    called for a few steps at a time.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_epsilon: proximal weight times the number of nodes, for sparse costs.
        graph_scalings: Sinkhorn scalings in each step, at most, for sparse costs.
        cloud_epsilon: proximal weight for dense costs, whose largest is 1.
        cloud_scalings: Sinkhorn scalings in each step, at most, for dense costs.
        max_iter: largest number of steps.
        tolerance: change of the plan at which to stop, POT's default.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "proximal point")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    graphs = source.sparse
    epsilon = cloud_epsilon
    if graphs:
        source, target = source.normalised(), target.normalised()
        epsilon = graph_epsilon / max(a.size, b.size)
    left, right = source.dense(), target.dense()

    def advance(plan: Floats, steps: int) -> Floats:
        return np.asarray(
            ot.gromov.entropic_gromov_wasserstein(
                left,
                right,
                a,
                b,
                epsilon=epsilon,
                symmetric=True,
                G0=plan,
                max_iter=steps,
                tol=tolerance,
                solver="PPA",
                numItermax=graph_scalings if graphs else cloud_scalings,
                warn=False,
            )
        )

    if not graphs:
        return {"coupling": advance(first, max_iter)}
    return {"coupling": in_chunks(advance, first, steps=max_iter, tolerance=tolerance)}
