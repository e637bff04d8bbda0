"""Spectral Gromov-Wasserstein: conditional gradient on heat kernels."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces

Floats = npt.NDArray[np.float64]


def heat_kernel(cost: spaces.Cost, time: float) -> Floats:
    r"""Return :math:`\exp(-t\,(I - D^{-1/2} W D^{-1/2}))`, float64 [n, n].

    W is the adjacency matrix; for dense distances C, the affinities
    :math:`\exp(-(C_{ij} / \bar C)^2)` with the mean distance as their width.
    """
    if cost.sparse:
        normalised = cost.normalised().dense()
    else:
        distance = cost.dense()
        mean = float(distance.mean())
        width = mean if mean > 0 else 1.0
        normalised = spaces.Cost(np.exp(-((distance / width) ** 2))).normalised().dense()
    values, vectors = np.linalg.eigh(normalised)
    kernel: Floats = (vectors * np.exp(time * (values - 1.0))) @ vectors.T
    symmetric: Floats = (kernel + kernel.T) / 2
    return symmetric


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_time: float = 10.0,
    graph_iter: int = 1000,
    cloud_time: float = 20.0,
    cloud_iter: int = 1000,
) -> Prediction:
    """Run POT's conditional gradient on the heat kernels of both spaces.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        start: the first plan, the product of the weights or a soft match of the degrees.
        graph_time: of diffusion, for sparse costs.
        graph_iter: largest number of steps, for sparse costs.
        cloud_time: of diffusion, for dense costs.
        cloud_iter: largest number of steps, for dense costs.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "conditional gradient on heat kernels")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    time = graph_time if source.sparse else cloud_time
    plan = ot.gromov.gromov_wasserstein(
        heat_kernel(source, time),
        heat_kernel(target, time),
        a,
        b,
        symmetric=True,
        G0=spaces.start(start, source, target, a, b),
        max_iter=graph_iter if source.sparse else cloud_iter,
        numItermaxEmd=10_000_000,
    )
    return {"coupling": plan}
