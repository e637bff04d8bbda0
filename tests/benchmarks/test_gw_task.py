"""The task GW alignment: its contract, its seeds, what is refused, and nothing that leaks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.sparse import csr_array

from podium.benchmarks import gw_alignment
from podium.benchmarks.gw_alignment import task
from podium.contracts import Array, Instance, InvalidPredictionError, Recipe, Undefined
from podium.data.resolver import Resolver
from podium.declarations.task import TaskSpec
from podium.errors import InputError, MissingError
from podium.metrics.alignment import gw_objective
from podium.runner.validate import array_faults, named_lengths
from podium.seeding import generator

SPEC = msgspec.toml.decode(
    (Path(gw_alignment.__file__).parent / "task.toml").read_bytes(), type=TaskSpec
)
SIMULATED = (
    "powerlaw-150-smoke",
    "cloud-30-smoke",
    "powerlaw-200-noise05",
    "partition-500-noise05",
)
PUBLISHED = ("celegans-7-8", "celegans-1-8", "drosophila-left-right")


class GwBuildContext:
    """The task's files, and generators of one seed and problem."""

    def __init__(self, seed: int, problem: str) -> None:
        self.files = Resolver(SPEC.files)
        self._names = (seed, problem)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._names[0], SPEC.id, self._names[1], name)


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_OFFLINE", "1")


def built(problem: str, seed: int = 0, **changes: Any) -> tuple[Recipe, Instance]:
    """Build a declared problem; skip the test where its published data are not at hand."""
    declared = SPEC.problem(problem)
    recipe = Recipe(SPEC.id, problem, declared.tiers[0], {**declared.params, **changes}, seed)
    try:
        return recipe, task.build(recipe, GwBuildContext(seed, problem))
    except MissingError as error:
        pytest.skip(error.what)


def truth(instance: Instance) -> Array:
    """The plan that sends every node to its counterpart."""
    source, target = instance.hidden["source_labels"], instance.hidden["target_labels"]
    plan: Array = (source[:, None] == target[None, :]).astype(np.float64) / source.size
    return plan


def test_declared_problems() -> None:
    small = tuple(p.id for p in SPEC.in_tier("small"))
    graphs = [f"powerlaw-{n}-noise{x}" for n in (200, 500) for x in ("00", "05", "10")]
    assert small == (*graphs, "partition-500-noise05", "cloud-500", *PUBLISHED)
    full = {p.id: p.params for p in SPEC.in_tier("full")}
    for family in ("barabasi", "powerlaw", "block"):
        for nodes in (500, 1000, 2000):
            for noise in (0.05, 0.1):
                params = full[f"{family}-{nodes}-noise{round(100 * noise):02d}"]
                assert (params["nodes"], params["noise"]) == (nodes, noise)
    assert max(p["nodes"] for p in full.values() if "nodes" in p) == 20000


@pytest.mark.parametrize("problem", [p.id for p in SPEC.problems])
def test_every_problem_has_parameters_that_can_be_read(problem: str) -> None:
    declared = SPEC.problem(problem)
    recipe = Recipe(SPEC.id, problem, declared.tiers[0], declared.params, 0)
    params = task.read_params(recipe)
    assert params.rule == ("type" if problem == "drosophila-left-right" else "node")


@pytest.mark.parametrize("problem", [*SIMULATED, *PUBLISHED])
def test_contract(problem: str) -> None:
    _, instance = built(problem)
    public = instance.public
    assert array_faults(SPEC.arrays.public, public, None) == []
    n, m = public["source_weights"].size, public["target_weights"].size
    for side, size in (("source", n), ("target", m)):
        np.testing.assert_allclose(public[f"{side}_weights"], 1 / size)
        dense = f"{side}_cost" in public
        assert dense == problem.startswith("cloud")
        if dense:
            assert public[f"{side}_cost"].max() == 1.0
        else:
            parts = tuple(public[f"{side}_{part}"] for part in ("data", "indices", "indptr"))
            cost = csr_array(parts, shape=(size, size))
            assert abs(cost - cost.T).nnz == 0
            rows = np.repeat(np.arange(size), np.diff(parts[2]))
            assert (np.diff(rows * size + parts[1]) > 0).all(), "columns rise in each row"
        assert instance.hidden[f"{side}_labels"].shape == (size,)


def test_published_sizes() -> None:
    for problem in ("celegans-7-8", "celegans-1-8"):
        _, instance = built(problem)
        assert instance.public["source_weights"].size == 183
        assert instance.public["target_weights"].size == 183
        assert set(instance.hidden["target_labels"]) == set(range(183))
    _, fly = built("drosophila-left-right")
    assert (fly.public["source_weights"].size, fly.public["target_weights"].size) == (209, 213)
    assert set(fly.hidden["source_labels"]) == {0, 1, 2, 3}


