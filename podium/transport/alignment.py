"""Align two spaces: choose how to descend, and end with a plan whose marginals are exact."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.errors import InputError
from podium.metrics.alignment import gw_objective
from podium.transport.costs import Cost, Start, costs, start, weights
from podium.transport.descent import Step
from podium.transport.frank_wolfe import frank_wolfe
from podium.transport.marginals import round_to_marginals, sinkhorn
from podium.transport.matching import assignment, assignment_descent
from podium.transport.solver import Descent, Options

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]

# A dense array with at most this share of nonzero entries is a graph.
_GRAPH_DENSITY = 0.3
_NO_WEIGHT = 1e-9
# With more than this share of the rows not settled, a descent has ended in a poor optimum ...
_MOST_OPEN = 0.1
# ... and the next one takes steps so many times longer. Between dense costs longer steps leave the
# scaling too much to do, and shorter ones end lower ...
_LONGER = 2.0
_SHORTER = 4.0
# ... where the objective stayed above this share of that of the product of the weights.
_FAR = 0.01
_REFINING = 100


@dataclass(frozen=True)
class Alignment:
    """A feasible plan, float64 [n, m], dense or (a scaled permutation) CSR, and its steps."""

    plan: Floats | csr_array[Any, Any]
    trace: tuple[Step, ...]

    def prediction(self) -> Prediction:
        """Return the plan as a prediction: ``coupling``, or ``rows, columns, values``."""
        if isinstance(self.plan, np.ndarray):
            return {"coupling": self.plan}
        triples = self.plan.tocoo()
        return {
            "rows": triples.row.astype(np.int64),
            "columns": triples.col.astype(np.int64),
            "values": triples.data,
        }


def align_problem(problem: Problem, context: Context, begin: Start, options: Options) -> Prediction:
    """Align the two spaces of a problem and log the objective and the rows of each step."""
    source, target = costs(problem.public)
    a, b = weights(problem.public)
    result = align(source, target, a, b, begin=begin, options=options)
    for number, step in enumerate(result.trace):
        context.log(number, objective=step.objective, rows=step.rows)
    return result.prediction()


def align(
    source: Cost, target: Cost, a: Floats, b: Floats, *, begin: Start, options: Options
) -> Alignment:
    r"""Find a plan of low Gromov-Wasserstein objective between two spaces.

    Graphs (sparse costs) are degree-normalised, :math:`D^{-1/2} A D^{-1/2}`, and aligned by
    ``podium.transport.solver.Descent``; where over a tenth of the nodes did not settle, again with
    longer steps. Dense costs are divided by their largest. Those of equal size and equal weights
    are aligned by assignment steps, the limit of a mirror step of infinite length; others by a
    descent, and again with shorter steps as long as that ends lower, where much did not settle or
    the objective stayed above a hundredth of that of the product of the weights. Each descent
    starts from ``begin``; the lowest end is kept. Where much did not settle in it and the points of
    each side weigh the same, conditional gradient goes on from its plan, on graphs as given.

    The plan is a permutation over n where both sides have n points of equal weight, and otherwise
    the result of scaling and rounding in float64: its marginals are exact to rounding error. Where
    a cost matrix is zero, every plan is optimal and the start is returned.

    Args:
        source: [n, n].
        target: [m, m].
        a: float64 [n] >= 0 with sum 1.
        b: float64 [m] >= 0 with sum 1.
        begin: the plan to start from, see ``podium.transport.costs.start``.
        options: see ``podium.transport.solver.Options``.
    """
    if len(a) != source.size or len(b) != target.size:
        raise InputError(
            "weights and cost matrices differ in length",
            where="weights",
            expected=f"{source.size} and {target.size}",
            found=f"{len(a)} and {len(b)}",
        )
    source, target = _as_graph(source), _as_graph(target)
    if _is_zero(source) or _is_zero(target):
        return Alignment(start(begin, source, target, a, b), ())
    # Of either side's scale nothing but the unit of the objective depends.
    source, target = _of_unit_scale(source), _of_unit_scale(target)
    plan = start(begin, source, target, a, b)
    if _matching(a, b) and not (source.sparse or target.sparse):
        first = None if begin == "uniform" else plan * len(a)
        permutation, trace = assignment_descent(
            source.dense(), target.dense(), first, options.steps
        )
        return Alignment(_scaled_permutation(permutation), trace)
    graphs = source.sparse and target.sparse
    left, right = (source.normalised(), target.normalised()) if graphs else (source, target)
    # Points without weight take no part: they could not be scaled to it.
    rows, columns = _weighty(a), _weighty(b)
    descent, trace = _descend(
        left.block(rows),
        right.block(columns),
        a[rows] / a[rows].sum(),
        b[columns] / b[columns].sum(),
        plan[np.ix_(rows, columns)],
        options,
    )
    found = np.zeros_like(plan)
    found[np.ix_(rows, columns)] = descent.plan()
    result = feasible(found, a, b, trace)
    if _poor(descent) and _level(a) and _level(b):
        return _refined(source, target, a, b, result)
    return result


def _descend(
    source: Cost, target: Cost, a: Floats, b: Floats, plan: Floats, options: Options
) -> tuple[Descent, tuple[Step, ...]]:
    """Descend, and again with longer steps where much did not settle; return the lowest end."""
    best = Descent(source, target, a, b, plan, options)
    best.run()
    trace = list(best.trace)
    if not best.graphs:
        return _descend_shorter(source, target, best, plan)
    for number in range(1, options.attempts):
        if not _poor(best):
            break
        sharpness = options.sharpness * _LONGER**number
        again = Descent(source, target, a, b, plan, replace(options, sharpness=sharpness))
        again.run()
        trace += again.trace
        if again.whole.objective < best.whole.objective:
            best = again
    return best, tuple(trace)


def _descend_shorter(
    source: Cost, target: Cost, best: Descent, plan: Floats
) -> tuple[Descent, tuple[Step, ...]]:
    """Descend again from ``plan``, each time with shorter steps, as long as that ends lower.

    Long steps leave the scaling much to do, so that only plans rounded to the marginals compare.
    """
    a, b, options = best.a / best.mass, best.b / best.mass, best.options
    product = gw_objective(source.matrix, target.matrix, np.outer(a, b))
    trace = list(best.trace)
    lowest = _rounded_objective(source, target, best)
    for number in range(1, options.attempts):
        if not (_poor(best) or lowest > _FAR * product):
            break
        sharpness = options.sharpness / _SHORTER**number
        again = Descent(source, target, a, b, plan, replace(options, sharpness=sharpness))
        again.run()
        trace += again.trace
        reached = _rounded_objective(source, target, again)
        if not reached < lowest:
            break
        best, lowest = again, reached
    return best, tuple(trace)


def _rounded_objective(source: Cost, target: Cost, descent: Descent) -> float:
    a, b = descent.a / descent.mass, descent.b / descent.mass
    rounded = round_to_marginals(descent.plan(), a, b)
    return gw_objective(source.matrix, target.matrix, rounded)


def _poor(descent: Descent) -> bool:
    return len(descent.unsettled()[0]) > _MOST_OPEN * len(descent.a)


def _refined(source: Cost, target: Cost, a: Floats, b: Floats, result: Alignment) -> Alignment:
    """Go on by conditional gradient on the costs as given; return the lower plan of the two."""
    plan = result.plan if isinstance(result.plan, np.ndarray) else result.plan.toarray()
    towards = frank_wolfe(source, target, a, b, plan, steps=_REFINING, tolerance=1e-9)
    other = round_to_marginals(towards, a, b)
    values = [gw_objective(source.matrix, target.matrix, x) for x in (plan, other)]
    if not values[1] < values[0]:
        return result
    # The rounding of a permutation leaves it a permutation.
    found = _scaled_permutation(other.argmax(axis=1)) if _matching(a, b) else other
    return Alignment(found, result.trace)


def feasible(plan: Floats, a: Floats, b: Floats, trace: tuple[Step, ...] = ()) -> Alignment:
    """Turn a positive matrix into a plan: its best permutation, or its scaling to the marginals."""
    if _matching(a, b):
        return Alignment(_scaled_permutation(assignment(plan)), trace)
    return Alignment(sinkhorn(np.log(np.maximum(plan, np.finfo(np.float64).tiny)), a, b), trace)


def _weighty(weights: Floats) -> npt.NDArray[np.intp]:
    return np.flatnonzero(weights > _NO_WEIGHT * weights.max())


def _as_graph(cost: Cost) -> Cost:
    if cost.sparse or np.count_nonzero(cost.dense()) > _GRAPH_DENSITY * cost.size**2:
        return cost
    return Cost(cost.csr())


def _is_zero(cost: Cost) -> bool:
    return cost.largest() == 0


def _of_unit_scale(cost: Cost) -> Cost:
    """Return dense costs over their largest, within reach of float32; graphs have no unit."""
    return cost if cost.sparse else cost.divided(cost.largest())


def _matching(a: Floats, b: Floats) -> bool:
    """Say whether permutations over n are plans: as many points, all of equal weight."""
    return len(a) == len(b) and _level(a) and _level(b)


def _level(weights: Floats) -> bool:
    return bool(np.ptp(weights) <= 1e-12 * weights.max())


def _scaled_permutation(permutation: npt.NDArray[np.intp]) -> csr_array[Any, Any]:
    from scipy.sparse import csr_array

    n = len(permutation)
    return csr_array((np.full(n, 1.0 / n), permutation, np.arange(n + 1)), shape=(n, n))
