from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from podium.baselines.bpg_full.method import run as bpg_full
from podium.baselines.sparse_bapg.method import run as sparse_bapg
from podium.baselines.sparse_cg.method import run as sparse_cg
from podium.benchmarks.gw_alignment import generate
from podium.contracts import Problem
from podium.errors import InputError
from podium.methods.lobcd_gw.method import run as lobcd_gw
from podium.metrics.alignment import marginal_gap

SOLVERS = [lobcd_gw, bpg_full, sparse_cg, sparse_bapg]


class Recording:
    """A context that keeps the learning curve."""

    device = "cpu"

    def __init__(self) -> None:
        self.curve: list[dict[str, float]] = []

    def log(self, step: int, **values: float) -> None:
        assert step == len(self.curve)
        self.curve.append(values)

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say nothing."""


def _problem(*matrices: Any) -> Problem:
    public: dict[str, Any] = {}
    for side, matrix in zip(("source", "target"), matrices, strict=True):
        size = matrix.shape[0]
        public[f"{side}_weights"] = np.full(size, 1 / size)
        if isinstance(matrix, np.ndarray):
            public[f"{side}_cost"] = matrix
        else:
            public[f"{side}_data"] = matrix.data
            public[f"{side}_indices"] = matrix.indices.astype(np.int64)
            public[f"{side}_indptr"] = matrix.indptr.astype(np.int64)
    return Problem("gw_alignment", "test", "smoke", public)


def _graphs(nodes: int, kept: int | None = None, noise: float = 0.05) -> tuple[Problem, Any]:
    rng = np.random.default_rng(nodes)
    graph = generate.powerlaw_cluster(nodes, 3, 0.3, rng)
    order = rng.permutation(nodes)[:kept]
    copy = generate.relabelled(generate.with_noise(graph, noise, rng), order)
    truth = np.full(nodes, -1)
    truth[order] = np.arange(len(order))
    return _problem(graph, copy), truth


def _clouds(points: int) -> tuple[Problem, Any]:
    rng = np.random.default_rng(points)
    cloud = generate.cloud(points, 4, 3, rng)
    order = rng.permutation(points)
    turned = (cloud @ generate.rotation(3, rng))[order]
    first, second = generate.distances(cloud), generate.distances(turned)
    return _problem(first / first.max(), second / second.max()), np.argsort(order)


def _plan(prediction: Any, problem: Problem) -> Any:
    if "coupling" in prediction:
        assert set(prediction) == {"coupling"}
        return prediction["coupling"]
    assert set(prediction) == {"rows", "columns", "values"}
    assert prediction["rows"].dtype == prediction["columns"].dtype == np.int64
    plan = np.zeros((problem.public["source_weights"].size, problem.public["target_weights"].size))
    plan[prediction["rows"], prediction["columns"]] = prediction["values"]
    return plan


def _gap(plan: Any, problem: Problem) -> float:
    return marginal_gap(plan, problem.public["source_weights"], problem.public["target_weights"])


@pytest.mark.parametrize("start", ["uniform", "degree"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("make", [_graphs, _clouds])
def test_plans_are_feasible(
    solver: Callable[..., Any], start: str, make: Callable[..., Any]
) -> None:
    problem, _ = make(60)
    plan = _plan(solver(problem, Recording(), start=start), problem)
    assert np.isfinite(plan).all()
    assert plan.min() >= 0
    assert _gap(plan, problem) <= 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_unequal_sizes_get_feasible_plans(solver: Callable[..., Any]) -> None:
    problem, truth = _graphs(100, kept=90, noise=0.0)
    plan = _plan(solver(problem, Recording()), problem)
    assert plan.shape == (100, 90)
    assert plan.min() >= 0
    assert _gap(plan, problem) <= 1e-9
    if solver in (lobcd_gw, bpg_full):
        assert (plan.argmax(axis=1) == truth)[truth >= 0].mean() > 0.7


@pytest.mark.parametrize("solver", [lobcd_gw, bpg_full])
@pytest.mark.parametrize("make", [_graphs, _clouds])
def test_the_match_is_found(solver: Callable[..., Any], make: Callable[..., Any]) -> None:
    problem, truth = make(200)
    context = Recording()
    plan = _plan(solver(problem, context), problem)
    assert (plan.argmax(axis=1) == truth).mean() >= 0.97
    assert context.curve[-1]["objective"] < 0
    assert {"objective", "rows"} <= set(context.curve[0])


def test_localisation_moves_few_rows_and_its_twin_moves_all() -> None:
    problem, _ = _graphs(300, noise=0.1)
    rows: dict[Any, set[float]] = {}
    for solver in (lobcd_gw, bpg_full):
        context: Any = Recording()
        solver(problem, context)
        rows[solver] = {value["rows"] for value in context.curve}
    assert rows[bpg_full] == {300}
    assert min(rows[lobcd_gw]) < 0.3 * 300


@pytest.mark.parametrize("solver", SOLVERS)
def test_bad_input_is_named(solver: Callable[..., Any]) -> None:
    problem, _ = _graphs(30)
    for changes, word in (
        ({"source_weights": np.full(30, 0.5)}, "sum to 1"),
        ({"source_weights": np.full(29, 1 / 29)}, "length"),
        ({"target_data": np.full(len(problem.public["target_data"]), np.nan)}, "finite"),
    ):
        faulty = Problem("gw_alignment", "test", "smoke", {**problem.public, **changes})
        with pytest.raises(InputError, match=word):
            solver(faulty, Recording())


def test_an_assignment_refuses_unequal_weights() -> None:
    problem, _ = _graphs(30)
    context: Any = Recording()
    mass = np.arange(1.0, 31.0)
    public = {**problem.public, "source_weights": mass / mass.sum()}
    with pytest.raises(InputError, match="equal weight"):
        sparse_cg(Problem("gw_alignment", "test", "smoke", public), context)
