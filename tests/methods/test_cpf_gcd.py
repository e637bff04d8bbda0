"""CPF-GCD and the trained entries beside it, as declared, on a small problem of composed parts."""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Prediction, Problem, Recipe
from podium.errors import InputError
from podium.metrics.discovery import Accuracies, accuracies
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK = "gcd_accuracy"
KINDS = {
    "cpf_gcd": "reference",
    "cpf_kmeans": "reference",
    "cpf_gcd_no_prior": "control",
    "cpf_gcd_no_data": "control",
    "cpf_gcd_no_weights": "control",
    "simgcd": "baseline",
    "legogcd": "baseline",
    "slot_attention": "baseline",
    "token_mlp": "control",
    "token_mlp_kmeans": "control",
}
ABLATIONS = ("cpf_gcd_no_prior", "cpf_gcd_no_data", "cpf_gcd_no_weights")


@dataclass
class Drawing:
    """A context of one seed that keeps the learning curve."""

    seed: int = 0
    device: str = "cpu"
    points: list[dict[str, float]] = field(default_factory=list)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        assert step >= 0
        self.points.append(values)

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note


@cache
def registry() -> Registry:
    return load_registry(plugins=False)


@cache
def built() -> tuple[Problem, Any, int]:
    name = "parts-composition-smoke"
    task = registry().task(TASK)
    params = task.spec.problem(name).params
    recipe = Recipe(TASK, name, "smoke", params, 0)
    build = load_module(task.at, task.spec.module).build
    instance = build(recipe, RunBuildContext(recipe, task.spec.files))
    old = int(instance.public["labels"].max()) + 1
    return Problem(TASK, name, "smoke", instance.public), instance.hidden["truth"], old


def run(entry_id: str, context: Drawing, **changes: Any) -> Prediction:
    entry = registry().entry(entry_id)
    method = load_function(entry.at, entry.spec.file.function)
    found: Prediction = method(built()[0], context, **{**entry.spec.config, **changes})
    return found


@cache
def trained(entry_id: str) -> Prediction:
    return run(entry_id, Drawing(), steps=60, batch=64)


def reached(entry_id: str) -> Accuracies:
    _, truth, old = built()
    return accuracies(trained(entry_id)["clusters"], truth, old)


def arguments(entry_id: str) -> dict[str, Any]:
    """The effective configuration: the defaults, and what the entry changes."""
    entry = registry().entry(entry_id)
    parameters = inspect.signature(load_function(entry.at, "method:run")).parameters
    defaults = {
        name: p.default
        for name, p in parameters.items()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert set(entry.spec.config) <= set(defaults)
    return {**defaults, **entry.spec.config}


@pytest.mark.parametrize(("entry_id", "kind"), KINDS.items())
def test_declared_and_configurable(entry_id: str, kind: str) -> None:
    entry = registry().entry(entry_id)
    assert entry.spec.kind == kind
    assert entry.spec.file.tasks == (TASK,)
    assert "torch" in entry.spec.file.preload
    assert set(entry.spec.file.devices) == {"cpu", "cuda"}
    assert arguments(entry_id)


def test_every_entry_is_trained_as_long_as_the_others() -> None:
    # The rate, the entropy's weight and the share of tokens kept are tuned, on the same budget.
    names = ("epochs", "steps", "batch", "weight_decay", "width", "noise", "dropout")
    shared = {tuple(arguments(entry_id)[name] for name in names) for entry_id in KINDS}
    assert len(shared) == 1
    for ablation in ABLATIONS:
        different = {
            name
            for name, value in arguments(ablation).items()
            if value != arguments("cpf_gcd")[name]
        }
        assert len(different) == 1, (ablation, different)


def test_the_control_is_sized_by_the_module_it_stands_for() -> None:
    for control, module in (("token_mlp", "cpf_gcd"), ("token_mlp_kmeans", "cpf_kmeans")):
        for name in ("primitives", "heads", "host"):
            assert arguments(control)[name] == arguments(module)[name]


@pytest.mark.parametrize("entry_id", KINDS)
def test_predictions_keep_the_contract(entry_id: str) -> None:
    problem, truth, _ = built()
    found = trained(entry_id)
    assert found["clusters"].dtype == np.int64
    assert found["clusters"].shape == truth.shape
    assert set(found["clusters"]) <= set(range(int(problem.public["classes"][0])))
    for name, count in (("labelled", len(problem.public["labels"])), ("unlabelled", len(truth))):
        features = found[f"{name}_features"]
        assert features.dtype == np.float32
        assert features.shape == (count, 32)
        assert np.isfinite(features).all()


@pytest.mark.parametrize("entry_id", KINDS)
def test_better_than_chance(entry_id: str) -> None:
    _, truth, old = built()
    rng = np.random.default_rng(0)
    chance = max(accuracies(rng.integers(0, 6, len(truth)), truth, old).all for _ in range(20))
    assert reached(entry_id).all > chance + 0.1


def test_ablations_change_the_result() -> None:
    full = trained("cpf_gcd")["unlabelled_features"]
    for ablation in ABLATIONS:
        assert not np.array_equal(full, trained(ablation)["unlabelled_features"])


def test_the_same_seed_gives_the_same_result_and_another_seed_another() -> None:
    first, same, other = (
        run("cpf_gcd", Drawing(seed), steps=3, batch=16)["unlabelled_features"]
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_learning_curves_name_the_parts_of_the_loss() -> None:
    context = Drawing()
    run("cpf_gcd", context, steps=3, batch=16)
    parts = {
        "distillation",
        "entropy",
        "classification",
        "contrast",
        "supervised_contrast",
    }
    for point in context.points:
        assert set(point) == parts | {"loss"}
        total = math.fsum(point[name] for name in parts)
        assert point["loss"] == pytest.approx(total, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(
    ("entry_id", "changes", "where"),
    [
        ("cpf_gcd", {"heads": 5}, "heads"),
        ("cpf_gcd", {"primitives": 0}, "primitives"),
        ("cpf_gcd", {"prior": False, "data": False}, "prior, data"),
        ("cpf_kmeans", {"restarts": 0}, "restarts"),
        ("token_mlp", {"heads": 0}, "heads"),
        ("slot_attention", {"slots": 0}, "slots"),
        ("slot_attention", {"iterations": 0}, "iterations"),
        ("simgcd", {"steps": 0}, "steps"),
        ("legogcd", {"keep": 2.0}, "keep"),
    ],
)
def test_bad_settings_are_named(entry_id: str, changes: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError) as raised:
        run(entry_id, Drawing(), **changes)
    assert raised.value.where == where
