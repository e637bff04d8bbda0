"""Fréchet distance: closed forms, invariances, singular covariances, the field's own code."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from podium.errors import InputError
from podium.metrics.frechet import (
    Reference,
    frechet_distance,
    frechet_of_features,
    unreliable,
)

Floats = npt.NDArray[np.float64]


def mixed(seed: int, count: int, dimension: int, decay: float = 0.5) -> Floats:
    rng = np.random.default_rng(seed)
    scale = np.arange(1, dimension + 1) ** -decay
    mixing = np.eye(dimension) + 0.2 * rng.standard_normal((dimension, dimension))
    return rng.standard_normal((count, dimension)) @ (mixing * scale) + rng.standard_normal(
        dimension
    )


def statistics(features: npt.NDArray[Any]) -> tuple[Floats, Floats]:
    return features.mean(axis=0, dtype=np.float64), np.atleast_2d(np.cov(features.T))


def by_singular_values(x: Floats, y: Floats) -> float:
    """Return the distance whose trace is the nuclear norm of the centred sets' product."""
    left, right = x - x.mean(axis=0), y - y.mean(axis=0)
    scale = np.sqrt((len(x) - 1) * (len(y) - 1))
    nuclear = np.linalg.svd(left @ right.T, compute_uv=False).sum() / scale
    difference = x.mean(axis=0) - y.mean(axis=0)
    traces = np.trace(np.atleast_2d(np.cov(x.T))) + np.trace(np.atleast_2d(np.cov(y.T)))
    return float(difference @ difference + traces - 2 * nuclear)


def test_gaussians_of_one_dimension() -> None:
    """(2 - 5)^2 + (3 - 7)^2, of means 2 and 5 and deviations 3 and 7."""
    assert frechet_distance([2.0], [[9.0]], [5.0], [[49.0]]) == pytest.approx(25.0, rel=1e-14)


def test_covariances_that_commute() -> None:
    rng = np.random.default_rng(0)
    axes = ortho_group.rvs(7, random_state=0)
    one, two = rng.uniform(0.1, 5, 7), rng.uniform(0.1, 5, 7)
    first, second = (axes * one**2) @ axes.T, (axes * two**2) @ axes.T
    expected = 7 * 0.25 + ((one - two) ** 2).sum()
    found = frechet_distance(np.zeros(7), first, np.full(7, 0.5), second)
    assert found == pytest.approx(expected, rel=1e-13)


def test_two_by_two_by_hand() -> None:
    """tr sqrt(AB) of 2 x 2 matrices is sqrt(tr(AB) + 2 sqrt(det AB))."""
    first, second = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[5.0, -2.0], [-2.0, 1.0]])
    root = np.sqrt(np.trace(first @ second) + 2 * np.sqrt(np.linalg.det(first @ second)))
    expected = 5 + 6 - 2 * root
    assert frechet_distance([0, 0], first, [0, 0], second) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("count", [3, 12, 40, 400])
def test_equal_sets_are_at_zero(count: int) -> None:
    features = mixed(1, count, 12)
    copy = features[np.random.default_rng(0).permutation(count)]
    for other in (features, copy):
        assert 0.0 <= frechet_of_features(features, other) <= 1e-11
    assert 0.0 <= frechet_distance(*statistics(features), *statistics(features)) <= 1e-11


@pytest.mark.parametrize(
    ("counts", "dimension"),
    [
        ((400, 300), 12),
        ((9, 300), 12),
        ((300, 9), 12),
        ((9, 7), 12),
        ((12, 13), 12),
        ((13, 13), 12),
        ((2, 2), 12),
        ((2, 40), 1),
        ((5, 5), 1),
        ((150, 160), 128),
    ],
)
def test_it_is_the_nuclear_norm_whatever_the_counts(
    counts: tuple[int, int], dimension: int
) -> None:
    x, y = mixed(2, counts[0], dimension), mixed(3, counts[1], dimension)
    expected = by_singular_values(x, y)
    assert frechet_of_features(x, y) == pytest.approx(expected, rel=1e-10, abs=1e-11)
    assert frechet_of_features(y, x) == pytest.approx(expected, rel=1e-10, abs=1e-11)
    found = frechet_distance(*statistics(x), *statistics(y))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-10)


