"""Rank and entropy of features: limits, invariances, an independent formula."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics.spectrum import rank_at, spectrum, von_neumann_entropy


def normal(
    seed: int, samples: int, dimension: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(seed).standard_normal((samples, dimension))


def test_one_direction() -> None:
    """Copies of one vector, of any length and sign, use one direction."""
    energies = spectrum(np.outer([1.0, -2.0, 1e-3, 7.0], [3.0, 4.0, 0.0]))
    np.testing.assert_allclose(energies, [1.0, 0.0, 0.0], atol=1e-15)
    assert rank_at(energies) == 1.0
    assert von_neumann_entropy(energies) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dimension", [1, 2, 7, 100])
def test_all_directions_alike(dimension: int) -> None:
    energies = spectrum(np.eye(dimension), -np.eye(dimension))
    np.testing.assert_allclose(energies, 1 / dimension)
    assert von_neumann_entropy(energies) == pytest.approx(math.log(dimension))
    assert rank_at(energies) == math.ceil(0.99 * dimension)
    assert rank_at(energies, 0.5) == math.ceil(0.5 * dimension)
    assert rank_at(energies, 1.0) == dimension


def test_it_is_not_centred() -> None:
    """A common offset is a direction: it dominates, where a covariance would not see it."""
    assert rank_at(spectrum(normal(0, 200, 10) * 0.01 + 1.0)) == 1.0


def test_independent_formula() -> None:
    """Against the squared singular values of the normalised rows."""
    features = normal(1, 50, 8) * np.arange(1, 9)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    squares = np.linalg.svd(unit, compute_uv=False) ** 2
    share = squares / squares.sum()
    energies = spectrum(features)
    np.testing.assert_allclose(energies, share, atol=1e-14)
    assert von_neumann_entropy(energies) == pytest.approx(-(share * np.log(share)).sum())
    assert rank_at(energies) == 1 + int((np.cumsum(share) < 0.99).sum())


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 8))
def test_properties(seed: int, samples: int, dimension: int) -> None:
    features = normal(seed, samples, dimension)
    energies = spectrum(features)
    assert energies.shape == (dimension,)
    assert energies.sum() == pytest.approx(1.0)
    assert (energies >= 0).all()
    assert (np.diff(energies) <= 1e-15).all()
    assert 1 <= rank_at(energies) <= min(samples, dimension)
    assert 0 <= von_neumann_entropy(energies) <= math.log(dimension) + 1e-12
    # A rotation, the length of each row, their order and their parts do not matter.
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    moved = (features * rng.uniform(0.1, 10, (samples, 1)))[rng.permutation(samples)] @ turn
    np.testing.assert_allclose(spectrum(moved[:3], moved[3:]), energies, atol=1e-12)


def test_blocks_change_nothing() -> None:
    features = normal(2, 10_000, 5)
    np.testing.assert_allclose(spectrum(features), spectrum(*np.split(features, 8)), atol=1e-14)


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
def test_extreme_lengths(scale: float) -> None:
    features = normal(3, 30, 4)
    np.testing.assert_allclose(spectrum(features * scale), spectrum(features), atol=1e-14)


def test_rows_without_direction_are_left_out() -> None:
    features = normal(4, 30, 4)
    np.testing.assert_allclose(spectrum(features, np.zeros((9, 4))), spectrum(features))
    for nothing in (np.zeros((5, 4)), np.zeros((0, 4)), np.zeros((5, 0))):
        energies = spectrum(nothing)
        for value in (rank_at(energies), von_neumann_entropy(energies)):
            assert isinstance(value, Undefined)
            assert value.reason == "every feature vector is zero"


def test_half_precision() -> None:
    features = normal(5, 100, 6)
    half = spectrum(features.astype(np.float16))
    np.testing.assert_allclose(half, spectrum(features), atol=1e-3)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="matrices of one width"):
        spectrum(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(InputError, match="matrices of one width"):
        spectrum(np.ones(3))
    with pytest.raises(InputError, match="matrices of one width"):
        spectrum()
    for hole in (np.nan, np.inf):
        with pytest.raises(InputError, match="finite"):
            spectrum(np.array([[1.0, hole]]))
    for share in (0.0, 1.1, math.nan):
        with pytest.raises(InputError, match="share"):
            rank_at(np.array([1.0]), share)


@pytest.mark.parametrize("dimension", [30, 31, 32, 300])
def test_wide_features_agree_with_the_singular_values(dimension: int) -> None:
    features = normal(6, 31, dimension) * np.arange(1, dimension + 1)
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    squares = np.zeros(dimension)
    squares[: min(31, dimension)] = np.linalg.svd(unit, compute_uv=False) ** 2
    energies = spectrum(features[:4], features[4:])
    np.testing.assert_allclose(energies, squares / 31, atol=1e-14)


def test_wide_features_cost_no_more_than_they_hold() -> None:
    """Their d x d matrix would take 8 GB, and an hour."""
    features = normal(7, 5, 32_000).astype(np.float32)
    tracemalloc.start()
    try:
        energies = spectrum(features[:2], features[2:])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * features.nbytes
    assert energies.shape == (32_000,)
    assert rank_at(energies) == 5.0
