"""From tokens to one row a sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist
from sklearn.model_selection import PredefinedSplit, cross_val_score
from sklearn.neighbors import NearestCentroid

from podium.discovery import representation
from podium.discovery.representation import Represented, centroid_accuracy, represent
from podium.discovery.samples import Samples
from podium.errors import InputError
from podium.nn.discovery.host import ContrastiveHost, Projector, RefinedMean
from podium.nn.discovery.token_mlp import TokenMLP
from podium.nn.discovery.tokens import on_device


def grid_samples(seed: int = 0, *, telling: str = "flat", noise: float = 0.3) -> Samples:
    """Draw 4 classes (2 old) on a 2x3 grid, told apart by the place of a token or by its mean."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 30)
    shifts = rng.normal(size=(4, 6, 5))
    if telling == "flat":
        shifts -= shifts.mean(axis=1, keepdims=True)
    else:
        shifts = np.broadcast_to(0.3 * rng.normal(size=(4, 1, 5)), (4, 6, 5))
        noise = 1.0
    tokens = (shifts[truth] + noise * rng.normal(size=(120, 6, 5))).astype(np.float32)
    known = (truth < 2) & (np.arange(120) % 2 == 0)
    return Samples(tokens[known], truth[known], tokens[~known], 4, (2, 3))


def rows_of(samples: Samples, kind: Any, seed: int = 0, **more: Any) -> Represented:
    return represent(samples, kind, np.random.default_rng(seed), **more)


def test_mean_is_the_mean_of_the_tokens() -> None:
    samples = grid_samples()
    rows = rows_of(samples, "mean")
    np.testing.assert_allclose(rows.labelled, samples.labelled.mean(axis=1))
    np.testing.assert_allclose(rows.unlabelled, samples.unlabelled.mean(axis=1))
    assert rows.labelled.dtype == rows.unlabelled.dtype == np.float32
    assert rows.merits == {}


@pytest.mark.parametrize("class_tokens", [False, True])
def test_centred_is_what_a_module_that_changes_nothing_gives(class_tokens: bool) -> None:
    samples = grid_samples()
    count = len(samples.labels)
    if class_tokens:
        drawn = np.random.default_rng(3).normal(2, 5, (len(samples.tokens), 5)).astype(np.float32)
        samples = replace(samples, labelled_class=drawn[:count], unlabelled_class=drawn[count:])
    data = on_device(samples, "cpu")
    module = TokenMLP(5, 7, torch.Generator().manual_seed(0))
    host = ContrastiveHost(RefinedMean(module), Projector(5, 4, 3, torch.Generator()))
    with torch.no_grad():
        expected = host.features(data.tokens, data.class_tokens).numpy()
    rows = rows_of(samples, "centred")
    found = np.concatenate([rows.labelled, rows.unlabelled])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_class_tokens_have_unit_length() -> None:
    samples = grid_samples()
    tokens = samples.tokens[:, 0].copy()
    tokens[3] = 0
    count = len(samples.labels)
    samples = replace(samples, labelled_class=tokens[:count], unlabelled_class=tokens[count:])
    rows = rows_of(samples, "class")
    lengths = np.linalg.norm(np.concatenate([rows.labelled, rows.unlabelled]), axis=1)
    np.testing.assert_allclose(np.delete(lengths, 3), 1, rtol=1e-6)
    assert lengths[3] == 0


def test_all_axes_keep_the_distances_between_flattened_tokens() -> None:
    samples = grid_samples()
    rows = rows_of(samples, "flat", axes=1000)
    assert rows.labelled.shape[1] == 30
    flat = samples.tokens.reshape(120, -1)
    kept = np.concatenate([rows.labelled, rows.unlabelled])
    np.testing.assert_allclose(pdist(kept), pdist(flat), rtol=1e-4)


def test_axes_are_those_of_an_exact_decomposition() -> None:
    samples = grid_samples()
    rows = rows_of(samples, "flat", axes=3)
    flat = samples.tokens.reshape(120, -1).astype(np.float64)
    flat -= flat.mean(axis=0)
    directions = np.linalg.svd(flat, full_matrices=False)[2][:3]
    kept = np.concatenate([rows.labelled, rows.unlabelled])
    np.testing.assert_allclose(np.abs(kept), np.abs(flat @ directions.T), atol=2e-3)