def test_spectra_that_span_twelve_decades() -> None:
    x, y = mixed(4, 500, 40, decay=4.0), mixed(5, 600, 40, decay=4.0)
    assert frechet_of_features(x, y) == pytest.approx(by_singular_values(x, y), rel=1e-11)


def test_singular_covariances_take_no_jitter() -> None:
    """Rank 3 against rank 5 against full rank in 10 dimensions, in every order."""
    rng = np.random.default_rng(6)
    sets = [
        rng.standard_normal((50, rank)) @ rng.standard_normal((rank, 10)) for rank in (3, 5, 10)
    ]
    for x in sets:
        for y in sets:
            expected = by_singular_values(x, y)
            found = frechet_distance(*statistics(x), *statistics(y))
            assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)
            assert Reference(*statistics(y)).distance(*statistics(x)) == pytest.approx(
                expected, rel=1e-10, abs=1e-10
            )


def test_units_that_never_fire_are_left_out() -> None:
    x, y = mixed(7, 100, 8), mixed(8, 100, 8)
    expected = frechet_of_features(x, y)
    x_wide, y_wide = np.insert(x, [2, 5, 8], 1.5, axis=1), np.insert(y, [2, 5, 8], 1.5, axis=1)
    assert frechet_of_features(x_wide, y_wide) == pytest.approx(expected, rel=1e-12)
    x_wide[:, 2] += mixed(9, 100, 1)[:, 0]
    expected = by_singular_values(x_wide, y_wide)
    assert frechet_of_features(x_wide, y_wide) == pytest.approx(expected, rel=1e-10)


def test_one_picture_repeated() -> None:
    """No spread: what is left is the means' distance and the other set's variance."""
    x, one = mixed(10, 100, 6), np.tile(mixed(11, 1, 6), (80, 1))
    mean, covariance = statistics(x)
    expected = ((mean - one[0]) ** 2).sum() + np.trace(covariance)
    assert frechet_of_features(x, one) == pytest.approx(expected, rel=1e-12)
    assert frechet_of_features(one, x) == pytest.approx(expected, rel=1e-12)
    assert frechet_of_features(one, one) == 0.0
    assert frechet_of_features(one[:3], x) == pytest.approx(expected, rel=1e-12)
    other = np.tile(mixed(12, 1, 6), (80, 1))
    assert frechet_of_features(one, other) == pytest.approx(((one - other)[0] ** 2).sum())


def test_a_mean_far_from_zero_changes_nothing() -> None:
    x, y = mixed(13, 300, 8), mixed(14, 5, 8)
    for other in (y, mixed(14, 300, 8)):
        expected = frechet_of_features(x, other)
        assert frechet_of_features(x + 1e4, other + 1e4) == pytest.approx(expected, rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 30), st.floats(1e-3, 1e3))
@settings(deadline=None, max_examples=60)
def test_rotation_translation_scale_and_order(seed: int, n: int, m: int, scale: float) -> None:
    dimension = 10
    x, y = mixed(seed, n, dimension), mixed(seed + 1, m, dimension)
    rng = np.random.default_rng(seed)
    value = frechet_of_features(x, y)
    near = pytest.approx(value, rel=1e-8, abs=1e-9)
    assert value >= 0.0
    assert frechet_of_features(y, x) == near
    turn, shift = ortho_group.rvs(dimension, random_state=seed % 2**32), rng.standard_normal(10)
    assert frechet_of_features(x @ turn + shift, y @ turn + shift) == near
    assert frechet_of_features(scale * x, scale * y) / scale**2 == near
    order = rng.permutation(n)
    assert frechet_of_features(x[order], y) == near


@pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")
@pytest.mark.parametrize("count", [100, 3000])
def test_clean_fid_and_torchmetrics_agree(peer: Callable[[str], Any], count: int) -> None:
    import torch

    x, y = mixed(15, count, 32), mixed(16, count, 32)
    sets = *statistics(x), *statistics(y)
    ours = frechet_of_features(x, y)
    assert frechet_distance(*sets) == pytest.approx(ours, rel=1e-12)
    clean = peer("cleanfid.fid").frechet_distance(*sets)
    assert ours == pytest.approx(clean, rel=1e-9)
    theirs = peer("torchmetrics.image.fid")._compute_fid(*(torch.from_numpy(a) for a in sets))
    assert ours == pytest.approx(float(theirs), rel=1e-9)


def test_the_whole_of_torchmetrics_agrees_on_single_precision(
    peer: Callable[[str], Any],
) -> None:
    import torch

    class Passed(torch.nn.Module):
        num_features = 24

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return features

    x, y = mixed(17, 500, 24).astype(np.float32), mixed(18, 400, 24).astype(np.float32)
    metric = peer("torchmetrics.image.fid").FrechetInceptionDistance(Passed())
    metric.set_dtype(torch.float64)
    for rows, real in ((x, True), (y, False)):
        metric.update(torch.from_numpy(rows), real=real)
    assert frechet_of_features(x, y) == pytest.approx(float(metric.compute()), rel=1e-6)


def test_small_is_said() -> None:
    assert unreliable(20_479, 2048)
    assert not unreliable(20_480, 2048)


def test_the_distance_shrinks_with_samples_as_the_bias_does() -> None:
    """Equal distributions: about 1 / n, so that it falls by half where n doubles."""
    values = [
        np.mean(
            [
                frechet_of_features(*np.random.default_rng([s, n]).standard_normal((2, n, 16)))
                for s in range(20)
            ]
        )
        for n in (200, 400, 800)
    ]
    ratios = np.divide(values[1:], values[:-1])
    np.testing.assert_allclose(ratios, 0.5, atol=0.06)


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((1, 3)), np.zeros((5, 3)), "too few samples"),
        (np.zeros((5, 3)), np.zeros((0, 3)), "too few samples"),
        (np.zeros((5, 3)), np.zeros((5, 4)), "another dimension"),
        (np.zeros((5, 0)), np.zeros((5, 0)), "not a set"),
        (np.zeros(5), np.zeros(5), "not a set"),
        (np.array([[0.0], [np.nan]]), np.zeros((5, 1)), "rows: 1"),
        (np.zeros((5, 1)), np.array([[np.inf], [0.0]]), "rows: 0"),
        (np.array([[0.0], [1e300]]), np.zeros((5, 1)), "too large"),
    ],
)
def test_features_that_are_none(x: Floats, y: Floats, words: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=words):
            frechet_of_features(x, y)


@pytest.mark.parametrize(
    ("mean", "covariance", "words"),
    [
        (np.zeros(2), np.eye(3), "not a mean"),
        (np.zeros((2, 1)), np.eye(2), "not a mean"),
        (np.zeros(0), np.zeros((0, 0)), "not a mean"),
        (np.zeros(2), np.eye(2) * 1j, "not a mean"),
        (np.array([0, np.nan]), np.eye(2), "finite"),
        (np.zeros(2), np.array([[1.0, 0.5], [0.4, 1.0]]), "asymmetry"),
        (np.zeros(2), np.diag([1.0, -1.0]), "diagonal"),
        (np.zeros(2), np.array([[1.0, 2.0], [2.0, 1.0]]), "eigenvalues from -1"),
    ],
)
def test_statistics_that_are_none(mean: Floats, covariance: Floats, words: str) -> None:
    with pytest.raises(InputError, match=words):
        frechet_distance(mean, covariance, np.zeros(2), np.eye(2))
    if words == "eigenvalues from -1":
        with pytest.raises(InputError, match=words):
            frechet_distance(np.zeros(2), np.eye(2), mean, covariance)


def test_half_precision_features() -> None:
    x, y = mixed(19, 100, 5).astype(np.float16), mixed(20, 100, 5).astype(np.float16)
    expected = frechet_of_features(x.astype(np.float64), y.astype(np.float64))
    assert frechet_of_features(x, y) == expected
    few = frechet_of_features(x[:4].astype(np.float64), y.astype(np.float64))
    assert frechet_of_features(x[:4], y) == pytest.approx(few, rel=1e-12)
