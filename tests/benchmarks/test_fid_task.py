"""The task FID-50K: its contract, its seeds, its splits, and what its metrics say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.benchmarks import fid_50k
from podium.benchmarks.fid_50k import assets, task
from podium.benchmarks.fid_50k.grid import sample_grid
from podium.benchmarks.fid_50k.params import Mixture, read_params
from podium.benchmarks.fid_50k.second import SecondFeatures, fit_second
from podium.benchmarks.fid_50k.sources import mixture, read_splits
from podium.benchmarks.fid_50k.splits import Split, check_sizes, sample_labels, split_by_class
from podium.contracts import Array, Instance, Recipe, Undefined
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.weights import from_vector
from podium.runner.validate import array_faults
from podium.seeding import generator

SPEC = toml.load(Path(fid_50k.__file__).parent / "task.toml", TaskSpec)
SMOKE = "mixture-8d"


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PODIUM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


class FidBuildContext:
    """The task's files, and generators of one seed and problem."""

    def __init__(self, seed: int, problem: str) -> None:
        self.files = Resolver(SPEC.files)
        self._names = (seed, problem)

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._names[0], SPEC.id, self._names[1], name)


def recipe_of(problem: str = SMOKE, seed: int = 0, **changes: Any) -> Recipe:
    declared = SPEC.problem(problem)
    return Recipe(SPEC.id, problem, declared.tiers[0], {**declared.params, **changes}, seed)


@cache
def built(seed: int = 0) -> Instance:
    return task.build(recipe_of(seed=seed), FidBuildContext(seed, SMOKE))


@cache
def scored(name: str) -> dict[str, float]:
    return dict(task.score({"samples": samples_of(name)}, built(), recipe_of()))


def samples_of(name: str) -> Array:
    """Samples that a metric must tell apart, of the classes asked for."""
    public, hidden = built().public, built().hidden
    rng = np.random.default_rng(0)
    asked = public["sample_labels"]
    if name == "noise":
        return rng.integers(0, 256, (asked.size, 2, 4, 1), dtype=np.uint8)
    if name == "held out":
        images: Array = hidden["held_out_images"]
        return images[np.arange(asked.size) % len(images)]
    split = "train" if name in ("copies", "one each") else "reward"
    chosen = np.empty(asked.size, dtype=np.int64)
    for label in np.unique(asked):
        rows = np.flatnonzero(public[f"{split}_labels"] == label)
        places = np.flatnonzero(asked == label)
        chosen[places] = rows[0] if name == "one each" else rng.choice(rows, places.size)
    found: Array = public[f"{split}_images"][chosen]
    return found


@pytest.mark.parametrize("problem", [p.id for p in SPEC.problems])
def test_every_problem_has_parameters_that_can_be_read(problem: str) -> None:
    params = read_params(recipe_of(problem))
    assert params.samples >= 10 * params.features
    tier = SPEC.problem(problem).tiers[0]
    assert params.samples == {"smoke": 2_000, "small": 10_000, "full": 50_000}[tier]
    if tier == "small":
        assert "FID-10K" in SPEC.problem(problem).title


def test_contract() -> None:
    instance = built()
    assert array_faults(SPEC.arrays.public, instance.public, None) == []
    assert instance.public["sample_labels"].shape == (2_000,)
    assert len(instance.public["checkpoint_weights"]) == assets.CHECKPOINTS
    classes = np.unique(instance.public["train_labels"])
    for name in ("reward_labels", "sample_labels"):
        assert np.array_equal(np.unique(instance.public[name]), classes)
    # Nothing of the second map is public.
    assert not any(name.startswith("second") for name in instance.public)


def test_only_the_order_of_the_classes_asked_for_comes_from_the_seed() -> None:
    first, other = built(0), built(1)
    for name, array in first.public.items():
        assert np.array_equal(array, other.public[name]) == (name != "sample_labels")
    for name, array in first.hidden.items():
        assert np.array_equal(array, other.hidden[name])
    asked = [np.bincount(i.public["sample_labels"]).tolist() for i in (first, other)]
    assert asked[0] == asked[1]


