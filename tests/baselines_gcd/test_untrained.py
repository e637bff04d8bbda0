"""The entries that group tokens as they are."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans

from podium import baselines
from podium.baselines.agglomerative import method as agglomerative
from podium.baselines.kmeans import method as kmeans
from podium.baselines.ss_kmeans import method as ss_kmeans
from podium.check.states import read_states, touched
from podium.contracts import Array, Prediction, Problem
from podium.declarations.entry import EntryFile
from podium.discovery.kmeans import semi_supervised_kmeans
from podium.errors import InputError
from podium.metrics.discovery import accuracies
from podium.seeding import generator

UNTRAINED = (ss_kmeans, kmeans, agglomerative)


class PlainContext:
    """One seed; keeps what is logged."""

    device = "cpu"
    threads = 1
    scratch = Path("unused")
    budget_left = float("inf")

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.logged: dict[str, float] = {}

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> Any:
        raise AssertionError(f"nothing is trained: {name} {device}")

    def log(self, step: int, **values: float) -> None:
        assert step >= 0
        assert np.isfinite(list(values.values())).all()
        self.logged |= values

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"predictions are small: {name} {chunk.shape}")


def entry_id(method: ModuleType) -> str:
    return method.__name__.split(".")[-2]


def tokens_of(
    seed: int = 0, *, classes: int = 6, old: int = 3, noise: float = 0.1, grid: bool = True
) -> tuple[dict[str, Array], Array]:
    """Draw a problem of 20 samples a class on a 2x2 grid; also its hidden truth."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(classes), 20)
    tokens = rng.normal(size=(classes, 4, 8))[truth] + noise * rng.normal(size=(truth.size, 4, 8))
    known = (truth < old) & (np.arange(truth.size) % 2 == 0)
    public: dict[str, Array] = {
        "labelled_tokens": tokens[known].astype(np.float32),
        "labels": truth[known],
        "unlabelled_tokens": tokens[~known].astype(np.float32),
        "grid": np.array([2, 2] if grid else [0, 0]),
        "classes": np.array([classes]),
    }
    return public, truth[~known]


def predict(
    method: ModuleType, public: dict[str, Array], seed: int = 0, **config: Any
) -> Prediction:
    for array in public.values():
        array.setflags(write=False)
    problem = Problem("gcd_accuracy", "test", "smoke", public)
    before = read_states()
    prediction: Prediction = method.run(problem, PlainContext(seed), **config)
    assert touched(before, read_states()) == []
    return prediction


def test_declarations() -> None:
    for method in UNTRAINED:
        path = Path(baselines.__file__).parent / entry_id(method) / "entry.toml"
        entry = msgspec.toml.decode(path.read_bytes(), type=EntryFile)
        assert entry.id == entry_id(method)
        assert entry.kind == "baseline"
        assert entry.tasks == ("gcd_accuracy",)
        if method is ss_kmeans:
            (control,) = entry.variants
            assert (control.id, control.kind) == ("patch_mean", "control")
            assert control.config == {"representation": "centred"}


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
@pytest.mark.parametrize("grid", [True, False])
def test_separated_classes_are_found(method: ModuleType, grid: bool) -> None:
    public, truth = tokens_of(grid=grid)
    found = predict(method, public)
    assert found["clusters"].dtype == np.int64
    assert found["clusters"].shape == truth.shape
    assert accuracies(found["clusters"], truth, 3).all == 1
    for part in ("labelled", "unlabelled"):
        features = found[f"{part}_features"]
        assert features.dtype == np.float32
        assert len(features) == len(public[f"{part}_tokens"])


def test_old_classes_keep_their_numbers() -> None:
    public, truth = tokens_of()
    clusters = predict(ss_kmeans, public)["clusters"]
    np.testing.assert_array_equal(clusters[truth < 3], truth[truth < 3])


def test_patch_mean_groups_the_mean_token() -> None:
    public, _ = tokens_of(noise=1.5)
    found = predict(ss_kmeans, public, representation="mean")
    means = [public[f"{part}_tokens"].mean(axis=1) for part in ("labelled", "unlabelled")]
    np.testing.assert_array_equal(found["labelled_features"], means[0])
    expected = semi_supervised_kmeans(
        means[0], public["labels"], means[1], 6, generator(0, "seeds")
    )
    np.testing.assert_array_equal(found["clusters"], expected.clusters)


