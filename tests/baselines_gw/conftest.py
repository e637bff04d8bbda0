"""Small spaces with a known match, and what a method is given to run on them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from podium.benchmarks.gw_alignment import generate, task
from podium.check.states import read_states, touched
from podium.contracts import Array, Instance, Param, Problem, Recipe
from podium.seeding import generator

MakeInstance = Callable[..., Instance]
Solve = Callable[..., Array]


class SilentContext:
    """One seed, and reports that are only checked for their form."""

    device = "cpu"
    threads = 1
    scratch = Path("unused")
    budget_left = float("inf")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> Any:
        raise AssertionError(f"no entry here uses torch: {name} {device}")

    def log(self, step: int, **values: float) -> None:
        assert step >= 0
        assert values

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"plans are small: {name} {chunk.shape}")


class PlainBuildContext:
    """Generators of one seed; no files."""

    files: Any = None

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)


@pytest.fixture
def make_instance() -> MakeInstance:
    """Build a tiny problem by its parameters; by default a graph without noise."""

    def make(seed: int = 0, **changes: Any) -> Instance:
        params: dict[str, Param] = {
            "data": "powerlaw_cluster",
            "nodes": 150,
            "edges": 3,
            "triangles": 0.3,
            "noise": 0.0,
            "rule": "node",
        }
        if changes.get("data") == "cloud":
            params = {"points": 40, "clusters": 4, "dimensions": 3, "rule": "node"}
        recipe = Recipe("gw_alignment", "test", "smoke", {**params, **changes}, seed)
        return task.build(recipe, PlainBuildContext(seed))

    return make


@pytest.fixture
def unequal() -> Instance:
    """Two graphs of different sizes: 30 nodes, and 40 of which the first 30 are theirs."""
    rng = np.random.default_rng(0)
    large = generate.barabasi_albert(40, 3, rng)
    small = large[:30][:, :30].tocsr()
    public: dict[str, Array] = {}
    for side, graph in (("source", small), ("target", large)):
        size = graph.shape[0]
        public |= {
            f"{side}_data": graph.data,
            f"{side}_indices": graph.indices.astype(np.int64),
            f"{side}_indptr": graph.indptr.astype(np.int64),
            f"{side}_weights": np.full(size, 1 / size),
        }
    return Instance(public=public, hidden={})


@pytest.fixture
def solve() -> Solve:
    """Run a method and return its plan, dense."""

    def run(method: ModuleType, instance: Instance, *, seed: int = 0, **config: Any) -> Array:
        for array in instance.public.values():
            array.setflags(write=False)
        problem = Problem("gw_alignment", "test", "smoke", instance.public)
        import_module("podium.transport.pot")  # what libraries do as they load is their own
        before = read_states()
        prediction = method.run(problem, SilentContext(seed), **config)
        assert touched(before, read_states()) == []
        n, m = (instance.public[f"{side}_weights"].size for side in ("source", "target"))
        plan = task.read_coupling(prediction, n, m)
        return plan if isinstance(plan, np.ndarray) else np.asarray(plan.toarray())

    return run
