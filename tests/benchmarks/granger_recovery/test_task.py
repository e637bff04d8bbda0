"""The task: its contract, its seeds, nothing that gives the answer away, its scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from podium.benchmarks.granger_recovery import task
from podium.contracts import Instance, Recipe
from podium.declarations.task import TaskSpec
from podium.errors import InputError

Build = Callable[[str, int], tuple[Recipe, Instance]]
SIMULATED = ("var3-d5-smoke", "lorenz96-d6-smoke", "var3-d10", "lorenz96-d10-f40")
SMALL = (
    "var3-d10",
    "lorenz96-d10-f10",
    "lorenz96-d10-f40",
    "lorenz96-d20-f10",
    *(f"dream3-10-{n}" for n in ("ecoli1", "ecoli2", "yeast1", "yeast2", "yeast3")),
    "netsim-15",
)


def test_declared_problems(spec: TaskSpec) -> None:
    assert tuple(p.id for p in spec.in_tier("small")) == SMALL
    assert {p.id for p in spec.in_tier("smoke")} == {"var3-d5-smoke", "lorenz96-d6-smoke"}
    assert len(spec.in_tier("full")) == 12
    for problem in spec.problems:
        kept = problem.id.startswith(("var3", "lorenz96"))
        assert problem.params["diagonal"] == ("keep" if kept else "drop")
    for file in spec.files:
        assert file.url is not None
        assert "/main/" not in file.url


def test_gated_claims(spec: TaskSpec) -> None:
    gated = {c.id: (c.left, c.right, c.at_least, c.within) for c in spec.claims if c.gate}
    assert gated == {
        "shap-beats-frobenius": ("info_shap", "jacobian_frobenius", 0.05, None),
        "shap-beats-unregularised": ("info_shap", "unregularised", 0.10, None),
        "shap-parity-jacobian-l1": ("info_shap", "jacobian_l1", None, 0.02),
        "shap-not-below-lasso-var": ("info_shap", "lasso_var", -0.02, None),
    }
    assert all(c.min_seeds == 5 for c in spec.claims if c.gate)


@pytest.mark.parametrize("problem", [*SIMULATED, "dream3-10-ecoli1", "netsim-15"])
def test_contract(problem: str, build_problem: Build) -> None:
    _, instance = build_problem(problem, 0)
    series, lengths = instance.public["series"], instance.public["lengths"]
    assert set(instance.public) == {"series", "lengths"}
    assert series.dtype == np.float64
    assert lengths.dtype == np.int64
    assert np.isfinite(series).all()
    assert lengths.sum() == len(series)
    np.testing.assert_allclose(series.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(series.std(axis=0), 1)
    graph = instance.hidden["graph"]
    assert graph.shape == (series.shape[1],) * 2
    assert set(np.unique(graph)) == {0, 1}


@pytest.mark.parametrize("problem", SIMULATED)
def test_the_seed_decides(problem: str, build_problem: Build) -> None:
    _, first = build_problem(problem, 0)
    _, again = build_problem(problem, 0)
    _, other = build_problem(problem, 1)
    np.testing.assert_array_equal(first.public["series"], again.public["series"])
    np.testing.assert_array_equal(first.hidden["graph"], again.hidden["graph"])
    assert not np.array_equal(first.public["series"], other.public["series"])
    assert not np.array_equal(first.hidden["graph"], other.hidden["graph"])


def test_the_seed_only_reorders_published_series(build_problem: Build) -> None:
    _, first = build_problem("netsim-15", 0)
    _, other = build_problem("netsim-15", 1)
    a, b = first.public["series"], other.public["series"]
    order = [int(np.flatnonzero((b == column[:, None]).all(axis=0))[0]) for column in a.T]
    assert order != list(range(15))
    np.testing.assert_array_equal(
        first.hidden["graph"], other.hidden["graph"][np.ix_(order, order)]
    )


@pytest.mark.parametrize("problem", ["lorenz96-d20-f10", "netsim-15"])
def test_the_order_of_variables_gives_nothing_away(problem: str, build_problem: Build) -> None:
    """In file order every NetSim edge points up; in model order Lorenz-96 is a ring."""
    values = []
    for seed in range(12):
        recipe, instance = build_problem(problem, seed)
        d = instance.public["series"].shape[1]
        target, source = np.indices((d, d))
        near = -np.minimum((target - source) % d, (source - target) % d).astype(float)
        up = (target > source).astype(float)
        off = {"diagonal": "drop"}
        recipe = Recipe(recipe.task, recipe.problem, recipe.tier, {**recipe.params, **off}, seed)
        values.append([task.score({"scores": s}, instance, recipe)["auroc"] for s in (near, up)])
    np.testing.assert_allclose(np.mean(values, axis=0), 0.5, atol=0.1)


def test_the_scale_gives_nothing_away(build_problem: Build) -> None:
    _, instance = build_problem("var3-d10", 0)
    assert np.ptp(instance.public["series"].var(axis=0)) < 1e-12


def test_score_uses_the_declared_diagonal(build_problem: Build) -> None:
    recipe, instance = build_problem("var3-d5-smoke", 0)
    graph = instance.hidden["graph"].astype(np.float64)
    assert task.score({"scores": graph}, instance, recipe) == {"auroc": 1.0, "auprc": 1.0}
    # Without the self-links' evidence the kept diagonal costs score, the dropped one does not.
    blind = np.where(np.eye(5) == 1, -1.0, graph)
    assert task.score({"scores": blind}, instance, recipe)["auroc"] < 1.0
    dropped = Recipe(
        recipe.task, recipe.problem, recipe.tier, {**recipe.params, "diagonal": "drop"}, 0
    )
    assert task.score({"scores": blind}, instance, dropped)["auroc"] == 1.0


def test_standardise_leaves_constant_columns_at_zero() -> None:
    series = np.array([[1.0, 0.1], [2.0, 0.1], [6.0, 0.1]])
    scaled = task.standardise(series)
    np.testing.assert_array_equal(scaled[:, 1], 0.0)
    assert scaled[:, 0].std() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change", [{"variables": "ten"}, {"diagonal": "ignore"}, {"data": "sine"}, {"colour": 1}]
)
def test_bad_parameters_are_named(change: dict[str, str | int], spec: TaskSpec) -> None:
    params = {**spec.problem("var3-d10").params, **change}
    recipe = Recipe("granger_recovery", "var3-d10", "small", params, 0)
    with pytest.raises(InputError, match=r"granger_recovery/var3-d10: bad parameters") as caught:
        task.read_params(recipe)
    named = next(iter(change))
    assert named in str(caught.value) or str(change[named]) in str(caught.value)
