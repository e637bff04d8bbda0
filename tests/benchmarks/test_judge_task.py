"""The task judge correlation: its contract, its seeds, what is refused, and what nothing shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.benchmarks import judge_correlation
from podium.benchmarks.judge_correlation import task
from podium.benchmarks.judge_correlation.params import read_params
from podium.contracts import (
    Array,
    Instance,
    InvalidPredictionError,
    Prediction,
    Problem,
    Recipe,
    Undefined,
)
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import InputError, MissingError
from podium.judging.items import Items, answers, read_items
from podium.runner.validate import array_faults, named_lengths
from podium.seeding import generator

SPEC = toml.load(Path(judge_correlation.__file__).parent / "task.toml", TaskSpec)
SMALL = "synthetic-grader-small"
ITEMS = 40
CORRELATIONS = ("pearson", "spearman", "kendall")


class JudgeBuildContext:
    """The task's files, and generators of one seed and problem."""

    def __init__(self, seed: int, problem: str) -> None:
        self.files = Resolver(SPEC.files)
        self._names = (seed, problem)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._names[0], SPEC.id, self._names[1], name)


def recipe_of(problem: str, seed: int = 0, **changes: Any) -> Recipe:
    declared = SPEC.problem(problem)
    return Recipe(SPEC.id, problem, declared.tiers[0], {**declared.params, **changes}, seed)


def built(problem: str = SMALL, seed: int = 0, **changes: Any) -> tuple[Recipe, Instance]:
    recipe = recipe_of(problem, seed, **changes)
    return recipe, task.build(recipe, JudgeBuildContext(seed, problem))


def items_of(instance: Instance) -> Items:
    return read_items(Problem(SPEC.id, SMALL, "smoke", instance.public))


def scored(
    instance: Instance, recipe: Recipe, scores: Array, distribution: Array | None = None
) -> dict[str, float]:
    prediction = answers(items_of(instance), scores, distribution)
    dims = named_lengths(SPEC.arrays.public, instance.public)
    assert array_faults(SPEC.arrays.prediction, prediction, dims) == []
    found = dict(task.score(prediction, instance, recipe))
    assert set(found) == {metric.name for metric in SPEC.metrics}
    return found


@pytest.fixture(scope="module")
def small() -> tuple[Recipe, Instance]:
    return built()


def test_public_arrays_keep_the_contract(small: tuple[Recipe, Instance]) -> None:
    assert array_faults(SPEC.arrays.public, small[1].public, {}) == []


def test_seeds_share_the_items_and_not_the_train_items() -> None:
    (_, first), (_, second), (_, again) = built(seed=0), built(seed=1), built(seed=0)
    for name in ("ids", "texts", "features", "lengths", "embeddings"):
        assert np.array_equal(first.public[name], second.public[name])
    for name in first.hidden:
        assert np.array_equal(first.hidden[name], second.hidden[name])
    for name in ("train_texts", "train_scores", "train_features", "train_reasoning"):
        assert not np.array_equal(first.public[name], second.public[name])
        assert np.array_equal(first.public[name], again.public[name])


