from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.metrics.alignment import marginal_gap
from podium.transport.costs import Cost, start
from podium.transport.descent import Block, Settings, freeze
from podium.transport.products import Pair
from podium.transport.solver import Descent, Options
from podium.transport.torch_products import TorchPair

# Scaling carried to convergence: what is exact in theory must be so here.
EXACT = Settings(step=30.0, scalings=5000, tolerance=1e-14)
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def _graphs(graph_pair: Callable[..., Any], nodes: int = 60) -> tuple[Cost, Cost]:
    graph, copy, _ = graph_pair(nodes=nodes, noise=0.1)
    return Cost(graph).normalised(), Cost(copy).normalised()


def _whole(source: Cost, target: Cost, seed: int = 0) -> Block:
    """Return everything as a block, at a feasible plan that is not symmetric in any way."""
    n, m = source.size, target.size
    rng = np.random.default_rng(seed)
    a, b = rng.random(n) + 0.5, rng.random(m) + 0.5
    b *= a.sum() / b.sum()
    pair = Pair(source.cast("float64"), target.cast("float64"))
    plan = rng.random((n, m)) + 0.1
    pair.scale(plan, a, b, 5000, 1e-14)
    whole = Block(pair, plan, a, b, np.zeros(m))
    whole.refresh()
    return whole


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("sparse", [True, False])
def test_cross_is_the_product_of_the_three(
    dtype: str, sparse: bool, graph_pair: Callable[..., Any]
) -> None:
    source, target = _graphs(graph_pair, 150)
    target = target.block(np.arange(130))
    a, b = source.dense(), target.dense()
    plan = np.random.default_rng(0).random((150, 130)).astype(dtype)
    if sparse:
        pair = Pair(source.cast(dtype), target.cast(dtype))
    else:
        pair = Pair(a.astype(dtype), b.astype(dtype))
    found = pair.cross(plan)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, a @ plan @ b, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_a_block_that_holds_everything_takes_the_full_step(
    graph_pair: Callable[..., Any],
) -> None:
    full = _whole(*_graphs(graph_pair))
    block = freeze(full, np.arange(60), np.arange(60))
    for _ in range(4):
        assert full.advance(EXACT)
        assert block.advance(EXACT)
        np.testing.assert_allclose(block.plan, full.plan, rtol=0, atol=1e-12)
    assert block.objective == pytest.approx(full.objective, rel=1e-12)


