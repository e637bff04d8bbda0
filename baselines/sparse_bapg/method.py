"""BAPG with sparse products on an alignment problem."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.transport import costs as spaces
from podium.transport.alignment import feasible
from podium.transport.bapg import bapg


def run(
    problem: Problem,
    context: Context,
    *,
    start: Literal["uniform", "degree"] = "uniform",
    graph_epsilon: float = 0.02,
    graph_steps: int = 1000,
    cloud_epsilon: float = 0.03,
    cloud_steps: int = 200,
    tolerance: float = 1e-9,
    dtype: Literal["float32", "float64"] = "float32",
) -> Prediction:
    """Take the alternating steps of ``pot_bapg``, then an assignment or a scaling in float64.

    Args:
        problem: the two spaces; graphs are normalised by degree. The products of dense costs are
            those of ``pot_bapg``.
        context: what the engine gives.
        start: the first plan.
        graph_epsilon: step weight times the number of nodes, for sparse costs.
        graph_steps: largest number of pairs of half steps, for sparse costs.
        cloud_epsilon: step weight for dense costs, whose largest is 1.
        cloud_steps: largest number of pairs of half steps, for dense costs.
        tolerance: change of the plan at which to stop, as in POT. Sparse costs stop, too, once the
            largest entries of the rows are at rest.
        dtype: of the iteration.
    """
    context.progress(0, 1, "BAPG")
    source, target = spaces.costs(problem.public)
    a, b = spaces.weights(problem.public)
    first = spaces.start(start, source, target, a, b)
    graphs = source.sparse and target.sparse
    if graphs:
        source, target = source.normalised(), target.normalised()
    plan = bapg(
        source,
        target,
        a,
        b,
        first,
        epsilon=graph_epsilon / max(a.size, b.size) if graphs else cloud_epsilon,
        steps=graph_steps if graphs else cloud_steps,
        marginal_terms=not graphs,
        until_rest=graphs,
        tolerance=tolerance,
        dtype=dtype,
    )
    return feasible(plan, a, b).prediction()
