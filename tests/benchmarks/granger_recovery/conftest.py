"""A built problem without the engine: the declared task and a plain context."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from podium.benchmarks import granger_recovery
from podium.benchmarks.granger_recovery import task
from podium.contracts import Instance, Recipe
from podium.data.resolver import Resolver
from podium.declarations.task import TaskSpec
from podium.errors import MissingError
from podium.seeding import generator

Build = Callable[[str, int], tuple[Recipe, Instance]]


class PlainBuildContext:
    """The task's files, and generators of one seed and problem."""

    def __init__(self, spec: TaskSpec, seed: int, problem: str) -> None:
        self.files = Resolver(spec.files)
        self._seed = seed
        self._names = (spec.id, problem)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._seed, *self._names, name)


@pytest.fixture(scope="session")
def spec() -> TaskSpec:
    path = Path(granger_recovery.__file__).parent / "task.toml"
    return msgspec.toml.decode(path.read_bytes(), type=TaskSpec)


@pytest.fixture
def build_problem(spec: TaskSpec, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Build a declared problem; skip the test where its published series are not at hand."""
    monkeypatch.setenv("PODIUM_OFFLINE", "1")

    def build(problem: str, seed: int) -> tuple[Recipe, Instance]:
        declared = spec.problem(problem)
        recipe = Recipe(spec.id, problem, declared.tiers[0], declared.params, seed)
        try:
            return recipe, task.build(recipe, PlainBuildContext(spec, seed, problem))
        except MissingError as error:
            pytest.skip(error.what)

    return build