def test_a_second_build_reads_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    first = built()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("trained again")

    monkeypatch.setattr(assets, "train", refuse)
    again = task.build(recipe_of(seed=0), FidBuildContext(0, SMOKE))
    assert np.array_equal(again.public["base_weights"], first.public["base_weights"])
    # Another training is another generator.
    with pytest.raises(AssertionError, match="trained again"):
        task.build(recipe_of(steps=11), FidBuildContext(0, SMOKE))


def test_nothing_global_is_drawn_from() -> None:
    torch.manual_seed(5)
    numpy_before, torch_before = np.random.get_state(), torch.get_rng_state()
    task.build(recipe_of(steps=8, classifier_steps=2), FidBuildContext(0, SMOKE))
    scored("noise")
    assert repr(np.random.get_state()) == repr(numpy_before)
    assert torch.equal(torch.get_rng_state(), torch_before)


def test_the_base_is_better_than_noise_and_leaves_something_to_gain() -> None:
    instance = built()
    size = Architecture.from_array(instance.public["architecture"])
    assert from_vector(size, instance.public["base_weights"])
    base, floor = float(instance.hidden["base_frechet"][0]), scored("real")["frechet"]
    assert 4 * floor < base < 0.4 * scored("noise")["frechet"]


def test_order_of_quality() -> None:
    assert scored("held out")["frechet"] == pytest.approx(0.0, abs=0.01)
    for metric in ("relative_frechet", "frechet", "frechet_reward_map", "kid"):
        assert scored("held out")[metric] < scored("noise")[metric]
        assert scored("real")[metric] < scored("one each")[metric]
    for metric in ("precision", "density", "coverage"):
        assert scored("real")[metric] > scored("noise")[metric]
    assert scored("real")["coverage"] > 0.9
    assert scored("real")["relative_frechet"] < 0.2


def test_a_collapse_is_seen() -> None:
    collapsed = scored("one each")
    assert collapsed["coverage"] < 0.1
    assert collapsed["recall"] < 0.1


def test_copies_are_caught() -> None:
    copies = scored("copies")
    assert (copies["authenticity"], copies["duplicates"]) == (0.0, 1.0)
    fresh = scored("real")
    assert fresh["authenticity"] > 0.4
    assert fresh["duplicates"] < 0.05


def test_scores_do_not_depend_on_the_order_of_blocks(tmp_path: Path) -> None:
    """Samples mapped from disk score as those in memory do."""
    samples = samples_of("real")
    mapped = np.memmap(tmp_path / "samples", np.uint8, "w+", shape=samples.shape)
    mapped[:] = samples
    assert task.score({"samples": mapped}, built(), recipe_of()) == pytest.approx(
        scored("real"), nan_ok=True
    )


def test_rank_correlation_of_rewards() -> None:
    first = np.array([1.0, 2.0, 3.0, 4.0])

    def correlation(second: list[float]) -> float:
        prediction = {
            "samples": samples_of("real"),
            "subset_rewards": first[: len(second)],
            "recomputed_rewards": np.array(second),
        }
        return task.score(prediction, built(), recipe_of())["reward_rank_correlation"]

    assert correlation([10.0, 20.0, 20.5, 90.0]) == 1.0
    assert correlation([4.0, 3.0, 2.0, 1.0]) == -1.0
    for undefined in ([1.0, 1.0, 1.0, 1.0], [1.0, 2.0]):
        assert isinstance(correlation(undefined), Undefined)
    assert isinstance(scored("real")["reward_rank_correlation"], Undefined)


def test_the_sheet_shows_samples_by_class() -> None:
    samples = samples_of("real")
    sheet = task.picture({"samples": samples}, built(), recipe_of())
    assert sheet.dtype == np.uint8
    assert sheet.shape == (8 * 16, 8 * 32, 3)
    labels = np.array([1, 0, 2])
    images = np.array([10, 20, 30], dtype=np.uint8).reshape(3, 1, 1, 1)
    small = sample_grid(images, labels)
    assert small[0, ::32, 0].tolist() == [20, 10, 30, 255, 255, 255, 255, 255]