@pytest.mark.parametrize("problem", ["powerlaw-150-smoke", "cloud-30-smoke"])
def test_the_seed_decides(problem: str) -> None:
    def arrays(seed: int) -> dict[str, bytes]:
        _, instance = built(problem, seed)
        return {k: v.tobytes() for k, v in {**instance.public, **instance.hidden}.items()}

    assert arrays(0) == arrays(0)
    name = "target_cost" if problem.startswith("cloud") else "target_indices"
    assert arrays(0)[name] != arrays(1)[name]
    assert arrays(0)["target_labels"] != arrays(1)["target_labels"]


@pytest.mark.parametrize("problem", ["powerlaw-150-smoke", "cloud-30-smoke"])
def test_the_truth_scores_one(problem: str) -> None:
    recipe, instance = built(problem)
    scores = task.score({"coupling": truth(instance)}, instance, recipe)
    assert [scores[f"hits_{k}"] for k in (1, 5, 10)] == [1.0, 1.0, 1.0]
    assert scores["node_correctness"] == 1.0
    assert scores["marginal_gap"] < 1e-12
    if problem.startswith("cloud"):
        assert abs(scores["objective"]) < 1e-12
        assert isinstance(scores["edge_correctness"], Undefined)
    else:
        # A twentieth of the edges was moved.
        edges = instance.public["source_data"].size / 2
        assert scores["edge_correctness"] == pytest.approx(1 - round(0.05 * edges) / edges)
    reversed_plan = np.fliplr(truth(instance))
    assert task.score({"coupling": reversed_plan}, instance, recipe)["node_correctness"] < 0.2


def test_without_noise_the_target_is_a_permuted_copy() -> None:
    recipe, instance = built("powerlaw-150-smoke", noise=0.0)
    scores = task.score({"coupling": truth(instance)}, instance, recipe)
    assert abs(scores["objective"]) < 1e-15
    assert scores["edge_correctness"] == 1.0


@pytest.mark.parametrize("problem", ["powerlaw-150-smoke", "cloud-30-smoke", "celegans-7-8"])
def test_nothing_gives_the_match_away(problem: str) -> None:
    """A constant plan scores at chance exactly; the identity does over the seeds."""
    seeds = range(8)
    identity = []
    for seed in seeds:
        recipe, instance = built(problem, seed)
        n = instance.public["source_weights"].size
        constant = np.full((n, n), 1 / n**2)
        scores = task.score({"coupling": constant}, instance, recipe)
        assert scores["node_correctness"] == pytest.approx(1 / n)
        assert scores["hits_10"] == pytest.approx(10 / n)
        identity.append(
            task.score({"coupling": np.eye(n) / n}, instance, recipe)["node_correctness"]
        )
    # Fixed points of a random permutation: mean 1, variance 1.
    assert np.mean(identity) * n == pytest.approx(1.0, abs=4 / np.sqrt(len(seeds)))


def test_both_forms_score_alike() -> None:
    recipe, instance = built("powerlaw-150-smoke")
    n = instance.public["source_weights"].size
    plan = 0.7 * truth(instance) + 0.3 / n**2
    rows, columns = np.divmod(np.arange(n * n, dtype=np.int64), n)
    values = plan.ravel()
    # Each entry in two halves: repeated entries add up.
    sparse = {
        "rows": np.tile(rows, 2),
        "columns": np.tile(columns, 2),
        "values": np.tile(values / 2, 2),
    }
    lengths = named_lengths(SPEC.arrays.public, instance.public)
    assert array_faults(SPEC.arrays.prediction, sparse, lengths) == []
    dense_scores = task.score({"coupling": plan}, instance, recipe)
    sparse_scores = task.score(sparse, instance, recipe)
    assert dense_scores.keys() == {m.name for m in SPEC.metrics} == sparse_scores.keys()
    for name, value in dense_scores.items():
        assert sparse_scores[name] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("problem", ["powerlaw-150-smoke", "cloud-30-smoke"])
def test_scoring_twice_gives_the_same_and_changes_nothing(problem: str) -> None:
    recipe, instance = built(problem)
    plan = truth(instance) / 2 + 0.5 / truth(instance).size
    arrays = {"coupling": plan, **instance.public, **instance.hidden}
    before = {name: array.tobytes() for name, array in arrays.items()}
    first, second = (task.score({"coupling": plan}, instance, recipe) for _ in range(2))
    assert {k: repr(v) for k, v in first.items()} == {k: repr(v) for k, v in second.items()}
    assert before == {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda p: {"coupling": 0 * p}, "off by 2 in all"),
        (lambda p: {"coupling": 1.2 * p}, "off by 0.4 in all"),
        (lambda p: {"coupling": np.full_like(p, np.nan)}, "off by nan"),
        (lambda p: {"coupling": np.eye(len(p))[:, :1] @ np.ones((1, len(p))) / len(p)}, "off by"),
        (lambda _: {}, "expected either coupling, or rows, columns and values; found nothing"),
        (lambda p: {"coupling": p, "rows": np.array([0])}, "found coupling, rows"),
        (lambda _: {"rows": np.array([0]), "columns": np.array([0])}, "found columns, rows"),
        (
            lambda _: {"rows": np.array([150]), "columns": np.array([0]), "values": np.ones(1)},
            r"rows must lie in \[0, 150\)",
        ),
        (
            lambda _: {"rows": np.array([0]), "columns": np.array([-1]), "values": np.ones(1)},
            r"columns must lie in \[0, 150\)",
        ),
    ],
)
def test_what_is_no_plan_is_refused(change: Any, reason: str) -> None:
    recipe, instance = built("powerlaw-150-smoke")
    prediction: Mapping[str, Array] = change(truth(instance))
    with pytest.raises(InvalidPredictionError, match=reason):
        task.score(prediction, instance, recipe)


