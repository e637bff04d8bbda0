"""The metrics of a coupling: golden predictors, identities, brute force, and POT."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics import alignment
from podium.metrics.alignment import (
    edge_correctness,
    gw_objective,
    hits_at,
    marginal_gap,
    node_correctness,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def symmetric(n: int, rng: np.random.Generator, density: float = 1.0) -> Floats:
    values = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return values + values.T


def permutation_plan(order: Ints) -> Floats:
    """The plan that sends node ``order[j]`` to node j."""
    plan = np.zeros((order.size, order.size))
    plan[order, np.arange(order.size)] = 1 / order.size
    return plan


def labels(n: int) -> Ints:
    return np.arange(n, dtype=np.int64)


# ---- node correctness and hits -----------------------------------------------------------------


def test_golden_couplings() -> None:
    order = np.random.default_rng(0).permutation(20)
    oracle = permutation_plan(order)
    assert node_correctness(oracle, labels(20), order) == 1.0
    assert node_correctness(oracle.max() - oracle, labels(20), order) == 0.0
    assert node_correctness(oracle.astype(np.float16), labels(20), order) == 1.0
    assert node_correctness(np.ones((1, 1)), labels(1), labels(1)) == 1.0
    empty = node_correctness(np.zeros((0, 0)), labels(0), labels(0))
    assert isinstance(empty, Undefined)
    assert "empty" in empty.reason


@pytest.mark.parametrize("k", [1, 5, 10, 40])
@pytest.mark.parametrize("value", [0.0, 1 / 400])
def test_a_constant_coupling_scores_at_chance_even_where_the_match_is_the_identity(
    k: int, value: float
) -> None:
    constant = np.full((20, 20), value)
    # The trap: an assignment solver, or an argmax, hands out the identity on a constant matrix.
    np.testing.assert_array_equal(linear_sum_assignment(constant)[1], np.arange(20))
    np.testing.assert_array_equal(constant.argmax(axis=1), 0)
    for found in (constant, csr_array(constant)):
        score = hits_at(found, labels(20), labels(20), k)
        assert score == pytest.approx(min(k, 20) / 20, abs=1e-12)


def test_a_random_coupling_scores_at_chance() -> None:
    rng = np.random.default_rng(1)
    coupling = rng.random((500, 500))
    assert node_correctness(coupling, labels(500), labels(500)) == pytest.approx(1 / 500, abs=0.01)
    assert hits_at(coupling, labels(500), labels(500), 50) == pytest.approx(0.1, abs=0.05)


def test_ties_by_hand() -> None:
    coupling = np.array([[3.0, 1.0, 1.0, 1.0], [2.0, 2.0, 0.0, 0.0]])
    target = np.array([0, 1, 2, 3])
    # Row 0 wants column 1: third of three tied, after one larger. Row 1 wants column 1 of a pair.
    source = np.array([1, 1])
    assert hits_at(coupling, source, target, 1) == pytest.approx((0 + 1 / 2) / 2)
    assert hits_at(coupling, source, target, 2) == pytest.approx((1 / 3 + 1) / 2)
    assert hits_at(coupling, source, target, 3) == pytest.approx((2 / 3 + 1) / 2)


def test_labels_shared_by_several_nodes() -> None:
    source, target = np.array([7, 8]), np.array([7, 7, 8, 9])
    # All tied: row 0 is right on two of four columns, row 1 on one.
    assert node_correctness(np.ones((2, 4)), source, target) == pytest.approx((2 / 4 + 1 / 4) / 2)
    # Among two drawn of four, one of two right: 1 - C(2, 2) / C(4, 2).
    assert hits_at(np.ones((1, 4)), source[:1], target, 2) == pytest.approx(1 - 1 / 6)


@given(
    hnp.arrays(np.float64, (2, 4), elements=st.integers(0, 2).map(float)),
    hnp.arrays(np.int64, 4, elements=st.integers(0, 2)),
    st.integers(1, 5),
)
def test_hits_are_the_mean_over_all_orders_of_ties(coupling: Floats, target: Ints, k: int) -> None:
    source = np.array([0, 1])
    found = []
    for order in itertools.permutations(range(4)):
        columns = np.array(order)
        ranked = np.argsort(-coupling[:, columns], axis=1, kind="stable")[:, :k]
        hit = (target[columns][ranked] == source[:, None]).any(axis=1)
        found.append(hit.mean())
    assert hits_at(coupling, source, target, k) == pytest.approx(np.mean(found), abs=1e-12)


def test_bad_arguments_are_named() -> None:
    with pytest.raises(InputError, match="bad k"):
        hits_at(np.ones((2, 2)), labels(2), labels(2), 0)
    with pytest.raises(InputError, match="differ in length"):
        hits_at(np.ones((2, 3)), labels(2), labels(2), 1)
    with pytest.raises(InputError, match="not finite"):
        hits_at(np.full((2, 2), np.nan), labels(2), labels(2), 1)


# ---- objective ---------------------------------------------------------------------------------


def test_objective_is_the_defining_sum() -> None:
    rng = np.random.default_rng(2)
    a, b, x = symmetric(4, rng), symmetric(5, rng), rng.random((4, 5))
    total = sum(
        (a[i, k] - b[j, h]) ** 2 * x[i, j] * x[k, h]
        for i, j, k, h in itertools.product(range(4), range(5), range(4), range(5))
    )
    # No marginals are assumed: it holds for any coupling.
    assert gw_objective(a, b, x) == pytest.approx(total, rel=1e-12)


def test_objective_agrees_with_pot() -> None:
    from podium.transport.pot import ot

    rng = np.random.default_rng(3)
    a, b = symmetric(30, rng, 0.3), symmetric(40, rng, 0.3)
    p, q = np.full(30, 1 / 30), np.full(40, 1 / 40)
    plans = [np.outer(p, q), ot.emd(p, q, rng.random((30, 40)))]
    plans.append(ot.sinkhorn(p, q, rng.random((30, 40)), 0.05, stopThr=1e-15))
    for plan in plans:
        theirs = float(ot.gromov.gwloss(*ot.gromov.init_matrix(a, b, p, q), plan))
        assert gw_objective(a, b, plan) == pytest.approx(theirs, abs=1e-10)
        assert gw_objective(csr_array(a), csr_array(b), csr_array(plan)) == pytest.approx(
            theirs, abs=1e-10
        )


def test_a_permuted_copy_is_at_distance_zero() -> None:
    rng = np.random.default_rng(4)
    order = rng.permutation(25)
    a = symmetric(25, rng)
    assert abs(gw_objective(a, a[np.ix_(order, order)], permutation_plan(order))) < 1e-15
    assert gw_objective(a, a, permutation_plan(order)) > 1e-3


def test_relabelling_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    a, b, x = symmetric(12, rng, 0.4), symmetric(15, rng, 0.4), rng.random((12, 15))
    rows, columns = rng.permutation(12), rng.permutation(15)
    moved = (a[np.ix_(rows, rows)], b[np.ix_(columns, columns)], x[np.ix_(rows, columns)])
    assert gw_objective(*moved) == pytest.approx(gw_objective(a, b, x), rel=1e-12)
    sparse = [csr_array(m) for m in moved]
    assert edge_correctness(sparse[0], sparse[1], moved[2]) == pytest.approx(
        edge_correctness(csr_array(a), csr_array(b), x), rel=1e-12
    )


@pytest.mark.parametrize("block", [1, 7, 1 << 22])
def test_forms_and_blocks_agree(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "_BLOCK", block)
    rng = np.random.default_rng(6)
    a, b = symmetric(9, rng, 0.5), symmetric(11, rng, 0.5)
    x = rng.random((9, 11)) * (rng.random((9, 11)) < 0.4)
    source, target = rng.integers(0, 4, 9), rng.integers(0, 4, 11)

    def whole(costs: Any, plan: Any) -> list[float]:
        return [
            gw_objective(costs(a), costs(b), plan),
            *(hits_at(plan, source, target, k) for k in (1, 3, 20)),
            edge_correctness(csr_array(a), csr_array(b), plan),
            marginal_gap(plan, np.full(9, 1 / 9), np.full(11, 1 / 11)),
        ]

    forms: list[Any] = [np.asarray, csr_array]
    results = [whole(costs, plan(x)) for costs in forms for plan in forms]
    monkeypatch.setattr(alignment, "_BLOCK", 1 << 22)
    for result in results:
        np.testing.assert_allclose(result, whole(np.asarray, x), rtol=1e-12)


def test_objective_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="differ in shape"):
        gw_objective(np.zeros((3, 3)), np.zeros((4, 4)), np.zeros((4, 3)))


# ---- marginals ---------------------------------------------------------------------------------


def test_marginal_gap_limits() -> None:
    a, b = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
    assert marginal_gap(np.outer(a, b), a, b) < 1e-15
    assert marginal_gap(np.zeros((3, 2)), a, b) == pytest.approx(2.0)
    assert marginal_gap(2 * np.outer(a, b), a, b) == pytest.approx(2.0)
    # All mass on one pair: rows are off by .5 + .3 + .2, columns by .4 + .4.
    one = np.zeros((3, 2))
    one[0, 0] = 1.0
    assert marginal_gap(csr_array(one), a, b) == pytest.approx(1.0 + 0.8)
    assert math.isnan(marginal_gap(np.full((3, 2), np.nan), a, b))
    with pytest.raises(InputError, match="differ in shape"):
        marginal_gap(np.zeros((2, 3)), a, b)


# ---- edge correctness --------------------------------------------------------------------------


def ring(n: int) -> csr_array[Any, Any]:
    dense = np.roll(np.eye(n), 1, axis=1)
    return csr_array(dense + dense.T)


def test_edge_correctness_of_golden_couplings() -> None:
    order = np.random.default_rng(7).permutation(10)
    target = csr_array(ring(10)[order][:, order])
    assert edge_correctness(ring(10), target, permutation_plan(order)) == 1.0
    # A ring shifted by one step is a ring again; the truth is not used.
    shifted = permutation_plan(order)[np.roll(np.arange(10), 1)]
    assert edge_correctness(ring(10), target, shifted) == 1.0
    assert edge_correctness(ring(10), target, np.ones((10, 10))) == pytest.approx(20 / 100)
    everything_on_one = np.zeros((10, 10))
    everything_on_one[:, 3] = 1.0
    assert edge_correctness(ring(10), target, everything_on_one) == 0.0


def test_edge_correctness_ignores_self_loops_and_needs_an_edge() -> None:
    looped = csr_array(ring(6) + csr_array(np.eye(6)))
    plan = permutation_plan(labels(6))
    assert edge_correctness(looped, ring(6), plan) == 1.0
    everything_on_one = np.zeros((6, 6))
    everything_on_one[:, 0] = 1.0
    assert edge_correctness(ring(6), looped, everything_on_one) == 0.0
    nothing = edge_correctness(csr_array((6, 6)), ring(6), plan)
    assert isinstance(nothing, Undefined)
    assert "no edge" in nothing.reason


@given(st.integers(0, 2**32 - 1))
def test_edge_correctness_is_the_mean_over_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = symmetric(3, rng, 0.7), symmetric(4, rng, 0.7)
    coupling = rng.integers(0, 2, (3, 4)).astype(np.float64)
    score = edge_correctness(csr_array(a), csr_array(b), coupling)
    if not a.any():
        assert isinstance(score, Undefined)
        return
    best = [np.flatnonzero(row == row.max()) for row in coupling]
    maps = [np.array(choice) for choice in itertools.product(*best)]
    kept = [float(((a > 0) & (b[np.ix_(f, f)] > 0)).sum() / (a > 0).sum()) for f in maps]
    assert score == pytest.approx(np.mean(kept), abs=1e-12)
