"""The task GCD accuracy: its contract, its seeds, what is refused, and nothing that leaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from podium.benchmarks import gcd_accuracy
from podium.benchmarks.gcd_accuracy import task
from podium.benchmarks.gcd_accuracy.params import read_params
from podium.contracts import Array, Instance, InvalidPredictionError, Recipe, Undefined
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.discovery.samples import read_samples
from podium.errors import InputError
from podium.metrics.spectrum import rank_at, spectrum
from podium.runner.validate import array_faults, named_lengths
from podium.seeding import generator

SPEC = toml.load(Path(gcd_accuracy.__file__).parent / "task.toml", TaskSpec)
GENERATED = ("parts-composition-smoke", "digits-smoke", "parts-composition", "digits")
SMOKE = GENERATED[:2]
FEATURES = ("labelled_features", "unlabelled_features")
DIAGNOSTICS = ("rank_99", "von_neumann_entropy", "class_count_error")


class GcdBuildContext:
    """The task's files, and generators of one seed and problem."""

    def __init__(self, seed: int, problem: str) -> None:
        self.files = Resolver(SPEC.files)
        self._names = (seed, problem)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._names[0], SPEC.id, self._names[1], name)


def recipe_of(problem: str, seed: int = 0, **changes: Any) -> Recipe:
    declared = SPEC.problem(problem)
    return Recipe(SPEC.id, problem, declared.tiers[0], {**declared.params, **changes}, seed)


def built(problem: str, seed: int = 0, **changes: Any) -> tuple[Recipe, Instance]:
    recipe = recipe_of(problem, seed, **changes)
    return recipe, task.build(recipe, GcdBuildContext(seed, problem))


def mean_tokens(instance: Instance) -> dict[str, Array]:
    """The mean token of each sample, as the two arrays of features."""
    tokens = ("labelled_tokens", "unlabelled_tokens")
    return {
        name: instance.public[array].mean(axis=1)
        for name, array in zip(FEATURES, tokens, strict=True)
    }


@pytest.mark.parametrize("problem", [p.id for p in SPEC.problems])
def test_every_problem_has_parameters_that_can_be_read(problem: str) -> None:
    assert read_params(recipe_of(problem)).labelled == 0.5
    # Half of the classes are old, as in the papers; of CIFAR-100 it is 80.
    declared = SPEC.problem(problem).params
    if "classes" in declared and not problem.startswith("cifar-100"):
        assert 2 * declared["old"] == declared["classes"]


def test_parts_composition_is_as_the_card_says() -> None:
    params = SPEC.problem("parts-composition").params
    stated = {"classes": 20, "old": 10, "samples": 100, "tokens": 16, "dimension": 32}
    stated |= {"parts": 16, "class_parts": 4, "backgrounds": 30}
    assert {name: params[name] for name in stated} == stated
    assert params["noise"] == 0.15


@pytest.mark.parametrize("problem", GENERATED)
def test_contract(problem: str) -> None:
    _, instance = built(problem)
    assert array_faults(SPEC.arrays.public, instance.public, None) == []
    params = SPEC.problem(problem).params
    samples, truth = read_samples(instance.public), instance.hidden["truth"]
    assert (samples.old, samples.classes) == (params["old"], params["classes"])
    assert set(samples.labels) == set(range(params["old"]))
    assert truth.dtype == np.int64
    assert truth.shape == (len(samples.unlabelled),)
    assert set(truth) == set(range(params["classes"]))
    assert samples.grid == (None if problem.startswith("parts") else (4, 4))
    # Half of each old class is labelled, to the nearest sample.
    left = np.bincount(truth)[: params["old"]]
    assert (np.abs(left - np.bincount(samples.labels)) <= 1).all()


def test_sizes() -> None:
    for problem, labelled, unlabelled in (("parts-composition", 500, 1500), ("digits", 450, 1347)):
        _, instance = built(problem)
        assert instance.public["labelled_tokens"].shape == (labelled, 16, 32)
        assert instance.public["unlabelled_tokens"].shape == (unlabelled, 16, 32)


