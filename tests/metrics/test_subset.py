"""Replaced subsets: every value that of a full computation, and the set untouched or committed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import InputError
from podium.metrics import subset
from podium.metrics.frechet import Reference, frechet_of_features
from podium.metrics.root_trace import change_of_root_trace
from podium.metrics.subset import SubsetFrechet

Floats = npt.NDArray[np.float64]


def mixed(seed: int, count: int, dimension: int) -> Floats:
    rng = np.random.default_rng(seed)
    scale = np.arange(1, dimension + 1) ** -0.5
    mixing = np.eye(dimension) + 0.2 * rng.standard_normal((dimension, dimension))
    return rng.standard_normal((count, dimension)) @ (mixing * scale) + rng.standard_normal(
        dimension
    )


def reference(features: Floats) -> Reference:
    return Reference(features.mean(axis=0), np.atleast_2d(np.cov(features.T)))


def swapped(
    features: npt.NDArray[Any], rows: npt.NDArray[Any], new: npt.NDArray[Any]
) -> npt.NDArray[Any]:
    changed = features.copy()
    changed[rows] = new
    return changed


@pytest.mark.parametrize(
    ("count", "dimension"), [(500, 12), (14, 12), (13, 12), (12, 12), (6, 12), (3, 12), (30, 1)]
)
@pytest.mark.parametrize("replaced", [0, 1, 3])
def test_it_is_a_full_computation(count: int, dimension: int, replaced: int) -> None:
    real, generated = mixed(0, 300, dimension), mixed(1, count, dimension)
    new = mixed(2, replaced, dimension)
    rows = np.random.default_rng(3).choice(count, replaced, replace=False)
    held = SubsetFrechet(reference(real), generated)
    before = frechet_of_features(real, generated)
    after = frechet_of_features(real, swapped(generated, rows, new))
    assert held.count == count
    assert held.distance == pytest.approx(before, rel=1e-8)
    assert held.replaced(rows, new) == pytest.approx(after, rel=1e-8)
    assert held.distance == pytest.approx(before, rel=1e-8)
    held.replace(rows, new)
    assert held.distance == pytest.approx(after, rel=1e-8)


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 20), min_size=1, max_size=5))
@settings(deadline=None, max_examples=40)
def test_many_commits_leave_no_trace(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    real, generated = mixed(4, 200, 6), mixed(seed, 40, 6)
    held = SubsetFrechet(reference(real), generated)
    for size in sizes:
        rows, new = rng.choice(40, size, replace=False), 5 * rng.standard_normal((size, 6)) + 20
        generated = swapped(generated, rows, new)
        expected = held.replaced(rows, new)
        held.replace(rows, new)
        assert held.distance == pytest.approx(expected, rel=1e-12)
    assert held.distance == pytest.approx(frechet_of_features(real, generated), rel=1e-8)


def test_the_callers_arrays_stay_as_they_are() -> None:
    generated = mixed(5, 30, 4)
    copy = generated.copy()
    held = SubsetFrechet(reference(mixed(6, 100, 4)), generated)
    held.replace(np.array([3, 4]), np.zeros((2, 4)))
    np.testing.assert_array_equal(generated, copy)


def test_replaced_by_itself_and_back_again() -> None:
    generated = mixed(7, 50, 5)
    held = SubsetFrechet(reference(mixed(8, 100, 5)), generated)
    before = held.distance
    rows = np.array([1, 7, 20])
    assert held.replaced(rows, generated[rows]) == pytest.approx(before, rel=1e-12)
    held.replace(rows, generated[rows] + 100.0)
    assert held.distance > before + 10
    held.replace(rows, generated[rows])
    assert held.distance == pytest.approx(before, rel=1e-9)


@pytest.mark.parametrize("decay", [0.0, 0.5, 1.0])
def test_many_tries_on_one_set_take_the_shorter_way_to_the_same_value(
    decay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(25)
    mixing = np.linalg.qr(rng.standard_normal((90, 90)))[0] * np.arange(1, 91) ** -decay

    def draw(count: int) -> Floats:
        drawn: Floats = rng.standard_normal((count, 90)) @ mixing.T
        return drawn

    real, generated = draw(400), draw(300) + 0.1
    held = SubsetFrechet(reference(real), generated)
    changes = []

    def counted(*arguments: Any) -> float | None:
        changes.append(change_of_root_trace(*arguments))
        return changes[-1]

    monkeypatch.setattr(subset, "change_of_root_trace", counted)
    for _ in range(12):
        rows, new = rng.choice(300, 5, replace=False), draw(5) + 0.5
        expected = frechet_of_features(real, swapped(generated, rows, new))
        assert held.replaced(rows, new) == pytest.approx(expected, rel=1e-8)
    assert len(changes) == 8
    assert None not in changes
    held.replace(rows, new)
    generated = swapped(generated, rows, new)
    for _ in range(6):
        expected = frechet_of_features(real, swapped(generated, rows[:2], new[:2] + 1))
        assert held.replaced(rows[:2], new[:2] + 1) == pytest.approx(expected, rel=1e-8)
    assert len(changes) == 10


def test_many_tries_on_a_set_of_few_samples() -> None:
    """No more samples than dimensions: singular, so that only the longer way will do."""
    real, generated, new = mixed(26, 200, 40), mixed(27, 30, 40), mixed(28, 2, 40)
    held = SubsetFrechet(reference(real), generated)
    expected = frechet_of_features(real, swapped(generated, np.array([4, 9]), new))
    for _ in range(8):
        assert held.replaced([4, 9], new) == pytest.approx(expected, rel=1e-8)


def test_everything_replaced() -> None:
    real, generated, new = mixed(9, 100, 4), mixed(10, 20, 4), mixed(11, 20, 4)
    held = SubsetFrechet(reference(real), generated)
    expected = frechet_of_features(real, new)
    assert held.replaced(np.arange(20)[::-1], new) == pytest.approx(expected, rel=1e-9)


def test_singular_sets() -> None:
    """One picture repeated, units that never fire on either side, a reference of no spread."""
    real = np.insert(mixed(12, 100, 5), 2, 0.0, axis=1)
    one = np.tile(mixed(13, 1, 6), (30, 1))
    dead = mixed(14, 30, 6)
    dead[:, 4] = 1.0
    rows, new = np.array([0, 3]), mixed(15, 2, 6)
    for real_set in (real, np.tile(real[:1], (9, 1))):
        for generated in (one, dead, real[:30]):
            held = SubsetFrechet(reference(real_set), generated)
            for value, features in (
                (held.distance, generated),
                (held.replaced(rows, new), swapped(generated, rows, new)),
            ):
                expected = frechet_of_features(real_set, features)
                assert value == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_equal_sets_are_never_below_zero() -> None:
    real = mixed(16, 60, 5)
    held = SubsetFrechet(reference(real), real)
    assert 0.0 <= held.distance <= 1e-11


def test_single_precision_features_far_from_zero() -> None:
    real = mixed(17, 300, 6) + 500
    generated = (mixed(18, 200, 6) + 500).astype(np.float32)
    new = (mixed(19, 10, 6) + 500).astype(np.float32)
    held = SubsetFrechet(reference(real), generated)
    expected = frechet_of_features(real, swapped(generated, np.arange(10), new))
    assert held.replaced(np.arange(10), new) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("rows", "new", "words"),
    [
        ([0, 0], np.zeros((2, 3)), "different"),
        ([0, 9], np.zeros((2, 3)), "from 0 to 8"),
        ([-1], np.zeros((1, 3)), "from 0 to 8"),
        ([0, 1], np.zeros((1, 3)), "1 different"),
        ([0.0], np.zeros((1, 3)), "whole numbers"),
        ([], np.zeros((1, 3)), "rows"),
        ([0], np.zeros((0, 3)), "rows"),
        ([0], np.zeros((1, 2)), "another dimension"),
        ([0], np.full((1, 3), np.nan), "rows: 0"),
        ([0], np.full((1, 3), 1e39), "finite"),
    ],
)
def test_bad_replacements_change_nothing(rows: list[Any], new: Floats, words: str) -> None:
    held = SubsetFrechet(reference(mixed(20, 50, 3)), mixed(21, 9, 3).astype(np.float32))
    before = held.distance
    for work in (held.replaced, held.replace):
        with pytest.raises(InputError, match=words):
            work(rows, new)
    assert held.distance == before


def test_bad_sets() -> None:
    real = reference(mixed(22, 50, 3))
    with pytest.raises(InputError, match="too few"):
        SubsetFrechet(real, np.zeros((1, 3)))
    with pytest.raises(InputError, match="another dimension"):
        SubsetFrechet(real, np.zeros((5, 2)))
