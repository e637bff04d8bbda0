from __future__ import annotations

from collections.abc import Callable
from itertools import permutations, product
from statistics import geometric_mean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from podium.errors import InputError
from podium.metrics.alignment import gw_objective, marginal_gap
from podium.transport.alignment import Alignment, align
from podium.transport.costs import Cost
from podium.transport.matching import assignment, assignment_descent, kept, overlap
from podium.transport.solver import Options

DEFAULT = Options()


def _align(source: Any, target: Any, begin: Any = "uniform", **options: Any) -> Alignment:
    a, b = (np.full(m.shape[0], 1 / m.shape[0]) for m in (source, target))
    return align(Cost(source), Cost(target), a, b, begin=begin, options=Options(**options))


def _image(result: Alignment) -> np.ndarray[Any, Any]:
    assert isinstance(result.plan, csr_array)
    return np.asarray(result.plan.indices)


# ---- identities --------------------------------------------------------------------------------


@pytest.mark.parametrize("begin", ["uniform", "degree"])
@pytest.mark.parametrize("family", ["plc", "ba", "sbm"])
def test_a_permuted_copy_is_at_distance_0(
    family: str, begin: str, graph_pair: Callable[..., Any]
) -> None:
    graph, copy, _ = graph_pair(nodes=200, family=family)
    result = _align(graph, copy, begin)
    # Nodes with the same neighbours may be swapped: the distance is what must vanish.
    assert gw_objective(graph, copy, result.plan) == pytest.approx(0, abs=1e-12)
    assert overlap(graph, copy, _image(result)).min() == pytest.approx(1)


@pytest.mark.parametrize("begin", ["uniform", "degree"])
def test_a_turned_cloud_is_matched_exactly(begin: str, cloud_pair: Callable[..., Any]) -> None:
    source, target, truth = cloud_pair()
    result = _align(source, target, begin)
    np.testing.assert_array_equal(_image(result), truth)
    assert gw_objective(source, target, result.plan) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("noise", [0.05, 0.1])
@pytest.mark.parametrize("family", ["plc", "ba", "sbm"])
def test_noisy_copies_are_matched_under_one_setting(
    family: str, noise: float, graph_pair: Callable[..., Any]
) -> None:
    for seed in range(3):
        graph, copy, truth = graph_pair(nodes=300, noise=noise, seed=seed, family=family)
        result = _align(graph, copy)
        assert (_image(result) == truth).mean() >= 0.95
        # What is not found can hardly be told apart: the match keeps as much as the true one.
        found, true = (
            kept(Cost(graph).normalised().csr(), Cost(copy).normalised().csr(), mapping)
            for mapping in (_image(result), truth)
        )
        assert found >= 0.98 * true
        third = np.full(300, 1 / 300)
        assert marginal_gap(result.plan, third, third) <= 1e-9


def test_relabelling_either_side_relabels_the_match(graph_pair: Callable[..., Any]) -> None:
    graph, copy, truth = graph_pair(nodes=300, noise=0.05, family="sbm")
    order = np.random.default_rng(5).permutation(300)
    first = _image(_align(graph, copy))
    second = _image(_align(graph, csr_array(copy[order][:, order])))
    np.testing.assert_array_equal(order[second], first)
    np.testing.assert_array_equal(first, truth)


def test_the_scale_of_a_graph_does_not_matter(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=200, noise=0.05)
    np.testing.assert_array_equal(_image(_align(graph, copy)), _image(_align(graph * 7.0, copy)))


def test_dense_and_sparse_costs_of_a_graph_give_the_same(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=200, noise=0.05)
    dense = _align(graph.toarray(), copy.toarray())
    np.testing.assert_array_equal(_image(dense), _image(_align(graph, copy)))