@pytest.mark.parametrize("problem", GENERATED)
def test_the_seed_decides(problem: str) -> None:
    def arrays(seed: int) -> dict[str, bytes]:
        _, instance = built(problem, seed)
        return {k: v.tobytes() for k, v in {**instance.public, **instance.hidden}.items()}

    first, again, other = arrays(0), arrays(0), arrays(1)
    assert first == again
    for name in ("labelled_tokens", "unlabelled_tokens", "labels", "truth"):
        assert first[name] != other[name]
    # Which classes are old does not depend on the seed.
    assert first["classes"] == other["classes"]


@pytest.mark.parametrize("problem", GENERATED)
def test_no_place_tells_a_class(problem: str) -> None:
    """Old and new, and each class, are spread evenly over the unlabelled samples."""
    places: list[list[float]] = []
    correlations = []
    for seed in range(6):
        _, instance = built(problem, seed)
        truth = instance.hidden["truth"]
        place = np.linspace(0, 1, truth.size)
        params = SPEC.problem(problem).params
        places.append([float(place[truth == c].mean()) for c in range(params["classes"])])
        correlations.append(np.corrcoef(place, truth < params["old"])[0, 1] * np.sqrt(truth.size))
    # Each correlation is near N(0, 1 / samples).
    assert abs(np.mean(correlations)) < 4 / np.sqrt(len(correlations))
    assert np.mean(places, axis=0) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("problem", SMOKE)
