"""The rule by which plans come to rest, and POT called for a few steps at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from podium.baselines.pot_bapg import method as pot_bapg
from podium.baselines.pot_pgd import method as pot_pgd
from podium.baselines.pot_ppa import method as pot_ppa
from podium.transport.bapg import bapg
from podium.transport.costs import Cost
from podium.transport.stopping import STRIDE, Rest, in_chunks


def _pot() -> Any:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    return ot


def _graphs(graph_pair: Callable[..., Any]) -> tuple[Any, Any, Any, Any]:
    graph, copy, truth = graph_pair(nodes=150, noise=0.1, family="ba")
    mass = np.full(150, 1 / 150)
    return Cost(graph).normalised(), Cost(copy).normalised(), mass, truth


def test_rest_takes_two_calm_looks_in_succession() -> None:
    rest, still = Rest(), np.arange(2000)
    moved = still.copy()
    moved[1:4] = 0
    assert [rest.reached(x) for x in (still, still, moved, moved, moved)] == [
        False,  # nothing to compare with
        False,  # calm once
        False,  # three rows in 2000 are too many
        False,
        True,
    ]
    slow = Rest()
    few = still.copy()
    few[1] = 0
    assert [slow.reached(x) for x in (still, few, few)] == [False, False, True]


@pytest.mark.parametrize("name", ["bapg", "pgd", "ppa"])
def test_chunks_are_the_steps_of_one_call(name: str, graph_pair: Callable[..., Any]) -> None:
    ot = _pot()
    source, target, mass, _ = _graphs(graph_pair)

    def advance(plan: Any, steps: int) -> Any:
        common: dict[str, Any] = {"symmetric": True, "G0": plan, "max_iter": steps, "tol": 0.0}
        solve = ot.gromov.BAPG_gromov_wasserstein
        if name != "bapg":
            solve = ot.gromov.entropic_gromov_wasserstein
            common |= {"solver": name.upper(), "numItermax": 20, "warn": False}
        return solve(source.dense(), target.dense(), mass, mass, epsilon=0.02 / 150, **common)

    # At rest at the third look at the earliest.
    steps = 3 * STRIDE - 1
    first = np.outer(mass, mass)
    np.testing.assert_array_equal(
        in_chunks(advance, first, steps=steps, tolerance=0.0), advance(first, steps)
    )


def test_chunks_end_at_rest_by_the_tolerance_or_on_what_is_not_finite() -> None:
    calls: list[int] = []

    def towards(limit: Any, share: float) -> Callable[[Any, int], Any]:
        def advance(plan: Any, steps: int) -> Any:
            calls.append(steps)
            return plan + share * (limit - plan)

        return advance

    far = np.eye(5)[::-1] / 5
    for advance, tolerance, expected in (
        (towards(far, 0.9), 0.0, [STRIDE] * 3),
        (towards(far, 1.0), 1e-9, [STRIDE] * 2),
        (towards(far * np.nan, 1.0), 1e-9, [STRIDE]),
        (towards(far, 1e-3), 0.0, [STRIDE, 2]),
    ):
        calls.clear()
        steps = sum(expected) if expected[-1] == 2 else 100
        in_chunks(advance, np.eye(5) / 5, steps=steps, tolerance=tolerance)
        assert calls == expected


def test_pot_and_sparse_bapg_stop_at_the_same_step(graph_pair: Callable[..., Any]) -> None:
    ot = _pot()
    source, target, mass, truth = _graphs(graph_pair)
    first = np.outer(mass, mass)
    taken: list[int] = []

    def advance(plan: Any, steps: int) -> Any:
        taken.append(steps)
        return ot.gromov.BAPG_gromov_wasserstein(
            source.dense(),
            target.dense(),
            mass,
            mass,
            epsilon=0.02 / 150,
            symmetric=True,
            G0=plan,
            max_iter=steps,
        )

    theirs = in_chunks(advance, first, steps=1000, tolerance=1e-9)
    ours = bapg(
        source,
        target,
        mass,
        mass,
        first,
        epsilon=0.02 / 150,
        steps=1000,
        tolerance=1e-9,
        marginal_terms=False,
        until_rest=True,
        dtype="float64",
    )
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-10)
    assert sum(taken) < 100
    assert (theirs.argmax(axis=1) == truth).mean() > 0.9


@pytest.mark.parametrize("method", [pot_bapg, pot_pgd, pot_ppa])
def test_pot_stops_on_graphs_once_the_rows_are_at_rest(
    method: Any, graph_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from podium.contracts import Problem

    ot = _pot()
    graph, copy, truth = graph_pair(nodes=150, noise=0.1, family="ba")
    public: dict[str, Any] = {}
    for side, matrix in (("source", graph), ("target", copy)):
        public[f"{side}_weights"] = np.full(150, 1 / 150)
        public[f"{side}_data"] = matrix.data
        public[f"{side}_indices"] = matrix.indices.astype(np.int64)
        public[f"{side}_indptr"] = matrix.indptr.astype(np.int64)
    name = "BAPG_gromov_wasserstein" if method is pot_bapg else "entropic_gromov_wasserstein"
    solve = getattr(ot.gromov, name)
    taken: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        taken.append(kwargs["max_iter"])
        return solve(*args, **kwargs)

    monkeypatch.setattr(ot.gromov, name, counted)

    class Silent:
        def progress(self, done: float, total: float, note: str = "") -> None:
            """Say nothing."""

    context: Any = Silent()
    plan: Any = method.run(Problem("gw_alignment", "test", "smoke", public), context)["coupling"]
    assert set(taken) == {STRIDE}
    assert (plan.argmax(axis=1) == truth).mean() > 0.9