def test_what_does_not_settle_is_refined_on_the_costs_as_given(
    graph_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    lower = 0
    for seed in range(4):
        graph, copy, _ = graph_pair(nodes=100, noise=0.5, seed=seed)
        refined = gw_objective(graph, copy, _align(graph, copy).plan)
        with monkeypatch.context() as patch:
            patch.setattr("podium.transport.alignment._MOST_OPEN", 1.0)
            plain = gw_objective(graph, copy, _align(graph, copy).plan)
        assert refined <= plain
        lower += refined < plain
    assert lower == 4


def test_float64_agrees_with_float32(graph_pair: Callable[..., Any]) -> None:
    graph, copy, truth = graph_pair(nodes=200, noise=0.05, family="sbm")
    for dtype in ("float32", "float64"):
        np.testing.assert_array_equal(_image(_align(graph, copy, dtype=dtype)), truth)


# ---- spaces of any kind ------------------------------------------------------------------------


@pytest.mark.parametrize("localise", [True, False])
def test_different_sizes_get_a_feasible_plan(
    localise: bool, graph_pair: Callable[..., Any]
) -> None:
    graph, copy, truth = graph_pair(nodes=200, family="sbm")
    result = _align(graph, csr_array(copy[:190][:, :190]), localise=localise)
    assert isinstance(result.plan, np.ndarray)
    assert result.plan.min() >= 0
    assert marginal_gap(result.plan, np.full(200, 1 / 200), np.full(190, 1 / 190)) <= 1e-12
    inside = truth < 190
    assert (result.plan.argmax(axis=1) == truth)[inside].mean() > 0.9


def test_weights_are_met_even_where_they_are_zero(graph_pair: Callable[..., Any]) -> None:
    graph, copy, truth = graph_pair(nodes=150, family="sbm")
    a = np.random.default_rng(1).random(150)
    a[:5] = 0
    a /= a.sum()
    b = np.empty(150)
    b[truth] = a
    result = align(Cost(graph), Cost(copy), a, b, begin="uniform", options=DEFAULT)
    assert isinstance(result.plan, np.ndarray)
    assert np.isfinite(result.plan).all()
    assert marginal_gap(result.plan, a, b) <= 1e-12
    assert (result.plan.argmax(axis=1) == truth)[5:].mean() > 0.9


def test_weighted_clouds_get_a_feasible_plan(cloud_pair: Callable[..., Any]) -> None:
    source, target, truth = cloud_pair(points=80)
    a = np.random.default_rng(1).random(80) + 0.1
    a /= a.sum()
    b = np.empty(80)
    b[truth] = a
    result = align(Cost(source), Cost(target), a, b, begin="uniform", options=DEFAULT)
    assert marginal_gap(result.plan, a, b) <= 1e-12
    whole = gw_objective(source, target, np.outer(a, b))
    assert gw_objective(source, target, result.plan) < 0.1 * whole


def test_clouds_of_unequal_size_end_as_low_as_conditional_gradient(
    cloud_pair: Callable[..., Any],
) -> None:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    ratios = []
    for (n, m), seed in product([(100, 90), (100, 75), (60, 100)], range(4)):
        first, second, _ = cloud_pair(points=100, seed=seed)
        source, target = first[:n, :n], second[:m, :m]
        a, b = np.full(n, 1 / n), np.full(m, 1 / m)
        result = _align(source, target)
        theirs = ot.gromov.gromov_wasserstein(source, target, a, b, symmetric=True)
        found, peer = (gw_objective(source, target, x) for x in (result.plan, theirs))
        ratios.append(found / peer)
    # Either may end in another optimum; on the whole neither is above the other.
    assert geometric_mean(ratios) <= 1.1
    assert max(ratios) < 3


@pytest.mark.parametrize("scale", [1e-30, 1e30])
@pytest.mark.parametrize("size", [80, 70])
def test_the_scale_of_a_cloud_does_not_matter(
    scale: float, size: int, cloud_pair: Callable[..., Any]
) -> None:
    source, target, _ = cloud_pair(points=80)
    target = target[:size, :size]
    one, other = (_align(source * s, target / s).plan for s in (1.0, scale))
    np.testing.assert_allclose(np.asarray(one.sum(axis=0)), np.asarray(other.sum(axis=0)))
    images = [np.asarray(x.argmax(axis=1)).ravel() for x in (one, other)]
    assert (images[0] == images[1]).mean() >= 0.95


def test_a_node_that_holds_all_the_weight_takes_no_step(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=30)
    a, b = np.eye(30)[3], np.full(30, 1 / 30)
    for one, other in ((a, b), (b, a), (a, a)):
        with np.errstate(invalid="raise", divide="raise"):
            result = align(Cost(graph), Cost(copy), one, other, begin="uniform", options=DEFAULT)
        assert marginal_gap(result.plan, one, other) <= 1e-12


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32 - 1), st.booleans(), st.booleans()
)
def test_every_problem_gets_a_feasible_plan(
    n: int, m: int, seed: int, equal: bool, localise: bool
) -> None:
    rng = np.random.default_rng(seed)
    spaces, masses = [], []
    for size in (n, m):
        matrix = rng.random((size, size)) * (rng.random((size, size)) < rng.choice([0.2, 0.5, 1]))
        matrix *= 10.0 ** rng.integers(-6, 7)
        matrix += matrix.T
        spaces.append(Cost(csr_array(matrix) if rng.random() < 0.5 else matrix))
        mass = np.ones(size) if equal else rng.random(size) ** 3 * (rng.random(size) < 0.9)
        masses.append(mass / mass.sum() if mass.sum() > 0 else np.full(size, 1 / size))
    begin: Any = rng.choice(["uniform", "degree"])
    options = Options(localise=localise)
    result = align(spaces[0], spaces[1], masses[0], masses[1], begin=begin, options=options)
    plan = result.plan
    dense = plan if isinstance(plan, np.ndarray) else plan.toarray()
    assert np.isfinite(dense).all()
    assert dense.min() >= 0
    assert marginal_gap(dense, masses[0], masses[1]) <= 1e-12


