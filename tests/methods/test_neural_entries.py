"""Every neural entry, as declared, run as the worker runs it on the task's smoke problems."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import spearmanr

from podium.contracts import Instance, Problem, Recipe
from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext, RunContext

TASK = "granger_recovery"
KINDS = {
    "info_shap": "reference",
    "info_shap_fast": "reference",
    "info_shap_jacobian_readout": "control",
    "jacobian_l1": "baseline",
    "jacobian_frobenius": "baseline",
    "unregularised": "baseline",
    "cmlp": "baseline",
}


@cache
def registry() -> Registry:
    return load_registry(plugins=False)


@cache
def built(problem_id: str, seed: int) -> tuple[Recipe, Instance]:
    task = registry().task(TASK)
    spec: TaskSpec = task.spec
    problem = spec.problem(problem_id)
    recipe = Recipe(task=TASK, problem=problem_id, tier="smoke", params=problem.params, seed=seed)
    instance = load_module(task.at, spec.module).build(recipe, RunBuildContext(recipe, spec.files))
    return recipe, instance


@cache
def scores_of(entry_id: str, problem_id: str, seed: int = 0) -> npt.NDArray[np.float64]:
    task, entry = registry().task(TASK), registry().entry(entry_id)
    recipe, instance = built(problem_id, seed)
    run = RunSpec(
        key="0",
        key_parts={},
        task=TASK,
        task_version=1,
        task_at=task.at,
        problem=problem_id,
        params=dict(recipe.params),
        tier="smoke",
        entry=entry_id,
        entry_id=entry_id,
        entry_at=entry.at,
        kind=entry.spec.kind,
        origin=entry.origin,
        function=entry.spec.file.function,
        preload=entry.spec.file.preload,
        requires=(),
        extra=None,
        config=entry.spec.config,
        overrides={},
        seed=seed,
    )
    context = RunContext(run, Path(), Path())
    problem = Problem(TASK, problem_id, "smoke", instance.public)
    method = load_function(entry.at, entry.spec.file.function)
    scores: npt.NDArray[np.float64] = method(problem, context, **entry.spec.config)["scores"]
    return scores


def auroc(entry_id: str, problem_id: str) -> float:
    recipe, instance = built(problem_id, 0)
    module = load_module(registry().task(TASK).at, "task")
    scored = module.score({"scores": scores_of(entry_id, problem_id)}, instance, recipe)
    return float(scored["auroc"])


@pytest.mark.parametrize(("entry_id", "kind"), KINDS.items())
def test_declared_and_configurable(entry_id: str, kind: str) -> None:
    entry = registry().entry(entry_id)
    assert entry.spec.kind == kind
    assert entry.spec.file.tasks == (TASK,)
    assert entry.spec.file.preload == ("torch",)
    signature = inspect.signature(load_function(entry.at, entry.spec.file.function))
    assert set(entry.spec.config) <= set(signature.parameters)


def test_every_entry_has_the_same_training_and_size_of_grid() -> None:
    shared, grids = set(), set()
    for entry_id in KINDS:
        entry = registry().entry(entry_id)
        parameters = inspect.signature(load_function(entry.at, "method:run")).parameters
        # The rate and the first scale are tuned, each entry on the same grid and budget.
        names = ("lags", "hidden", "steps", "validation", "restarts")
        shared.add(tuple(parameters[name].default for name in names))
        if "penalties" in parameters:
            grids.add(len(parameters["penalties"].default))
    assert len(shared) == 1
    assert grids == {5}


@pytest.mark.parametrize("entry_id", KINDS)
def test_scores_are_finite_and_of_the_right_shape(entry_id: str) -> None:
    scores = scores_of(entry_id, "lorenz96-d6-smoke")
    assert scores.shape == (6, 6)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()


def test_the_seed_matters() -> None:
    assert not np.array_equal(
        scores_of("unregularised", "lorenz96-d6-smoke", 0),
        scores_of("unregularised", "lorenz96-d6-smoke", 1),
    )


@pytest.mark.parametrize("entry_id", ["info_shap", "jacobian_l1"])
def test_penalties_of_the_l1_kind_recover_lorenz(entry_id: str) -> None:
    assert auroc(entry_id, "lorenz96-d6-smoke") > 0.9
    assert auroc(entry_id, "lorenz96-d6-smoke") > auroc("unregularised", "lorenz96-d6-smoke") + 0.1


def test_readouts_of_one_training_differ_but_agree() -> None:
    shap = scores_of("info_shap", "lorenz96-d6-smoke")
    jacobian = scores_of("info_shap_jacobian_readout", "lorenz96-d6-smoke")
    assert not np.allclose(shap, jacobian)
    assert spearmanr(shap.ravel(), jacobian.ravel()).statistic > 0.9


@pytest.mark.parametrize("entry_id", KINDS)
def test_a_linear_system_is_recovered_better_than_by_chance(entry_id: str) -> None:
    assert auroc(entry_id, "var3-d5-smoke") > 0.7