def test_the_frozen_cross_term_makes_the_gradient_of_a_block_exact(
    graph_pair: Callable[..., Any],
) -> None:
    whole = _whole(*_graphs(graph_pair))
    rows, columns = np.arange(5, 40), np.arange(10, 35)
    block = freeze(whole, rows, columns)
    for _ in range(3):
        assert block.advance(EXACT)
        plan = whole.pair.put(whole.plan, rows, columns, block.plan)
        gain = whole.pair.cross(plan)
        np.testing.assert_allclose(block.gain, gain[np.ix_(rows, columns)], rtol=0, atol=1e-12)
        assert block.objective == pytest.approx(-np.vdot(gain, plan), rel=1e-12)
    # Without it the gradient is another one.
    alone = block.pair.cross(block.plan)
    assert np.abs(alone - block.gain).max() > 1e-3


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 29), st.integers(1, 29))
def test_marginals_are_exact_after_compensation(seed: int, rows: int, columns: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.random((30, 30))
    cost = Cost((matrix + matrix.T) / 60)
    whole = _whole(cost, cost, seed)
    at = np.sort(rng.permutation(30)[:rows]), np.sort(rng.permutation(30)[:columns])
    block = freeze(whole, *at)
    block.advance(EXACT)
    plan = whole.pair.put(whole.plan, *at, block.plan)
    assert plan.min() > 0
    assert marginal_gap(plan, whole.a, whole.b) < 1e-10 * whole.a.sum()


@pytest.mark.parametrize("step", [1.0, 30.0, 1000.0])
@pytest.mark.parametrize("kind", ["graphs", "indefinite"])
def test_the_objective_falls_at_every_accepted_step(
    step: float, kind: str, graph_pair: Callable[..., Any]
) -> None:
    source, target = _graphs(graph_pair)
    if kind == "indefinite":
        rng = np.random.default_rng(3)
        source, target = (Cost(m + m.T) for m in rng.normal(size=(2, 60, 60)) / 20)
    whole = _whole(source, target)
    values = [whole.objective]
    while len(values) < 15 and whole.advance(Settings(step, 5000, 1e-13)):
        values.append(whole.objective)
        assert whole.objective == pytest.approx(
            -np.vdot(source.dense() @ whole.plan @ target.dense(), whole.plan), rel=1e-10
        )
    assert len(values) > 3
    # Scaling is carried to convergence: rounding alone may raise it.
    assert np.diff(values).max() <= 1e-13 * abs(values[-1])
    assert values[-1] < values[0]


def test_a_step_that_would_raise_the_objective_is_shortened() -> None:
    # -<A X B, X> is convex along this direction, and a long step jumps over the minimum.
    source, target = Cost(np.diag([1.0, -1.0])), Cost(np.array([[0.0, 1.0], [1.0, 0.0]]))
    pair = Pair(source.cast("float64"), target.cast("float64"))
    plan = np.array([[0.9, 0.1], [0.1, 0.9]])
    whole = Block(pair, plan, np.ones(2), np.ones(2), np.zeros(2))
    whole.refresh()
    before = whole.objective
    whole.advance(EXACT)
    assert whole.objective <= before + 1e-12


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("sparse", [True, False])
def test_torch_takes_the_same_steps(
    device: str, sparse: bool, graph_pair: Callable[..., Any]
) -> None:
    source, target = _graphs(graph_pair, 80)
    first, second = source.cast("float64"), target.cast("float64")
    if not sparse:
        first, second = first.toarray(), second.toarray()
    numpy, torch = Pair(first, second), TorchPair(first, second, device)
    rng = np.random.default_rng(0)
    plan, mass = rng.random((80, 80)), np.ones(80)
    numpy.scale(plan, mass, mass, 1000, 1e-13)
    blocks = []
    backwards = np.arange(80)[::-1].copy()
    for pair in (numpy, torch):
        array: Any = pair.array
        whole = Block(pair, array(plan), array(mass), array(mass), array(0 * mass))
        whole.refresh()
        whole.advance(EXACT)
        block = freeze(whole, np.arange(50), np.arange(20, 80))
        block.advance(EXACT)
        put: Any = pair.put
        whole.plan = put(whole.plan, np.arange(50), np.arange(20, 80), block.plan)
        blocks.append(pair.numpy(whole.plan))
        assert np.array_equal(pair.largest(whole.plan), blocks[-1].argmax(axis=1))
        held = pair.entries(whole.plan, backwards)
        np.testing.assert_array_equal(held, blocks[-1][np.arange(80), backwards])
        np.testing.assert_allclose(
            pair.column_sums(whole.plan, np.arange(7)), blocks[-1][:7].sum(axis=0)
        )
    np.testing.assert_allclose(blocks[0], blocks[1], rtol=0, atol=1e-11)


def test_full_descent_makes_one_product_a_step(
    graph_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, copy, _ = graph_pair(nodes=200, noise=0.05, family="ba")
    mass = np.full(200, 1 / 200)
    source, target = Cost(graph), Cost(copy)
    made = {"cross": 0, "mirror": 0}

    def counted(name: str) -> Callable[..., Any]:
        method = getattr(Pair, name)

        def call(*arguments: Any) -> Any:
            made[name] += 1
            return method(*arguments)

        return call

    for name in made:
        monkeypatch.setattr(Pair, name, counted(name))
    descent = Descent(
        source.normalised(),
        target.normalised(),
        mass,
        mass,
        start("uniform", source, target, mass, mass),
        Options(localise=False, rounds=1),
    )
    descent.run()
    # One for the start, one for each step that was tried, and none for cutting out a block.
    assert made["mirror"] >= len(descent.trace) > 3
    assert made["cross"] == 1 + made["mirror"]


@pytest.mark.parametrize("localise", [True, False])
def test_localised_and_full_descent_end_alike(
    localise: bool, graph_pair: Callable[..., Any]
) -> None:
    graph, copy, truth = graph_pair(nodes=300, noise=0.05, family="ba")
    mass = np.full(300, 1 / 300)
    source, target = Cost(graph), Cost(copy)
    descent = Descent(
        source.normalised(),
        target.normalised(),
        mass,
        mass,
        start("uniform", source, target, mass, mass),
        Options(localise=localise),
    )
    descent.run()
    assert (descent.plan().argmax(axis=1) == truth).mean() >= 0.98
    np.testing.assert_allclose(descent.plan().sum(axis=1), mass, rtol=1e-4)
    sizes = {step.rows for step in descent.trace}
    assert (sizes != {300}) == localise