def test_one_point_has_one_plan() -> None:
    for cost in (np.zeros((1, 1)), np.ones((1, 1)), csr_array((1, 1))):
        result = _align(cost, cost)
        np.testing.assert_allclose(np.asarray(result.plan.sum()), 1.0)


@pytest.mark.parametrize("side", [0, 1])
def test_a_zero_cost_leaks_no_order(side: int, graph_pair: Callable[..., Any]) -> None:
    # scipy's assignment of a constant matrix is the identity.
    graph, copy, _ = graph_pair(nodes=30)
    pair = [graph, copy]
    pair[side] = csr_array((30, 30))
    result = _align(*pair)
    np.testing.assert_allclose(np.asarray(result.plan), 1 / 900)


def test_disconnected_graphs_with_isolated_nodes_are_matched(
    graph_pair: Callable[..., Any],
) -> None:
    two, other = (
        csr_array(np.kron(np.eye(2), np.pad(matrix.toarray(), (0, 4))))
        for matrix in graph_pair(nodes=100, family="sbm")[:2]
    )
    result = _align(two, other)
    assert gw_objective(two, other, result.plan) == pytest.approx(0, abs=1e-9)


def test_hubs_do_not_empty_the_plan() -> None:
    # Entropic solvers of POT return zeros on such graphs: exp underflows in the hub's row.
    star = np.zeros((400, 400))
    star[0, 1:] = star[1:, 0] = 1
    star[1:, 1:] = np.roll(np.eye(399), 1, axis=1) + np.roll(np.eye(399), -1, axis=1)
    order = np.random.default_rng(0).permutation(400)
    result = _align(csr_array(star), csr_array(star[order][:, order]))
    mass = np.full(400, 1 / 400)
    assert marginal_gap(result.plan, mass, mass) <= 1e-12
    assert order[_image(result)[0]] == 0