def test_the_truth_itself_scores_best(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    found = scored(instance, recipe, instance.hidden["gold"], instance.hidden["observed"])
    for name in (*CORRELATIONS, "pearson_shifted", "pearson_low", "pearson_high", "parse_rate"):
        assert found[name] == pytest.approx(1.0, abs=1e-9)
    for name in ("rmse", "rmse_shifted", "calibration_error"):
        assert found[name] == pytest.approx(0.0, abs=1e-9)


def test_the_mirrored_truth_scores_worst(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    found = scored(instance, recipe, -instance.hidden["gold"])
    for name in (*CORRELATIONS, "pearson_shifted"):
        assert found[name] == pytest.approx(-1.0, abs=1e-9)


def test_a_constant_judge_has_no_correlation(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    found = scored(instance, recipe, np.full(ITEMS, 3.3))
    for name in (*CORRELATIONS, "pearson_shifted", "pearson_low", "pearson_high"):
        value = found[name]
        assert isinstance(value, Undefined)
        assert "equal" in value.reason
    assert found["rmse"] > 0


def test_random_scores_are_worth_nothing(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    rng = np.random.default_rng(0)
    draws = [scored(instance, recipe, rng.normal(size=ITEMS)) for _ in range(50)]
    assert abs(np.mean([found["pearson"] for found in draws])) < 0.15
    for found in draws:
        assert found["pearson_low"] < found["pearson"] < found["pearson_high"]


def test_the_order_of_the_answers_does_not_matter(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    rng = np.random.default_rng(0)
    prediction = answers(
        items_of(instance), rng.normal(size=ITEMS), rng.dirichlet(np.ones(10), size=ITEMS)
    )
    order = rng.permutation(ITEMS)
    shuffled = {name: array[order] for name, array in prediction.items()}
    assert task.score(shuffled, instance, recipe) == task.score(prediction, instance, recipe)


def test_no_answer_counts_as_the_middle_of_the_scale(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    scores = np.array(instance.hidden["gold"])
    scores[: ITEMS // 4] = np.nan
    found = scored(instance, recipe, scores)
    filled = np.where(np.isnan(scores), 5.5, scores)
    assert found["parse_rate"] == 0.75
    expected = scored(instance, recipe, filled)
    assert {**found, "parse_rate": 1.0} == pytest.approx(expected, nan_ok=True)


def test_a_judge_that_never_answers_is_the_middle_of_the_scale(
    small: tuple[Recipe, Instance],
) -> None:
    recipe, instance = small
    empty = np.full((ITEMS, 10), np.nan)
    found = scored(instance, recipe, np.full(ITEMS, np.nan), empty)
    assert found["parse_rate"] == 0.0
    assert isinstance(found["pearson"], Undefined)
    uniform = scored(instance, recipe, np.full(ITEMS, 5.5), np.full((ITEMS, 10), 0.1))
    assert found["calibration_error"] == pytest.approx(uniform["calibration_error"])


def test_scores_outside_the_scale_are_taken_as_they_are(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    found = scored(instance, recipe, instance.hidden["gold"] * 100)
    assert found["pearson"] == pytest.approx(1.0)
    assert found["rmse"] > 1


def test_shifted_items_do_not_count_in_domain(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    scores = np.where(instance.hidden["shifted"], 0.0, instance.hidden["gold"])
    found = scored(instance, recipe, scores)
    assert found["pearson"] == pytest.approx(1.0)
    assert isinstance(found["pearson_shifted"], Undefined)


def refused(prediction: Prediction, small: tuple[Recipe, Instance]) -> str:
    with pytest.raises(InvalidPredictionError) as caught:
        task.score(prediction, small[1], small[0])
    return str(caught.value)


def test_all_faults_of_ids_are_listed_and_cut_short(small: tuple[Recipe, Instance]) -> None:
    prediction = dict(answers(items_of(small[1]), np.zeros(ITEMS)))
    ids = prediction["ids"].copy()
    ids[:20] = [f"other-{row}" for row in range(20)]
    ids[20] = ids[21]
    message = refused({**prediction, "ids": ids}, small)
    assert "unknown ids: 'other-0'" in message
    assert "and 15 more" in message
    assert f"twice or more: '{ids[21]}'" in message
    assert "missing ids" in message
    assert len(message) < 500


@pytest.mark.parametrize("change", ["short", "empty", "long"])
def test_the_number_of_answers_must_be_right(change: str, small: tuple[Recipe, Instance]) -> None:
    prediction = answers(items_of(small[1]), np.zeros(ITEMS))
    if change == "long":
        other = {name: np.concatenate([a, a[:1]]) for name, a in prediction.items()}
        assert "twice or more" in refused(other, small)
    else:
        kept = ITEMS - 1 if change == "short" else 0
        other = {name: array[:kept] for name, array in prediction.items()}
        assert "missing ids" in refused(other, small)


def test_infinite_scores_are_refused(small: tuple[Recipe, Instance]) -> None:
    scores = np.zeros(ITEMS)
    scores[7] = -np.inf
    assert "infinite in row 7" in refused(answers(items_of(small[1]), scores), small)


@pytest.mark.parametrize("row", [[0.5] * 10, [-0.1, 1.1] + [0.0] * 8, [np.nan] + [0.1] * 9])
def test_rows_that_are_no_probabilities_are_refused(
    row: list[float], small: tuple[Recipe, Instance]
) -> None:
    distribution = np.full((ITEMS, 10), 0.1)
    distribution[3] = row
    message = refused(answers(items_of(small[1]), np.zeros(ITEMS), distribution), small)
    assert "probabilities" in message
    assert "row 3" in message


def people(instance: Instance) -> Prediction:
    nothing = answers(items_of(instance), np.full(instance.public["ids"].size, np.nan))
    return {**nothing, "human": np.ones(1, dtype=np.bool_)}


def test_people_are_one_more_label_on_the_synthetic_grader(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    found = dict(task.score(people(instance), instance, recipe))
    assert found["parse_rate"] == 0.0
    here = ~instance.hidden["shifted"]
    label, gold = instance.hidden["rater"][here], instance.hidden["gold"][here]
    assert found["pearson"] == pytest.approx(np.corrcoef(label, gold)[0, 1])
    # Noise of .8 on labels, and their rounding, over the width of 9.
    assert found["rmse"] == pytest.approx(np.sqrt(0.8**2 + 1 / 12) / 9, rel=0.2)


def test_people_of_two_halves_are_stepped_up(small: tuple[Recipe, Instance]) -> None:
    recipe, instance = small
    rng = np.random.default_rng(0)
    truth = rng.normal(size=ITEMS)
    a, b = truth + rng.normal(size=(2, ITEMS))
    hidden = {k: v for k, v in instance.hidden.items() if k != "rater"}
    halved = Instance(instance.public, {**hidden, "ratings_a": a, "ratings_b": b})
    found = task.score(people(halved), halved, recipe)
    r = np.corrcoef(a, b)[0, 1]
    assert found["pearson"] == pytest.approx(2 * r / (1 + r))
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((a - b) ** 2) / 2) / 9)
    assert isinstance(found["kendall"], Undefined)
    alone = Instance(instance.public, hidden)
    assert isinstance(task.score(people(alone), alone, recipe)["pearson"], Undefined)


def test_who_asks_for_people_gives_no_scores_of_its_own(small: tuple[Recipe, Instance]) -> None:
    prediction = answers(items_of(small[1]), np.zeros(ITEMS))
    assert "NaN" in refused({**prediction, "human": np.ones(1, dtype=np.bool_)}, small)
    plain = task.score(prediction, small[1], small[0])
    said = task.score({**prediction, "human": np.zeros(1, dtype=np.bool_)}, small[1], small[0])
    assert plain == pytest.approx(dict(said), nan_ok=True)


def test_labels_are_noisy_levels_of_the_quality() -> None:
    _, instance = built("synthetic-grader")
    labels = instance.public["train_scores"]
    assert set(np.unique(labels)) == set(range(1, 11))
    gold = instance.hidden["gold"]
    assert gold.min() > 1
    assert gold.max() < 10
    assert instance.hidden["observed"].sum(axis=1) == pytest.approx(1.0)
    # An item's place says nothing, neither of its quality nor of the shift.
    for hidden in (gold, instance.hidden["shifted"].astype(float)):
        assert abs(np.corrcoef(np.arange(gold.size), hidden)[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"levels": 1}, "two or more"),
        ({"levels": 0}, "two or more"),
        ({"items": 0}, "1 or more"),
        ({"train": -1}, "1 or more"),
        ({"frequencies": [1.0]}, "criteria"),
        ({"frequencies": [1.0] * 17}, "criteria"),
        ({"surprise": 1}, "parameters"),
        ({"data": "other"}, "parameters"),
    ],
)
def test_bad_parameters_are_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_params(recipe_of(SMALL, **changes))


@pytest.mark.parametrize("problem", [p.id for p in SPEC.problems])
def test_every_declared_problem_has_parameters(problem: str) -> None:
    read_params(recipe_of(problem))


def test_offline_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in (("OFFLINE", "1"), ("CACHE", tmp_path), ("DATA", tmp_path)):
        monkeypatch.setenv(f"PODIUM_{name}", str(value))
    with pytest.raises(MissingError, match="hutto_ICWSM_2014"):
        built("hutto-tweets")
    with pytest.raises(MissingError, match="squality"):
        built("squality")