def test_kmeans_is_that_of_scikit_learn() -> None:
    public, _ = tokens_of(noise=0.6)
    found = predict(kmeans, public, representation="mean", restarts=30)
    rows = np.concatenate([found["labelled_features"], found["unlabelled_features"]])
    theirs = KMeans(6, n_init=30, random_state=0).fit(rows)
    assert accuracies(found["clusters"], theirs.labels_[30:].astype(np.int64), 3).all == 1


def test_ward_is_that_of_scikit_learn() -> None:
    public, _ = tokens_of(noise=1.5)
    found = predict(agglomerative, public, representation="mean")
    rows = np.concatenate([found["labelled_features"], found["unlabelled_features"]])
    theirs = AgglomerativeClustering(6, linkage="ward").fit_predict(rows)[30:]
    np.testing.assert_array_equal(found["clusters"], theirs)


def test_ward_on_a_part_sends_the_rest_to_the_nearest_centroid() -> None:
    public, truth = tokens_of()
    found = predict(agglomerative, public, most=40)
    assert accuracies(found["clusters"], truth, 3).all == 1
    rows = predict(agglomerative, public, most=120)["unlabelled_features"]
    whole = agglomerative.linked(rows, 6, len(rows), np.random.default_rng(0))
    part = agglomerative.linked(rows, 6, 40, np.random.default_rng(0))
    assert accuracies(part, whole, 3).all == 1


def test_ward_on_fewer_samples_than_classes_is_refused() -> None:
    public, _ = tokens_of()
    with pytest.raises(InputError, match="at least 6, the number of classes"):
        predict(agglomerative, public, most=5)


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
def test_the_seed_decides_and_nothing_else(method: ModuleType) -> None:
    public, _ = tokens_of(noise=1.5)
    first, again, other = (
        predict(method, public, seed, representation="flat") for seed in (0, 0, 1)
    )
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
    assert any(not np.array_equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
def test_the_choice_of_representation_is_logged(method: ModuleType) -> None:
    public, _ = tokens_of()
    context = PlainContext(0)
    method.run(Problem("gcd_accuracy", "test", "smoke", public), context)
    assert {"centroid_accuracy_mean", "centroid_accuracy_flat"} <= set(context.logged)


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_tokens(method: ModuleType) -> None:
    public, truth = tokens_of()
    public = {k: np.full_like(v, 0.3) if "tokens" in k else v for k, v in public.items()}
    found = predict(method, public)
    assert found["clusters"].shape == truth.shape
    assert 0 <= found["clusters"].min() <= found["clusters"].max() < 6


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
def test_two_samples(method: ModuleType) -> None:
    public: dict[str, Array] = {
        "labelled_tokens": np.zeros((1, 3, 2), np.float32),
        "labels": np.zeros(1, np.int64),
        "unlabelled_tokens": np.ones((1, 3, 2), np.float32),
        "grid": np.array([0, 0]),
        "classes": np.array([2]),
    }
    found = predict(method, public)
    assert found["clusters"].shape == (1,)


@pytest.mark.parametrize("method", UNTRAINED, ids=entry_id)
def test_bad_problems_are_named(method: ModuleType) -> None:
    public, _ = tokens_of()
    with pytest.raises(InputError, match="fewer samples than classes"):
        predict(method, {**public, "classes": np.array([500])})
    broken = public["unlabelled_tokens"].copy()
    broken[3, 1, 0] = np.nan
    with pytest.raises(InputError, match="unlabelled_tokens: tokens are not finite"):
        predict(method, {**public, "unlabelled_tokens": broken})


def test_semi_supervised_kmeans_refuses_a_class_without_labels() -> None:
    public, _ = tokens_of()
    labels = np.where(public["labels"] == 1, 0, public["labels"])
    with pytest.raises(InputError, match="none of 1"):
        predict(ss_kmeans, {**public, "labels": labels})
    with pytest.raises(InputError, match="fewer clusters than old classes"):
        predict(ss_kmeans, {**public, "classes": np.array([2])})
