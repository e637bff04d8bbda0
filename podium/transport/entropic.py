"""Entropic Gromov-Wasserstein with dense costs: POT's solver, stopped by this suite's rule."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.transport.costs import Cost
from podium.transport.stopping import in_chunks

Floats = npt.NDArray[np.float64]


def entropic(
    solver: Literal["PGD", "PPA"],
    source: Cost,
    target: Cost,
    a: Floats,
    b: Floats,
    plan: Floats,
    *,
    epsilon: float,
    scalings: int,
    max_iter: int,
    tolerance: float,
) -> Floats:
    """Return the plan of POT's ``entropic_gromov_wasserstein``, float64 [n, m], whatever it is.

    Sparse costs (graphs) stop, too, once the largest entries of the rows are at rest: POT, which
    has no such test, is called for a few steps at a time.

    Args:
        solver: projected gradient or proximal point steps.
        source: costs of the first space.
        target: costs of the second.
        a: weights, float64 [n].
        b: weights, float64 [m].
        plan: the first plan, float64 [n, m].
        epsilon: entropic weight.
        scalings: Sinkhorn scalings in each step, at most.
        max_iter: largest number of steps.
        tolerance: change of the plan at which POT stops.
    """
    from podium.transport.pot import ot

    left, right = source.dense(), target.dense()

    def advance(current: Floats, steps: int) -> Floats:
        return np.asarray(
            ot.gromov.entropic_gromov_wasserstein(
                left,
                right,
                a,
                b,
                epsilon=epsilon,
                symmetric=True,
                G0=current,
                max_iter=steps,
                tol=tolerance,
                solver=solver,
                numItermax=scalings,
                warn=False,
            )
        )

    if not source.sparse:
        return advance(plan, max_iter)
    return in_chunks(advance, plan, steps=max_iter, tolerance=tolerance)
