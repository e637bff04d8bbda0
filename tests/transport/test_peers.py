"""The sparse baselines against the solvers whose products they replace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import quadratic_assignment

from podium.errors import InputError
from podium.transport.bapg import bapg
from podium.transport.costs import Cost
from podium.transport.frank_wolfe import frank_wolfe


@pytest.mark.parametrize("marginal_terms", [True, False])
def test_bapg_takes_the_steps_of_pot(marginal_terms: bool, graph_pair: Callable[..., Any]) -> None:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    graph, copy, _ = graph_pair(nodes=80, noise=0.05)
    source, target = Cost(graph).normalised(), Cost(copy).normalised()
    rng = np.random.default_rng(0)
    a, b = rng.random(80) + 0.5, rng.random(80) + 0.5
    a, b = a / a.sum(), b / b.sum()
    plan = np.outer(a, b)
    theirs = ot.gromov.BAPG_gromov_wasserstein(
        source.dense(),
        target.dense(),
        a,
        b,
        epsilon=0.2 / 80,
        max_iter=7,
        marginal_loss=marginal_terms,
        symmetric=True,
    )
    ours = bapg(
        source,
        target,
        a,
        b,
        plan,
        epsilon=0.2 / 80,
        steps=7,
        tolerance=0.0,
        marginal_terms=marginal_terms,
        until_rest=False,
        dtype="float64",
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bapg_never_returns_zeros_or_nan(dtype: str, graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=300, family="ba")
    mass = np.full(300, 1 / 300)
    plan = bapg(
        Cost(graph),
        Cost(copy),
        mass,
        mass,
        np.outer(mass, mass),
        epsilon=1e-7,
        steps=20,
        tolerance=1e-6,
        marginal_terms=False,
        until_rest=False,
        dtype=dtype,
    )
    assert np.isfinite(plan).all()
    np.testing.assert_allclose(plan.sum(axis=0), mass, rtol=1e-4)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_bapg_in_float32_bears_costs_of_any_scale(
    scale: float, cloud_pair: Callable[..., Any]
) -> None:
    source, target, _ = cloud_pair(points=50)
    mass = np.full(50, 1 / 50)
    plans = []
    for factor in (1.0, scale):
        # The gradient goes with the square of the scale, and the step's weight with it.
        plans.append(
            bapg(
                Cost(factor * source),
                Cost(factor * target),
                mass,
                mass,
                np.outer(mass, mass),
                epsilon=0.5 * factor**2,
                steps=20,
                tolerance=0.0,
                marginal_terms=True,
                until_rest=False,
            )
        )
    assert plans[0].max() > 2 / 50**2
    np.testing.assert_allclose(plans[0], plans[1], rtol=1e-3, atol=1e-7)


def _match(plan: Any) -> Any:
    return plan.argmax(axis=1)


def test_frank_wolfe_agrees_with_scipy(graph_pair: Callable[..., Any]) -> None:
    graph, copy, truth = graph_pair(nodes=100, noise=0.02, family="ba")
    mass = np.full(100, 0.01)
    plan = frank_wolfe(
        Cost(graph), Cost(copy), mass, mass, np.outer(mass, mass), steps=100, tolerance=1e-9
    )
    theirs = quadratic_assignment(
        graph.toarray(),
        copy.toarray(),
        method="faq",
        options={"maximize": True, "maxiter": 100, "rng": np.random.default_rng(0)},
    ).col_ind
    # Ties of the assignments may end the two in different optima; here both find the same one.
    assert (_match(plan) == truth).mean() >= 0.9
    assert (_match(plan) == theirs).mean() >= 0.9


def test_frank_wolfe_takes_sparse_and_dense_costs_alike(cloud_pair: Callable[..., Any]) -> None:
    source, target, truth = cloud_pair(points=60)
    mass = np.full(60, 1 / 60)
    for first, second in (
        (Cost(source), Cost(target)),
        (Cost(Cost(source).csr()), Cost(Cost(target).csr())),
    ):
        plan = frank_wolfe(first, second, mass, mass, np.outer(mass, mass), steps=50, tolerance=0)
        np.testing.assert_array_equal(_match(plan), truth)


def test_frank_wolfe_pads_the_smaller_space(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=40)
    part = Cost(copy).block(np.arange(30))
    forty, thirty = np.full(40, 1 / 40), np.full(30, 1 / 30)
    for source, target, a, b in (
        (Cost(graph), part, forty, thirty),
        (part, Cost(graph), thirty, forty),
    ):
        plan = frank_wolfe(source, target, a, b, np.outer(a, b), steps=20, tolerance=1e-9)
        assert plan.shape == (len(a), len(b))
        assert (plan.sum(axis=1) <= a + 1e-15).all()
        assert (plan.sum(axis=0) <= b + 1e-15).all()
        assert np.count_nonzero(plan) == 30


def test_frank_wolfe_refuses_unequal_weights(graph_pair: Callable[..., Any]) -> None:
    graph, copy, _ = graph_pair(nodes=30)
    a, b = np.arange(1.0, 31.0) / 465, np.full(30, 1 / 30)
    with pytest.raises(InputError, match="equal weight"):
        frank_wolfe(Cost(graph), Cost(copy), a, b, np.outer(a, b), steps=5, tolerance=0)