def test_lengths_that_do_not_fit_are_named(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=30)
    with pytest.raises(InputError, match="differ in length"):
        align(
            Cost(graph),
            Cost(copy),
            np.full(29, 1 / 29),
            np.full(30, 1 / 30),
            begin="uniform",
            options=DEFAULT,
        )


# ---- matchings ---------------------------------------------------------------------------------


def test_an_assignment_is_the_best_of_all() -> None:
    for seed in range(20):
        gain = np.random.default_rng(seed).random((5, 5))
        best = max(permutations(range(5)), key=lambda p: gain[np.arange(5), list(p)].sum())
        np.testing.assert_array_equal(assignment(gain), best)


def test_overlap_is_a_cosine() -> None:
    path = csr_array(np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1))
    np.testing.assert_allclose(overlap(path, path, np.arange(4)), 1)
    np.testing.assert_allclose(overlap(path, path, np.array([3, 2, 1, 0])), 1)
    # 0 and 1 swapped: 1 - 0 - 2 - 3 keeps 0-1 and 2-3; 1 keeps one edge of 2 and gains none.
    swapped = overlap(path, path, np.array([1, 0, 2, 3]))
    np.testing.assert_allclose(swapped, [1 / np.sqrt(2), 1 / np.sqrt(2), 1 / 2, 1])
    empty = csr_array((4, 4))
    np.testing.assert_array_equal(overlap(empty, empty, np.arange(4)), 1)
    np.testing.assert_array_equal(overlap(path, empty, np.arange(4)), 0)


def test_kept_costs_are_what_the_objective_lacks(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=60, noise=0.1)
    mapping = np.random.default_rng(0).permutation(60)
    plan = np.zeros((60, 60))
    plan[np.arange(60), mapping] = 1 / 60
    constant = (graph.sum() + copy.sum()) / 60**2
    expected = constant - 2 * kept(graph, copy, mapping) / 60**2
    assert gw_objective(graph, copy, plan) == pytest.approx(expected, rel=1e-12)
    dense = kept(graph.toarray(), copy.toarray(), mapping)
    assert dense == pytest.approx(kept(graph, copy, mapping), rel=1e-12)


def test_the_objective_is_that_of_pot(cloud_pair: Callable[..., Any]) -> None:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    source, target, _ = cloud_pair(points=40, noise=0.1)
    # Of dense costs the descent sees the shares of the largest.
    source, target = source / source.max(), target / target.max()
    result = _align(source, target)
    assert isinstance(result.plan, csr_array)
    mass = np.full(40, 1 / 40)
    constant, first, second = ot.gromov.init_matrix(source, target, mass, mass, "square_loss")
    theirs = ot.gromov.gwloss(constant, first, second, result.plan.toarray())
    mean = ((source**2).sum() + (target**2).sum()) / 40**2
    ours = mean + 2 * result.trace[-1].objective / 40**2
    assert ours == pytest.approx(theirs, abs=1e-10)


def test_assignment_steps_lower_the_objective(cloud_pair: Callable[..., Any]) -> None:
    source, target, truth = cloud_pair(noise=0.05)
    mapping, trace = assignment_descent(source, target, None, 50)
    values = [step.objective for step in trace]
    assert len(values) > 1
    assert (np.diff(values) < 0).all()
    assert -values[-1] == pytest.approx(kept(source, target, mapping))
    assert (mapping == truth).mean() > 0.5


def test_the_first_assignment_from_the_uniform_plan_is_by_order(
    cloud_pair: Callable[..., Any],
) -> None:
    # Its gain is the product of the row sums, which sorting maximises.
    source, target, _ = cloud_pair(points=30, noise=0.2)
    by_order, _ = assignment_descent(source, target, None, 1)
    solved, _ = assignment_descent(source, target, np.full((30, 30), 1 / 30), 1)
    np.testing.assert_array_equal(by_order, solved)