def test_nothing_hidden_is_public(problem: str) -> None:
    """The truth stands nowhere; labels do not reach past the labelled samples."""
    _, instance = built(problem)
    assert instance.hidden.keys() == {"truth"}
    truth = instance.hidden["truth"]
    for name, array in instance.public.items():
        assert name != "truth"
        assert truth.size not in array.shape or name == "unlabelled_tokens"
    # No single number of a token, at any place, gives the class away.
    tokens = instance.public["unlabelled_tokens"].reshape(truth.size, -1)
    spread = tokens.std(axis=0)
    centred = (tokens - tokens.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    by_class = np.stack([centred[truth == c].mean(axis=0) for c in range(truth.max() + 1)])
    explained = (np.bincount(truth)[:, None] * by_class**2).sum(axis=0) / truth.size
    assert explained.max() < 0.9


@pytest.mark.parametrize("problem", SMOKE)
def test_no_sample_is_in_both_parts(problem: str) -> None:
    _, instance = built(problem)
    names = ("labelled_tokens", "unlabelled_tokens")
    parts = [{row.tobytes() for row in instance.public[name]} for name in names]
    assert parts[0] & parts[1] == set()


def test_digits_are_those_of_scikit_learn() -> None:
    """The labels are right: a linear model fitted on the public ones names the hidden old ones."""
    _, instance = built("digits")
    public, truth = instance.public, instance.hidden["truth"]
    flat = [public[n].reshape(len(public[n]), -1) for n in ("labelled_tokens", "unlabelled_tokens")]
    model = LogisticRegression(max_iter=300).fit(flat[0], public["labels"])
    old = truth < 5
    assert model.score(flat[1][old], truth[old]) > 0.97
    assert np.bincount(truth)[5:].tolist() == [182, 181, 179, 174, 180]


@pytest.mark.parametrize("problem", SMOKE)
def test_golden_predictions(problem: str) -> None:
    recipe, instance = built(problem)
    truth = instance.hidden["truth"]
    classes, old = instance.public["classes"][0], instance.public["labels"].max() + 1
    shares = ("all", "old", "new", "old_per_subset", "new_per_subset")

    def scored(clusters: Array) -> list[float]:
        scores = task.score({"clusters": clusters}, instance, recipe)
        assert scores.keys() == {m.name for m in SPEC.metrics}
        for name in DIAGNOSTICS:
            value = scores[name]
            assert isinstance(value, Undefined)
            assert value.reason == "the method returns no features"
        return [scores[f"accuracy_{share}"] for share in shares]

    assert scored(truth) == [1.0] * 5
    assert scored(classes - 1 - truth) == [1.0] * 5
    largest = np.bincount(truth).max()
    one = scored(np.zeros_like(truth))
    assert one[0] == largest / truth.size
    assert sorted(one[1:3]) == [0.0, pytest.approx(largest / (truth >= old).sum())]
    alone = scored(np.arange(truth.size))
    assert alone[0] == pytest.approx(classes / truth.size)


@pytest.mark.parametrize("problem", SMOKE)
def test_diagnostics_of_features(problem: str) -> None:
    recipe, instance = built(problem)
    features = mean_tokens(instance)
    prediction = {"clusters": instance.hidden["truth"], **features}
    lengths = named_lengths(SPEC.arrays.public, instance.public)
    assert array_faults(SPEC.arrays.prediction, prediction, lengths) == []
    scores = task.score(prediction, instance, recipe)
    energies = spectrum(np.concatenate(list(features.values())))
    assert scores["rank_99"] == rank_at(energies)
    assert 0 < scores["von_neumann_entropy"] < np.log(32)
    assert 0 <= scores["class_count_error"] <= 1
    again = task.score(prediction, instance, recipe)
    assert dict(again) == dict(scores)


def test_features_that_know_the_classes() -> None:
    recipe, instance = built("digits-smoke")
    eye = np.eye(10, dtype=np.float32)
    truth = instance.hidden["truth"]
    arrays = (eye[instance.public["labels"]], eye[truth])
    scores = task.score(
        {"clusters": truth, **dict(zip(FEATURES, arrays, strict=True))}, instance, recipe
    )
    assert scores["class_count_error"] == 0.0
    assert scores["rank_99"] == 10.0
    assert scores["von_neumann_entropy"] == pytest.approx(np.log(10), abs=1e-9)


def test_features_without_a_direction_are_undefined() -> None:
    recipe, instance = built("digits-smoke")
    nothing = {name: np.zeros_like(x) for name, x in mean_tokens(instance).items()}
    scores = task.score({"clusters": instance.hidden["truth"], **nothing}, instance, recipe)
    assert all(isinstance(scores[name], Undefined) for name in DIAGNOSTICS)
    assert scores["accuracy_all"] == 1.0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({0: 200}, r"clusters must lie in \[0, 200\), the number of samples; found 200 in row 0$"),
        ({3: -1, 9: 2**62}, r"found -1 in row 3, 4611686018427387904 in row 9$"),
        (dict.fromkeys(range(10, 17), 999), r"999 in row 10, .* 999 in row 14 and 2 more$"),
    ],
)
def test_a_cluster_out_of_range_is_refused(change: dict[int, int], reason: str) -> None:
    recipe, instance = built("digits-smoke")
    clusters = instance.hidden["truth"].copy()
    for row, value in change.items():
        clusters[row] = value
    with pytest.raises(InvalidPredictionError, match=reason):
        task.score({"clusters": clusters}, instance, recipe)


@pytest.mark.parametrize("name", FEATURES)
def test_one_of_the_two_feature_arrays_is_refused(name: str) -> None:
    recipe, instance = built("digits-smoke")
    prediction = {"clusters": instance.hidden["truth"], name: mean_tokens(instance)[name]}
    with pytest.raises(InvalidPredictionError, match=f"found {name} alone"):
        task.score(prediction, instance, recipe)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"clusters": np.zeros(149, dtype=np.int64)}, "clusters: length 149 along axis 0"),
        ({"clusters": np.zeros(150)}, "clusters: dtype float64, expected int64"),
        ({"clusters": np.full(150, -2)}, "clusters: 150 values outside"),
        ({}, "clusters: missing"),
        (
            {
                "clusters": np.zeros(150, dtype=np.int64),
                "labelled_features": np.zeros((50, 3), dtype=np.float32),
                "unlabelled_features": np.zeros((150, 4), dtype=np.float32),
            },
            "unlabelled_features: length 4 along axis 1, expected dimension = 3",
        ),
        (
            {
                "clusters": np.zeros(150, dtype=np.int64),
                "labelled_features": np.full((50, 3), np.nan, dtype=np.float32),
            },
            "labelled_features: 150 values are not finite",
        ),
    ],
)
def test_what_the_contract_refuses(change: dict[str, Array], fault: str) -> None:
    _, instance = built("digits-smoke")
    lengths = named_lengths(SPEC.arrays.public, instance.public)
    faults = array_faults(SPEC.arrays.prediction, change, lengths)
    assert len(faults) == 1
    assert faults[0].startswith(fault)


