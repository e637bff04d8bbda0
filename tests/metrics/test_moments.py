"""Running moments: NumPy's, whatever the pieces; far means; flat memory; bad input."""

from __future__ import annotations

import tracemalloc
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import InputError
from podium.metrics.moments import Moments, moments_of

Floats = npt.NDArray[np.float64]


def sample(seed: int, count: int, dimension: int) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, dimension)) @ rng.standard_normal((dimension, dimension))


def fed(features: npt.NDArray[Any], sizes: list[int], **options: Any) -> Moments:
    moments = Moments(features.shape[1], **options)
    start = 0
    for size in [*sizes, len(features)]:
        moments.update(features[start : start + size])
        start += size
    return moments


@pytest.mark.parametrize("block", [1, 7, 64, 4096])
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-13), ("single", 3e-6)])
def test_they_are_those_of_numpy(
    block: int, precision: Literal["single", "double"], tolerance: float
) -> None:
    features = sample(0, 300, 6)
    moments = fed(features, [1, 0, 50, 13], block=block, precision=precision)
    assert moments.count == 300
    scale = np.abs(np.cov(features.T)).max()
    np.testing.assert_allclose(moments.mean, features.mean(axis=0), atol=tolerance * scale)
    np.testing.assert_allclose(moments.covariance(), np.cov(features.T), atol=tolerance * scale)
    assert moments.covariance().dtype == moments.mean.dtype == np.float64


def test_the_covariance_may_be_read_on_the_way() -> None:
    features = sample(1, 90, 4)
    moments = Moments(4, block=32)
    for stop in range(10, 100, 10):
        moments.update(features[stop - 10 : stop])
        np.testing.assert_allclose(moments.covariance(), np.cov(features[:stop].T), rtol=1e-11)
        np.testing.assert_allclose(moments.mean, features[:stop].mean(axis=0), atol=1e-13)


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 40), max_size=6),
    st.integers(1, 50),
    st.integers(1, 5),
)
@settings(deadline=None)
def test_splits_and_order_change_nothing(
    seed: int, sizes: list[int], block: int, dimension: int
) -> None:
    features = sample(seed, 60, dimension) + 3.0
    whole = moments_of(features)
    order = np.random.default_rng(seed).permutation(60)
    pieces = fed(features[order], sizes, block=block)
    scale = float(np.trace(whole.covariance()))
    np.testing.assert_allclose(pieces.mean, whole.mean, atol=1e-13 * (scale + 4))
    np.testing.assert_allclose(pieces.covariance(), whole.covariance(), atol=1e-13 * (scale + 1))


@given(st.integers(0, 2**32 - 1), st.integers(0, 60))
@settings(deadline=None)
def test_merging_is_taking_in_both(seed: int, cut: int) -> None:
    features = sample(seed, 60, 3) + np.linspace(0, 20, 60)[:, None]
    one, two = Moments(3, block=16), Moments(3, block=8)
    one.update(features[:cut])
    two.update(features[cut:])
    one.merge(two)
    assert one.count == 60
    np.testing.assert_allclose(one.mean, features.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(one.covariance(), np.cov(features.T), rtol=1e-10, atol=1e-10)
    assert two.count == 60 - cut
    if cut <= 58:
        np.testing.assert_allclose(two.covariance(), np.cov(features[cut:].T), atol=1e-9)


def test_merged_with_itself_every_vector_counts_twice() -> None:
    features = sample(2, 20, 3)
    moments = moments_of(features)
    moments.merge(moments)
    np.testing.assert_allclose(moments.covariance(), np.cov(np.tile(features.T, 2)), rtol=1e-12)


@pytest.mark.parametrize("times", [50.0, 5000.0])
def test_a_mean_far_from_zero_costs_no_precision(times: float) -> None:
    """float32 features whose mean is 50 times their spread: unshifted, 2e-4 of the covariance."""
    features = (np.random.default_rng(3).standard_normal((20_000, 8)) + times).astype(np.float32)
    exact = np.cov(features.T.astype(np.float64))
    for precision, tolerance in (("single", 2e-6), ("double", 1e-12)):
        options: dict[str, Any] = {"precision": precision}
        found = fed(features, [50] * 200, **options).covariance()
        assert np.abs(found - exact).max() <= tolerance


def test_the_first_block_may_be_unlike_the_rest() -> None:
    features = sample(4, 5000, 4)
    features[:10] += 100.0
    np.testing.assert_allclose(
        fed(features, [10] * 50, block=10).covariance(), np.cov(features.T), rtol=1e-9
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8, np.int64])
def test_every_real_type_will_do(dtype: npt.DTypeLike) -> None:
    features = np.random.default_rng(5).integers(0, 100, (50, 3)).astype(dtype)
    expected = np.cov(features.T.astype(np.float64))
    np.testing.assert_allclose(moments_of(features).covariance(), expected, rtol=1e-12)


def test_memory_is_flat_and_below_80_megabytes() -> None:
    tracemalloc.start()
    moments = Moments(2048, precision="single")
    features = np.random.default_rng(6).standard_normal((50, 2048), dtype=np.float32)
    held = [array.nbytes for array in vars(moments).values() if isinstance(array, np.ndarray)]
    for _ in range(90):
        moments.update(features)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(held) <= 80e6
    assert peak <= 110e6
    assert moments.count == 4500


def test_copies_of_one_vector_do_not_vary() -> None:
    moments = moments_of(np.full((40, 3), 7.25))
    np.testing.assert_array_equal(moments.mean, np.full(3, 7.25))
    np.testing.assert_array_equal(moments.covariance(), np.zeros((3, 3)))


def test_what_is_not_finite_is_refused_by_row_and_changes_nothing() -> None:
    moments = Moments(2)
    moments.update(np.arange(10.0).reshape(5, 2))
    features = np.zeros((9000, 2))
    features[[3, 8000], [1, 0]] = np.nan, np.inf
    with pytest.raises(InputError, match=r"2 of 9000 rows: 3, 8000"):
        moments.update(features)
    assert moments.count == 5
    many = np.full((20, 2), np.nan)
    with pytest.raises(InputError, match=r"20 of 20 rows: 0, 1, 2, 3, 4, \.\.\."):
        moments.update(many)
    with pytest.raises(InputError, match="too large for single precision"):
        Moments(1, precision="single").update(np.array([[1e39]]))
    large = Moments(1)
    large.update([[1e200], [-1e200]])
    with pytest.raises(InputError, match="too large"):
        large.covariance()


@pytest.mark.parametrize(
    "features",
    [
        np.zeros(3),
        np.zeros((2, 2)),
        np.zeros((2, 3, 1)),
        np.full((2, 3), "a"),
        np.zeros((2, 3), "c16"),
    ],
)
def test_other_shapes_and_types_are_refused(features: npt.NDArray[Any]) -> None:
    with pytest.raises(InputError):
        Moments(3).update(features)


def test_too_few_samples_and_bad_arguments() -> None:
    moments = Moments(2)
    with pytest.raises(InputError, match="mean"):
        _ = moments.mean
    moments.update([[1.0, 2.0]])
    np.testing.assert_array_equal(moments.mean, [1.0, 2.0])
    with pytest.raises(InputError, match=r"at least 2"):
        moments.covariance()
    with pytest.raises(InputError, match="another dimension"):
        moments.merge(Moments(3))
    wrong: Any = "half"
    for arguments in ({"dimension": 0}, {"block": 0}, {"precision": wrong}):
        with pytest.raises(InputError):
            Moments(**{"dimension": 2, **arguments})
