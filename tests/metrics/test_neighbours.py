"""Precision, recall, density, coverage, copying: by hand, prdc's conventions, golden predictors."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from podium.errors import InputError
from podium.metrics import neighbours as module
from podium.metrics.neighbours import (
    authenticity,
    density_coverage,
    duplicates,
    precision_recall,
)

Floats = npt.NDArray[np.float64]
Manifold = Callable[[Any, Any], tuple[float, float]]


def normal(seed: int, count: int, dimension: int = 8) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def column(*values: float) -> Floats:
    return np.array(values)[:, None]


def test_on_a_line_by_hand() -> None:
    """Radii of the nearest other: 1, 1, 3 of 0, 1, 4 and 0.5, 0.5, 94.5 of 5, 5.5, 100."""
    real, fake = column(0, 1, 4), column(5, 5.5, 100)
    inside = np.abs(real.T - fake) < [1, 1, 3]
    reached = np.abs(real - fake.T) < [0.5, 0.5, 94.5]
    assert precision_recall(real, fake, k=1) == (
        inside.any(axis=1).mean(),
        reached.any(axis=1).mean(),
    )
    assert density_coverage(real, fake, k=1) == (inside.sum() / 3, inside.any(axis=0).mean())


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize(("n", "m"), [(200, 200), (150, 60), (60, 150)])
def test_the_conventions_of_prdc(k: int, n: int, m: int) -> None:
    prdc = pytest.importorskip("prdc")
    real, fake = normal(0, n), normal(1, m) * 0.9 + 1.0
    theirs = prdc.compute_prdc(real, fake, k)
    precision, recall = precision_recall(real, fake, k)
    density, coverage = density_coverage(real, fake, k)
    assert 0.05 < coverage < 1
    assert {
        "precision": precision,
        "recall": recall,
        "density": pytest.approx(density),
        "coverage": coverage,
    } == theirs


def test_prdc_agrees_on_single_precision() -> None:
    prdc = pytest.importorskip("prdc")
    real, fake = normal(2, 300).astype(np.float32), normal(3, 200).astype(np.float32)
    theirs = prdc.compute_prdc(real, fake, 5)
    assert density_coverage(real, fake) == pytest.approx((theirs["density"], theirs["coverage"]))


def test_the_same_distribution() -> None:
    precision, recall = precision_recall(normal(4, 800), normal(5, 800))
    density, coverage = density_coverage(normal(4, 800), normal(5, 800))
    assert precision == pytest.approx(recall, abs=0.08)
    assert density == pytest.approx(1.0, abs=0.1)
    # 1 - 2^-k in the limit (Naeem et al., lemma 1), for k = 5.
    assert coverage == pytest.approx(1 - 2**-5, abs=0.03)


def test_sets_far_apart_and_one_mode_of_two() -> None:
    real = normal(6, 200)
    assert precision_recall(real, real + 100) == (0.0, 0.0)
    assert density_coverage(real, real + 100) == (0.0, 0.0)
    two = np.concatenate([normal(7, 200), normal(8, 200) + 30])
    density, coverage = density_coverage(two, normal(9, 400))
    precision, recall = precision_recall(two, normal(9, 400))
    assert coverage == pytest.approx(0.5, abs=0.05)
    assert recall == pytest.approx(0.5, abs=0.15)
    assert precision > 0.8
    assert density == pytest.approx(1.0, abs=0.25)


def test_one_picture_repeated_has_density_without_coverage() -> None:
    real = normal(10, 300)
    fake = np.tile(real[:1], (300, 1))
    density, coverage = density_coverage(real, fake)
    precision, recall = precision_recall(real, fake)
    assert precision == 1.0
    assert recall == 0.0
    assert coverage <= 0.1
    assert density >= 0.2
    # Nothing is within a radius of 0.
    assert density_coverage(fake, fake) == (0.0, 0.0)


def test_a_copy_lies_on_its_neighbours_radius_and_is_outside_it() -> None:
    """Distances of exactly a radius must not be in or out by rounding."""
    for shift in (0.0, 1000.0):
        real = normal(11, 400, 32) + shift
        precision, recall = precision_recall(real, real)
        assert (precision, recall) == (1.0, 1.0)
        density, coverage = density_coverage(real, real)
        # Each real sample holds itself and its k - 1 nearest others.
        assert (density, coverage) == (1.0, 1.0)


def test_authenticity_and_duplicates_catch_copies() -> None:
    train, fresh = normal(12, 500), normal(13, 300)
    assert authenticity(train, fresh) == pytest.approx(0.5, abs=0.1)
    assert authenticity(train, train) == 0.0
    assert authenticity(train, train[:100] + 1e-3) == 0.0
    assert authenticity(train, fresh + 50) == 1.0
    assert duplicates(train, fresh, 1e-2) == 0.0
    assert duplicates(train, train, 0.0) == 1.0
    half = np.concatenate([train[:150], fresh[:150]])
    assert duplicates(train, half, 1e-6) == 0.5
    assert authenticity(train, half) == pytest.approx(0.25, abs=0.05)


def test_a_copy_of_what_the_training_set_holds_twice_is_a_copy() -> None:
    train = np.repeat(normal(14, 50), 2, axis=0)
    assert authenticity(train, train[::2]) == 0.0
    assert authenticity(train, train[::2] + 0.01) == 1.0


def test_authenticity_is_that_of_all_pairs() -> None:
    train, fake = normal(15, 200), normal(16, 150)
    own = cdist(train, train)
    np.fill_diagonal(own, np.inf)
    between = cdist(fake, train)
    nearest = between.argmin(axis=1)
    expected = (between.min(axis=1) > own.min(axis=1)[nearest]).mean()
    assert authenticity(train, fake) == expected


def test_the_tolerance_is_a_root_mean_square() -> None:
    train = np.random.default_rng(17).integers(0, 256, (60, 48), dtype=np.uint8)
    near = np.clip(train.astype(int) + np.where(train > 128, -2, 2), 0, 255).astype(np.uint8)
    assert duplicates(train, near, 1.99) == 0.0
    assert duplicates(train, near, 2.0) == 1.0
    assert duplicates(train, train, 0.0) == 1.0
    one = train.copy()
    one[:, 0] ^= 1
    assert duplicates(train, one, 0.0) == 0.0


def test_half_precision_is_that_of_its_values_in_double() -> None:
    real, fake = normal(21, 90).astype(np.float16), normal(22, 80).astype(np.float16)
    for work in (precision_recall, density_coverage):
        assert work(real, fake) == work(real.astype(np.float64), fake.astype(np.float64))
    expected = authenticity(real.astype(np.float64), fake.astype(np.float64))
    assert authenticity(real, fake) == expected


def test_one_fake_is_enough_where_its_own_radius_is_not_asked_for() -> None:
    real = normal(23, 40)
    density, coverage = density_coverage(real, real[:1])
    assert density > 0
    assert 0 < coverage < 0.5
    assert authenticity(real, real[:1]) == 0.0


@given(st.integers(0, 2**32 - 1), st.integers(7, 40), st.integers(7, 40), st.floats(0.01, 100))
@settings(deadline=None)
def test_order_rotation_translation_and_scale(seed: int, n: int, m: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    real, fake = rng.standard_normal((n, 4)), rng.standard_normal((m, 4))
    turn = scale * np.linalg.qr(rng.standard_normal((4, 4)))[0]
    moves = (
        (real[rng.permutation(n)], fake[rng.permutation(m)]),
        (real @ turn + 3.0, fake @ turn + 3.0),
    )
    for work in (precision_recall, density_coverage):
        value = work(real, fake)
        assert all(share >= 0 for share in value)
        for one, other in moves:
            assert work(one, other) == value
    for one, other in moves:
        assert authenticity(one, other) == authenticity(real, fake)


@pytest.mark.parametrize("entries", [1, 100, 1000])
def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    real, fake = normal(18, 120), normal(19, 90)
    works: list[Callable[[Floats, Floats], Any]] = [
        precision_recall,
        density_coverage,
        authenticity,
    ]
    whole = [work(real, fake) for work in works]
    monkeypatch.setattr(module, "_ENTRIES", entries)
    monkeypatch.setattr(module, "BLOCK", 50)
    assert [work(real, fake) for work in works] == whole


def test_memory_is_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENTRIES", 1 << 18)
    real = np.random.default_rng(20).standard_normal((5000, 2), dtype=np.float32)
    tracemalloc.start()
    density_coverage(real, real)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 20e6


@pytest.mark.parametrize("work", [precision_recall, density_coverage, authenticity])
@pytest.mark.parametrize(
    ("real", "fake", "words"),
    [
        (np.zeros((1, 3)), np.zeros((9, 3)), "too few"),
        (np.zeros((9, 3)), np.zeros((0, 3)), "too few"),
        (np.zeros((9, 3)), np.zeros((9, 2)), "another dimension"),
        (np.full((9, 3), np.nan), np.zeros((9, 3)), "rows: 0, 1"),
        (np.full((9, 3), 1e200) * np.array([[1], [-1], [1]] * 3), np.zeros((9, 3)), "too large"),
    ],
)
def test_bad_features(work: Callable[..., Any], real: Floats, fake: Floats, words: str) -> None:
    with pytest.raises(InputError, match=words):
        work(real, fake)


def test_bad_arguments() -> None:
    for work in (precision_recall, density_coverage):
        with pytest.raises(InputError, match="k"):
            work(np.eye(9), np.eye(9), k=0)
        with pytest.raises(InputError, match="at least 10"):
            work(np.eye(9), np.eye(9), k=9)
    for tolerance in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="tolerance"):
            duplicates(np.eye(3), np.eye(3), tolerance)