def test_a_plan_that_is_nearly_feasible_is_scored_with_its_gap() -> None:
    recipe, instance = built("powerlaw-150-smoke")
    plan = truth(instance) * 0.95
    scores = task.score({"coupling": plan}, instance, recipe)
    assert scores["marginal_gap"] == pytest.approx(0.1)
    # What mass it shed is put back before the objective is worked out.
    whole = task.score({"coupling": truth(instance)}, instance, recipe)
    assert scores["objective"] > whole["objective"]


def test_cell_types_score_by_type() -> None:
    recipe, instance = built("drosophila-left-right")
    source, target = instance.hidden["source_labels"], instance.hidden["target_labels"]
    n, m = source.size, target.size
    constant = task.score({"coupling": np.full((n, m), 1 / (n * m))}, instance, recipe)
    share = np.mean([(target == kind).mean() for kind in source])
    assert constant["node_correctness"] == pytest.approx(share)
    for k in (1, 5, 10):
        value = constant[f"hits_{k}"]
        assert isinstance(value, Undefined)
        assert "type" in value.reason


def test_the_objective_is_that_of_the_costs_as_given() -> None:
    recipe, instance = built("powerlaw-150-smoke")
    public = instance.public
    costs = [
        csr_array(tuple(public[f"{side}_{part}"] for part in ("data", "indices", "indptr")))
        for side in ("source", "target")
    ]
    plan = np.outer(public["source_weights"], public["target_weights"])
    scores = task.score({"coupling": plan}, instance, recipe)
    assert scores["objective"] == pytest.approx(
        gw_objective(costs[0].toarray(), costs[1].toarray(), plan), abs=1e-14
    )


@pytest.mark.parametrize(
    "change", [{"nodes": "ten"}, {"rule": "edge"}, {"data": "lattice"}, {"colour": 1}]
)
def test_bad_parameters_are_named(change: dict[str, str | int]) -> None:
    params = {**SPEC.problem("powerlaw-150-smoke").params, **change}
    recipe = Recipe("gw_alignment", "powerlaw-150-smoke", "smoke", params, 0)
    with pytest.raises(InputError, match=r"gw_alignment/powerlaw-150-smoke: bad parameters") as e:
        task.read_params(recipe)
    named = next(iter(change))
    assert named in str(e.value) or str(change[named]) in str(e.value)


def test_published_data_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path))
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    declared = SPEC.problem("celegans-7-8")
    recipe = Recipe(SPEC.id, "celegans-7-8", "small", declared.params, 0)
    with pytest.raises(MissingError, match=r"witvliet_2020_1\.xlsx") as caught:
        task.build(recipe, GwBuildContext(0, "celegans-7-8"))
    assert SPEC.files[0].sha256 in str(caught.value)


def test_gated_claims() -> None:
    gated = {c.id: (c.left, c.right, c.metric, c.at_least, c.within) for c in SPEC.claims if c.gate}
    assert gated["not-below-bapg"] == ("lobcd_gw", "pot_bapg", "node_correctness", -0.01, None)
    assert gated["feasible"] == ("lobcd_gw", "constant_coupling", "marginal_gap", None, 1e-9)
    assert gated["faster-than-bapg"] == ("lobcd_gw", "pot_bapg", "cpu_seconds", 5.8, None)
    assert gated["faster-than-cg"] == ("lobcd_gw", "pot_cg", "cpu_seconds", 4.0, None)
    equal = next(c for c in SPEC.claims if c.id == "localised-same-objective")
    assert (equal.metric, equal.compare, equal.within) == ("objective", "ratio", 0.05)
    sparse = next(c for c in SPEC.claims if c.id == "faster-than-sparse-bapg")
    assert (sparse.right, sparse.at_least, sparse.gate) == ("sparse_bapg", 1.0, False)
    families = [c for c in SPEC.claims if c.id.startswith("faster-than-bapg-")]
    assert [c.at_least for c in families] == [2.5, 2.5, 2.5]
    assert all(c.min_seeds == 5 for c in SPEC.claims)
    assert all(c.compare == "ratio" for c in SPEC.claims if c.metric.endswith(("seconds", "bytes")))