def test_scoring_changes_nothing() -> None:
    recipe, instance = built("parts-composition-smoke")
    prediction = {"clusters": instance.hidden["truth"], **mean_tokens(instance)}
    arrays = {**prediction, **instance.public, **instance.hidden}
    before = {name: array.tobytes() for name, array in arrays.items()}
    task.score(prediction, instance, recipe)
    assert before == {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"classes": "ten"}, "classes"),
        ({"data": "photographs"}, "photographs"),
        ({"colour": 1}, "colour"),
        ({"old": 10}, "an old and a new class"),
        ({"old": 0}, "an old and a new class"),
        ({"classes": 1, "old": 1}, "an old and a new class"),
        ({"labelled": 0.0}, "bad share of labelled samples"),
        ({"labelled": 1.0}, "bad share of labelled samples"),
    ],
)
def test_bad_parameters_are_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        read_params(recipe_of("digits-smoke", **change))
    assert str(caught.value).startswith("gcd_accuracy/digits-smoke: ")


def test_a_share_that_leaves_an_old_class_without_labels() -> None:
    with pytest.raises(InputError, match="an old class has no labelled sample"):
        built("digits-smoke", labelled=0.01)


def test_claims() -> None:
    gated = {c.id: (c.left, c.right, c.metric, c.at_least) for c in SPEC.claims if c.gate}
    assert gated == {
        "module-lifts-new": ("cpf_gcd", "simgcd", "accuracy_new", 0.03),
        "more-than-parameters": ("cpf_gcd", "token_mlp", "accuracy_new", 0.0),
        "old-classes-kept": ("cpf_gcd", "simgcd", "accuracy_old", -0.03),
        "lower-rank": ("cpf_gcd", "simgcd", "rank_99", 0.0),
        "gain-over-a-second-host": ("cpf_kmeans", "ss_kmeans", "accuracy_new", 0.0),
    }
    for claim in SPEC.claims:
        if claim.gate or claim.problems == ("parts-composition",):
            assert (claim.problems, claim.tier, claim.min_seeds) == (
                ("parts-composition",),
                "small",
                5,
            )
    reported = [c for c in SPEC.claims if c.metric == "accuracy_new" and not c.gate]
    assert {c.problems[0] for c in reported} == {p.id for p in SPEC.in_tier("small")}
    controls = {(c.left, c.right) for c in reported if c.problems == ("parts-composition",)}
    assert controls == {("cpf_kmeans", "token_mlp_kmeans"), ("cpf_kmeans", "patch_mean")}


@pytest.mark.parametrize("width", [task.WIDEST + 1, 32_000])
def test_absurdly_wide_features_are_refused(width: int) -> None:
    recipe, instance = built("digits-smoke")
    features = {  # no memory of their own
        name: np.broadcast_to(np.float32(1), (len(instance.public[array]), width))
        for name, array in zip(FEATURES, ("labelled_tokens", "unlabelled_tokens"), strict=True)
    }
    prediction = {"clusters": instance.hidden["truth"], **features}
    with pytest.raises(InvalidPredictionError, match=f"at most 4096 columns; found {width}: "):
        task.score(prediction, instance, recipe)
