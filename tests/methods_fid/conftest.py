"""The mixture problem of FID-50K, built once, and a way to run an entry on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Arrays, Instance, Prediction, Problem, Recipe, Scores
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK, PROBLEM = "fid_50k", "mixture-8d"
QUICK: dict[str, dict[str, Any]] = {
    "distribution_reward": {"updates": 3, "subsets": 12, "reference": 200},
    "sample_reward": {"updates": 3, "subsets": 12},
    "reward_sampling": {"rounds": 1, "subsets": 100, "reference": 200, "updates": 4},
    "frechet_backprop": {"updates": 2, "batch": 32},
    "rl_ema_merge": {"updates": 2, "candidates": 3, "size": 20, "reference": 200},
    "fixed_ema": {},
    "best_checkpoint": {"pictures": 800},
}
"""Settings that take a second or two."""


@dataclass
class Drawing:
    """A context of one seed that keeps the learning curve."""

    seed: int = 0
    device: str = "cpu"
    points: list[dict[str, float]] = field(default_factory=list)

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of the seed and ``name``."""
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        """Return a torch generator drawn in the same way."""
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        """Keep a point."""
        assert step >= 0
        self.points.append(values)

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Check what would be shown."""
        assert 0 <= done <= total
        assert note


@cache
def registry() -> Registry:
    return load_registry(plugins=False)


@cache
def parts() -> tuple[Recipe, Any, Instance]:
    task = registry().task(TASK)
    recipe = Recipe(TASK, PROBLEM, "smoke", task.spec.problem(PROBLEM).params, 0)
    module = load_module(task.at, task.spec.module)
    return recipe, module, module.build(recipe, RunBuildContext(recipe, task.spec.files))


def run_entry(
    entry: str, context: Drawing | None = None, public: Arrays | None = None, **changes: Any
) -> Prediction:
    found = registry().entry(entry)
    method = load_function(found.at, found.spec.file.function)
    problem = Problem(TASK, PROBLEM, "smoke", public or parts()[2].public)
    prediction: Prediction = method(
        problem, context or Drawing(), **{**found.spec.config, **changes}
    )
    return prediction


def scores_of(prediction: Prediction) -> Scores:
    recipe, module, instance = parts()
    scores: Scores = module.score(prediction, instance, recipe)
    return scores


@pytest.fixture
def public() -> Arrays:
    return parts()[2].public


@pytest.fixture
def run() -> Callable[..., Prediction]:
    return run_entry


@pytest.fixture
def score() -> Callable[[Prediction], Scores]:
    return scores_of


@pytest.fixture
def drawing() -> type[Drawing]:
    return Drawing


@pytest.fixture
def quick() -> dict[str, dict[str, Any]]:
    return QUICK