def test_splits_are_disjoint_and_by_class() -> None:
    images = np.arange(120, dtype=np.uint8).reshape(120, 1, 1, 1)
    labels = np.repeat(np.arange(3, dtype=np.int64), 40)
    splits = split_by_class(images, labels, 0.5, np.random.default_rng(0), "here")
    parts = (splits.train, splits.reward, splits.held_out)
    assert [np.bincount(p.labels).tolist() for p in parts] == [[20] * 3, [10] * 3, [10] * 3]
    rows = np.concatenate([p.images.ravel() for p in parts])
    assert sorted(rows.tolist()) == list(range(120))
    assert all((p.images.ravel() // 40 == p.labels).all() for p in parts)
    with pytest.raises(InputError, match="2 of class 1"):
        split_by_class(images[:5], np.array([0, 0, 0, 1, 1]), 0.5, np.random.default_rng(0), "x")
    with pytest.raises(InputError, match="ten for each feature"):
        check_sizes(splits, 4, "here")
    check_sizes(splits, 3, "here")


def test_classes_asked_for_are_in_proportion() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2])
    found = sample_labels(labels, 100, np.random.default_rng(0))
    assert np.bincount(found).tolist() == [50, 33, 17]
    assert not np.array_equal(found, np.sort(found))


def test_the_mixture_is_skewed_for_training_only() -> None:
    params = read_params(recipe_of())
    assert isinstance(params, Mixture)
    splits = mixture(params, lambda name: generator(0, name))
    for split, share in ((splits.train, 0.8), (splits.reward, 0.5), (splits.held_out, 0.5)):
        pixels = split.images.reshape(len(split), 8).astype(float)
        for label in range(3):
            rows = pixels[split.labels == label]
            # The two modes of a class lie on either side of their middle.
            first = (rows - rows.mean(axis=0)) @ (rows[0] - rows.mean(axis=0)) > 0
            larger = max(first.mean(), 1 - first.mean())
            assert larger == pytest.approx(share, abs=0.12)


@pytest.mark.parametrize(
    "change", [{"train": 1.0}, {"features": 0}, {"samples": 159}, {"size": 3}, {"decay": 1.0}]
)
def test_bad_parameters_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"fid_50k/{SMOKE}"):
        read_params(recipe_of(**change))


def test_digits_are_split_as_declared() -> None:
    params = read_params(recipe_of("digits-8"))
    splits = read_splits(params, Resolver(()), lambda name: generator(0, name), "here")
    check_sizes(splits, params.features, "here")
    assert splits.train.images.shape[1:] == (8, 8, 1)
    assert (int(splits.train.images.min()), int(splits.train.images.max())) == (0, 255)
    assert len(splits.train) + len(splits.reward) + len(splits.held_out) == 1797


@pytest.mark.parametrize("kind", ["random", "perceptron"])
def test_a_second_map_is_whitened_only_as_a_whole(kind: Any) -> None:
    params = read_params(recipe_of())
    assert isinstance(params, Mixture)
    splits = mixture(params, lambda name: generator(0, name))
    made = fit_second(
        kind,
        splits.train,
        features=8,
        steps=20,
        generator=torch.Generator().manual_seed(0),
        weights=None,
    )
    rows = SecondFeatures(made)(splits.train.images).astype(float)
    assert rows.mean(axis=0) == pytest.approx(0.0, abs=1e-3)
    covariance = np.cov(rows, rowvar=False)
    assert np.trace(covariance) == pytest.approx(8.0, rel=1e-3)
    assert covariance - np.diag(np.diag(covariance)) == pytest.approx(0.0, abs=1e-3)
    assert (np.diff(np.diag(covariance)) <= 1e-6).all()
    # What it makes of a picture does not depend on its neighbours.
    part = Split(splits.train.images[5:8], splits.train.labels[5:8])
    assert SecondFeatures(made)(part.images) == pytest.approx(rows[5:8], abs=1e-4)


def test_claims_name_known_problems_and_five_seeds() -> None:
    assert {c.id for c in SPEC.claims if c.gate} == {
        "distribution-reward-cuts-frechet",
        "distribution-reward-keeps-coverage",
        "sample-reward-collapses",
        "subset-rewards-rank-as-full-ones",
        "merging-beats-best-checkpoint",
        "merging-beats-fixed-ema",
    }
    for claim in SPEC.claims:
        assert claim.tier == "small"
        assert claim.min_seeds == 5