def test_large_sets_are_fitted_on_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tokens have few directions, a part of the samples knows them all."""
    rng = np.random.default_rng(0)
    tokens = (rng.normal(size=(120, 4)) @ rng.normal(size=(4, 30))).astype(np.float32)
    tokens = tokens.reshape(120, 6, 5)
    samples = replace(grid_samples(), labelled=tokens[:30], unlabelled=tokens[30:])
    monkeypatch.setattr(representation, "FITTED", 25)
    rows = rows_of(samples, "flat", axes=4)
    kept = np.concatenate([rows.labelled, rows.unlabelled])
    np.testing.assert_allclose(pdist(kept), pdist(tokens.reshape(120, -1)), rtol=1e-3)


def test_fewer_samples_than_axes() -> None:
    samples = grid_samples()
    samples = replace(
        samples,
        labelled=samples.labelled[:2],
        labels=samples.labels[:2],
        unlabelled=samples.unlabelled[:3],
    )
    assert rows_of(samples, "flat").unlabelled.shape == (3, 5)


@pytest.mark.parametrize("telling", ["flat", "mean"])
def test_auto_takes_what_tells_the_labelled_classes_apart(telling: str) -> None:
    samples = grid_samples(telling=telling)
    rows = rows_of(samples, "auto")
    assert rows.kind == telling
    assert set(rows.merits) == {"mean", "flat"}
    assert rows.merits[telling] == max(rows.merits.values()) > min(rows.merits.values())


def test_auto_never_looks_at_unlabelled_order_or_truth() -> None:
    samples = grid_samples()
    other = replace(samples, unlabelled=samples.unlabelled[::-1].copy())
    first, second = rows_of(samples, "auto", axes=30), rows_of(other, "auto", axes=30)
    assert first.merits == pytest.approx(second.merits)


def test_sets_have_only_the_mean() -> None:
    samples = replace(grid_samples(telling="flat"), grid=None)
    rows = rows_of(samples, "auto")
    assert rows.kind == "mean"
    assert rows.merits == {}


def test_between_equals_the_simplest_is_taken() -> None:
    samples = grid_samples()
    tokens = np.ones_like(samples.labelled)
    rows = rows_of(replace(samples, labelled=tokens, unlabelled=samples.unlabelled), "auto")
    assert rows.merits["mean"] == rows.merits["flat"]
    assert rows.kind == "mean"


def test_constant_tokens_have_constant_rows() -> None:
    samples = grid_samples()
    samples = replace(
        samples,
        labelled=np.full_like(samples.labelled, 0.3),
        unlabelled=np.full_like(samples.unlabelled, 0.3),
    )
    for kind in ("auto", "mean", "flat"):
        rows = rows_of(samples, kind)
        everything = np.concatenate([rows.labelled, rows.unlabelled])
        assert np.isfinite(everything).all()
        assert np.ptp(everything, axis=0).max() < 1e-5


def test_merit_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=200)
    rows = (rng.normal(size=(3, 4))[labels] + rng.normal(size=(200, 4))).astype(np.float32)
    folds = rng.integers(5, size=200)
    scores = cross_val_score(NearestCentroid(), rows, labels, cv=PredefinedSplit(folds))
    expected = np.average(scores, weights=np.bincount(folds))
    assert centroid_accuracy(rows, labels, folds) == pytest.approx(expected)


def test_merit_of_classes_with_one_sample_is_nothing() -> None:
    rows, labels = np.eye(3, dtype=np.float32), np.arange(3)
    assert centroid_accuracy(rows, labels, np.arange(3)) == 0
    assert centroid_accuracy(rows, labels, np.zeros(3, np.int64)) == 0
    assert centroid_accuracy(rows, np.zeros(3, np.int64), np.arange(3)) == 1


def test_the_seed_decides_and_arrays_may_be_read_only() -> None:
    samples = grid_samples(noise=2.0)
    for array in (samples.labelled, samples.unlabelled, samples.labels):
        array.setflags(write=False)
    first, again, other = (rows_of(samples, "auto", seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.unlabelled, again.unlabelled)
    assert first.merits == again.merits != other.merits


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("class", {}, "expected: auto or mean or flat or centred"),
        ("flat", {"grid": None}, "flat needs tokens on a grid"),
        ("auto", {"labelled": np.full((30, 6, 5), np.nan, np.float32)}, "labelled_tokens"),
        ("flat", {"unlabelled": np.full((90, 6, 5), np.inf, np.float32)}, "unlabelled_tokens"),
    ],
)
def test_bad_input_is_named(kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rows_of(replace(grid_samples(), **change), kind)


def test_bad_axes_are_named() -> None:
    with pytest.raises(InputError, match="axes"):
        rows_of(grid_samples(), "flat", axes=0)
