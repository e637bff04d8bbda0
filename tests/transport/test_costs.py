from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from podium.errors import InputError
from podium.metrics.alignment import marginal_gap
from podium.transport.costs import (
    Cost,
    check_weights,
    costs,
    dense_cost,
    sparse_cost,
    start,
    weights,
)
from podium.transport.marginals import round_to_marginals, sinkhorn

PATH = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])


def _public(**changes: Any) -> dict[str, Any]:
    third = np.full(3, 1 / 3)
    sparse = csr_array(PATH)
    given = {
        "source_cost": PATH,
        "target_data": sparse.data,
        "target_indices": sparse.indices.astype(np.int64),
        "target_indptr": sparse.indptr.astype(np.int64),
        "source_weights": third,
        "target_weights": third,
    }
    return {k: v for k, v in {**given, **changes}.items() if v is not None}


def test_dense_and_sparse_forms_hold_the_same_matrix() -> None:
    source, target = costs(_public())
    assert not source.sparse
    assert target.sparse
    np.testing.assert_array_equal(source.dense(), target.dense())
    np.testing.assert_array_equal(source.csr().toarray(), PATH)
    np.testing.assert_array_equal(target.degrees(), [1, 2, 1])
    np.testing.assert_allclose(source.normalised().dense(), target.normalised().dense())
    np.testing.assert_array_equal(
        source.second_moments(np.ones(3)), target.second_moments(np.ones(3))
    )


def test_the_normalised_adjacency_has_the_root_degrees_as_its_top_eigenvector() -> None:
    # D^-1/2 A D^-1/2 (D^1/2 1) = D^-1/2 A 1 = D^1/2 1
    root = np.sqrt(Cost(PATH).degrees())
    np.testing.assert_allclose(Cost(csr_array(PATH)).normalised().dense() @ root, root)


def test_isolated_nodes_stay_isolated() -> None:
    matrix = np.pad(PATH, (0, 1))
    normalised = Cost(csr_array(matrix)).normalised().dense()
    assert np.isfinite(normalised).all()
    np.testing.assert_array_equal(normalised[3], 0)


def test_repeated_csr_entries_are_added_up() -> None:
    cost = sparse_cost([0.5, 0.5, 1.0], [1, 1, 0], [0, 2, 3])
    np.testing.assert_array_equal(cost.dense(), [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"source_cost": PATH[:2]}, "square"),
        ({"source_cost": np.zeros((0, 0))}, "square"),
        ({"source_cost": np.where(PATH == 1, np.nan, 0.0)}, "finite"),
        ({"source_cost": np.triu(PATH)}, "symmetric"),
        ({"source_cost": None}, "exactly one"),
        ({"target_cost": PATH}, "exactly one"),
        ({"target_indptr": None}, "exactly one"),
        ({"target_indices": np.array([1, 0, 2, 9])}, "CSR"),
        ({"target_indptr": np.array([0, 3, 1, 4])}, "CSR"),
        ({"target_data": np.array([1.0, np.inf, np.inf, 1.0])}, "finite"),
        ({"target_data": np.array([1.0, 2.0, 1.0, 1.0])}, "symmetric"),
    ],
)
def test_faulty_costs_are_named(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        costs(_public(**changes))


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (np.array([0.5, 0.5]), "length"),
        (np.array([1.5, -0.25, -0.25]), "negative"),
        (np.array([np.nan, 0.5, 0.5]), "finite"),
        (np.array([1.0, 1.0, 1.0]), "sum to 1"),
    ],
)
@pytest.mark.parametrize("side", ["source", "target"])
def test_faulty_weights_are_named(values: Any, word: str, side: str) -> None:
    with pytest.raises(InputError, match=word):
        weights(_public(**{f"{side}_weights": values}))


def test_negative_degrees_have_no_normalisation() -> None:
    with pytest.raises(InputError, match="negative row sum"):
        dense_cost(-PATH).normalised()


@pytest.mark.parametrize("kind", ["uniform", "degree"])
def test_starts_are_feasible(kind: Any, graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(noise=0.1)
    copy = copy[:120][:, :120]
    rng = np.random.default_rng(0)
    a, b = rng.random(150), rng.random(120)
    a, b = a / a.sum(), b / b.sum()
    plan = start(kind, Cost(graph), Cost(copy), a, b)
    assert plan.min() >= 0
    assert marginal_gap(plan, a, b) < 1e-13


def test_the_degree_start_does_not_depend_on_labels(graph_pair: Callable[..., Any]) -> None:
    graph, copy, truth = graph_pair()
    mass = np.full(150, 1 / 150)
    plan = start("degree", Cost(graph), Cost(copy), mass, mass)
    again = start("degree", Cost(graph), Cost(graph), mass, mass)
    np.testing.assert_allclose(plan[:, truth], again, atol=1e-12)


def test_the_degree_start_is_uniform_where_degrees_do_not_differ() -> None:
    ring = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    fifth = np.full(5, 0.2)
    plan = start("degree", Cost(ring), Cost(ring), fifth, fifth)
    np.testing.assert_allclose(plan, 0.04, rtol=1e-12)


def test_an_unknown_start_is_refused() -> None:
    third = np.full(3, 1 / 3)
    kind: Any = "random"
    with pytest.raises(InputError, match="unknown start"):
        start(kind, Cost(PATH), Cost(PATH), third, third)


def test_a_length_that_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="length"):
        check_weights([1.0], 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.floats(0.0, 300.0))
def test_scaling_meets_any_marginals(n: int, m: int, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.random(n), rng.random(m)
    a, b = a / a.sum(), b / b.sum()
    plan = sinkhorn(-spread * rng.random((n, m)), a, b)
    assert plan.min() >= 0
    assert marginal_gap(plan, a, b) < 1e-12


def test_scaling_keeps_the_cross_ratios_of_the_kernel() -> None:
    log_kernel = np.array([[0.3, -0.2, 0.1], [0.0, 0.5, -0.4]])
    plan = sinkhorn(log_kernel, np.array([0.4, 0.6]), np.array([0.2, 0.3, 0.5]))
    for matrix in (np.exp(log_kernel), plan):
        ratio = matrix[0, 0] * matrix[1, 1] / (matrix[0, 1] * matrix[1, 0])
        assert ratio == pytest.approx(np.exp(0.3 + 0.5 + 0.2), rel=1e-8)


def test_a_kernel_must_be_finite() -> None:
    with pytest.raises(InputError, match="finite"):
        sinkhorn(np.array([[np.nan]]), np.ones(1), np.ones(1))


def test_rounding_leaves_a_feasible_plan_alone() -> None:
    plan = np.outer([0.25, 0.75], [0.5, 0.5])
    np.testing.assert_array_equal(
        round_to_marginals(plan, np.array([0.25, 0.75]), np.array([0.5, 0.5])), plan
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rounding_moves_a_plan_by_at_most_twice_its_gap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plan, a, b = rng.random((5, 7)) / 35, rng.random(5), rng.random(7)
    a, b = a / a.sum(), b / b.sum()
    rounded = round_to_marginals(plan, a, b)
    assert marginal_gap(rounded, a, b) < 1e-13
    assert np.abs(rounded - plan).sum() <= 2 * marginal_gap(plan, a, b) + 1e-12
