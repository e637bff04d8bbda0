"""Low-rank Gromov-Wasserstein: POT's ``lowrank_gromov_wasserstein_samples``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.marginals import round_to_marginals

Floats = npt.NDArray[np.float64]


def factors(
    cost: spaces.Cost, rank: int, scale: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    r"""Return the best factors of a symmetric matrix: :math:`A \approx L R^\top`, both [n, rank].

    From the eigenpairs of largest modulus; all of them where ``rank`` is not below n - 1. The
    product is scaled to a root mean square of ``scale``; zeros stay zeros.
    """
    if rank < cost.size - 1:
        from scipy.sparse.linalg import eigsh

        values, vectors = eigsh(cost.matrix, k=rank, which="LM", v0=rng.standard_normal(cost.size))
    else:
        values, vectors = np.linalg.eigh(cost.dense())
    size = float(np.linalg.norm(values)) / cost.size
    return vectors * (values * (scale / size if size > 0 else 1.0)), vectors


def run(
    problem: Problem,
    context: Context,
    *,
    graph_scale: float = 1.0,
    graph_rank: int = 50,
    cloud_scale: float = 0.1,
    cloud_rank: int = 25,
    cost_rank: int = 50,
    max_iter: int = 1000,
) -> Prediction:
    r"""Find a plan :math:`Q\, \mathrm{diag}(1/g)\, R^\top` on costs cut to low rank.

    Graphs are normalised by degree first. POT draws its start at random and takes no other. What
    its inner loop leaves off the marginals is removed by rounding.

    Args:
        problem: the two spaces.
        context: what the engine gives.
        graph_scale: root mean square to which sparse costs are scaled. POT's step size goes with
            the inverse of their gradient: on costs much smaller its kernels overflow to NaN.
        graph_rank: of the plan between sparse costs.
        cloud_scale: the root mean square for dense costs.
        cloud_rank: of the plan between dense costs.
        cost_rank: of the costs.
        max_iter: largest number of steps.
    """
    from podium.transport.pot import ot

    context.progress(0, 1, "low-rank mirror descent")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    scale, rank = cloud_scale, cloud_rank
    if source.sparse:
        scale, rank = graph_scale, graph_rank
        source, target = source.normalised(), target.normalised()
    left = factors(source, cost_rank, scale, context.rng("source factors"))
    right = factors(target, cost_rank, scale, context.rng("target factors"))
    q, r, g = ot.gromov.lowrank_gromov_wasserstein_samples(
        left[1],
        right[1],
        a,
        b,
        rank=rank,
        numItermax=max_iter,
        seed_init=int(context.rng("start").integers(1, 2**31)),
        cost_factorized_Xs=left,
        cost_factorized_Xt=right,
        warn=False,
    )
    return {"coupling": round_to_marginals((q / g) @ r.T, a, b)}
