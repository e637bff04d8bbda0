"""The trained judges as declared, on the small synthetic grader."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Arrays, Prediction, Problem, Recipe
from podium.errors import InputError
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK, PROBLEM = "judge_correlation", "synthetic-grader-small"
REINFORCED = ("real", "real_released", "real_no_refinement", "binary_rl")
ENTRIES = (*REINFORCED, "tract", "raft", "sft_cross_entropy")


class Drawing:
    """A context of one seed that checks what it is told."""

    device = "cpu"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        assert step >= 0
        assert np.isfinite(list(values.values())).all()

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note


@cache
def registry() -> Registry:
    return load_registry(plugins=False)


@cache
def public() -> Arrays:
    task = registry().task(TASK)
    recipe = Recipe(TASK, PROBLEM, "smoke", task.spec.problem(PROBLEM).params, 0)
    build = load_module(task.at, task.spec.module).build
    arrays: Arrays = build(recipe, RunBuildContext(recipe, task.spec.files)).public
    return arrays


def judged(entry: str, seed: int = 0, arrays: Arrays | None = None, **changes: Any) -> Prediction:
    found = registry().entry(entry)
    method = load_function(found.at, found.spec.file.function)
    problem = Problem(TASK, PROBLEM, "smoke", arrays or public())
    config = {**found.spec.config, **quick(entry), **changes}
    prediction: Prediction = method(problem, Drawing(seed), **config)
    return prediction


def defaults(entry: str) -> dict[str, Any]:
    found = registry().entry(entry)
    given = inspect.signature(load_function(found.at, found.spec.file.function)).parameters
    own = {n: p.default for n, p in given.items() if p.kind is p.KEYWORD_ONLY}
    return {**own, **found.spec.config}


def quick(entry: str) -> dict[str, int]:
    small = {"steps": 3, "warm_steps": 3, "batch": 16}
    return {name: value for name, value in small.items() if name in defaults(entry)}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_judge_answers_with_a_distribution_and_its_seed_matters(entry: str) -> None:
    found = judged(entry)
    levels = public()["levels"]
    np.testing.assert_array_equal(found["ids"], public()["ids"])
    np.testing.assert_allclose(found["distribution"].sum(1), 1, atol=1e-9)
    np.testing.assert_allclose(found["scores"], found["distribution"] @ levels)
    assert found["scores"].std() > 0
    again, other = judged(entry), judged(entry, seed=1)
    np.testing.assert_allclose(found["scores"], again["scores"], rtol=1e-6)
    assert (found["scores"] != other["scores"]).any()


def test_reinforced_judges_have_one_warm_start() -> None:
    start = judged("real", steps=0)["distribution"]
    for entry in REINFORCED[1:]:
        np.testing.assert_array_equal(judged(entry, steps=0)["distribution"], start)
    assert (judged("real")["distribution"] != start).any()


def test_all_judges_have_the_same_network_and_budget() -> None:
    given = {entry: defaults(entry) for entry in ENTRIES}
    real = given["real"]
    tuned = {"learning_rate", "dropout"}
    for entry, own in given.items():
        for name in set(own) & set(real) - tuned - {"form", "refinement", "steps"}:
            assert own[name] == real[name], (entry, name)
        steps = own["steps"] + own.get("warm_steps", 0)
        assert steps == real["steps"] + real["warm_steps"], entry


@pytest.mark.parametrize("entry", ["raft", "sft_cross_entropy", "tract", "real"])
def test_judges_learn_an_easy_scale(entry: str) -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(400, 1, 16)).astype(np.float32)
    # The first number decides: a linear judge would do.
    scores = np.clip(np.rint(5.5 + 2 * vectors[:, 0, 0]), 1, 10).astype(np.float64)
    arrays = {k: v for k, v in public().items() if k != "train_reasoning"}
    arrays |= {"train_features": vectors[:300], "train_scores": scores[:300]}
    arrays |= {"train_lengths": np.ones(300, np.int64), "features": vectors[300:]}
    arrays |= {"ids": np.arange(100).astype(str), "lengths": np.ones(100, np.int64)}
    changes = {"warm_steps": 40, "steps": 40} if entry in ("tract", "real") else {"steps": 80}
    found = judged(entry, arrays=arrays, **changes, batch=32)
    assert np.corrcoef(found["scores"], scores[300:])[0, 1] > 0.8


def test_a_training_that_diverges_says_so() -> None:
    with pytest.raises(InputError, match="diverged"):
        judged("raft", learning_rate=1e30)


def test_bad_arguments_are_named() -> None:
    for changes in ({"form": "code"}, {"strength": -1.0}, {"refinement": float("inf")}):
        with pytest.raises(InputError, match=next(iter(changes))):
            judged("real", **changes)
