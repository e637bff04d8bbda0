from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from podium.seeding import generator
from podium.stats.bootstrap import mean_interval

NAN = float("nan")


def limits_of(values: NDArray[np.float64], seed: int = 0, **options: int) -> tuple[float, float]:
    found = mean_interval(values, np.random.default_rng(seed), **options).limits
    assert found is not None
    return found


def normal(seed: int, *shape: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=shape)


def test_equal_values_give_exactly_that_value_and_say_so() -> None:
    found = mean_interval(np.full((3, 5), 0.1), np.random.default_rng(0))
    assert (found.estimate, found.low, found.high) == (0.1, 0.1, 0.1)
    assert found.note == "every seed gave the same value"


def test_the_estimate_weighs_problems_alike_whatever_their_seeds() -> None:
    values = np.array([[1.0, 3.0, NAN, NAN], [10.0, 10.0, 10.0, 10.0]])
    assert mean_interval(values, np.random.default_rng(0)).estimate == 6.0


def test_one_seed_gives_no_interval_and_says_why() -> None:
    found = mean_interval(np.array([[0.9]]), np.random.default_rng(0))
    assert (found.estimate, found.limits, found.note) == (0.9, None, "no interval: one seed")
    found = mean_interval(np.array([[0.9, NAN], [0.7, 0.8]]), np.random.default_rng(0))
    assert found.limits is None
    assert found.note == "no interval: 1 of 2 problems have one seed"


def test_the_interval_shifts_and_scales_with_the_values() -> None:
    values = normal(0, 4, 5)
    low, high = limits_of(values)
    moved = limits_of(3.0 * values + 7.0)
    assert moved == pytest.approx((3 * low + 7, 3 * high + 7), rel=1e-12)


@pytest.mark.parametrize("unit", [1e-160, 1e-300, 1e160, 1e300])
def test_tiny_and_huge_scores_are_no_special_case(unit: float) -> None:
    values = normal(0, 4, 5)
    low, high = limits_of(values)
    assert limits_of(unit * values) == pytest.approx((unit * low, unit * high), rel=1e-9, abs=0)


def test_order_of_problems_and_seeds_changes_nothing() -> None:
    values = normal(1, 6, 5)
    values[2, 3:] = NAN
    rng = np.random.default_rng(5)
    shuffled = rng.permuted(values, axis=1)[rng.permutation(6)]
    assert limits_of(values) == limits_of(shuffled)


def test_same_generator_same_interval_and_the_seed_matters() -> None:
    values = normal(2, 3, 5)
    assert limits_of(values, 0) == limits_of(values, 0)
    assert limits_of(values, 0) != limits_of(values, 1)
    low, high = limits_of(values, 0)
    assert limits_of(values, 1) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_no_global_random_state_is_touched() -> None:
    def state() -> str:
        return repr(np.random.get_state(legacy=False))

    before = state()
    mean_interval(normal(3, 2, 5), generator(0, "x"))
    assert state() == before


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_one_problem_covers_the_mean_of_normal_seeds(seeds: int) -> None:
    draws = normal(seeds, 1200, 1, seeds)
    hits = [low <= 0 <= high for low, high in (limits_of(x, 0, resamples=1500) for x in draws)]
    assert abs(np.mean(hits) - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / len(draws)) + 0.005


def test_the_plain_percentile_interval_would_fail_that_test() -> None:
    draws = normal(5, 1200, 5)
    means = np.random.default_rng(0).choice(5, size=(1200, 1000, 5))
    low, high = np.quantile(
        np.take_along_axis(draws[:, None, :], means, 2).mean(2), (0.025, 0.975), 1
    )
    assert np.mean((low <= 0) & (high >= 0)) < 0.89


def test_student_limits_for_normal_scores_of_one_problem() -> None:
    # Normal quantiles as values: the bootstrap has no skewness left to differ by.
    n = 12
    values = scipy.stats.norm.ppf((np.arange(n) + 0.5) / n)[None, :]
    low, high = limits_of(values, 0, resamples=200_000)
    half = scipy.stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n)
    assert (low, high) == pytest.approx((-half, half), rel=0.02)


def test_the_spread_of_problems_has_its_unbiased_variance() -> None:
    n = 8
    means = scipy.stats.norm.ppf((np.arange(n) + 0.5) / n)
    low, high = limits_of(np.repeat(means[:, None], 2, axis=1), 0, resamples=200_000)
    half = 1.96 * means.std(ddof=1) / np.sqrt(n)
    assert (low, high) == pytest.approx((-half, half), rel=0.02)


def test_scipy_percentile_interval_is_the_limit_for_many_seeds() -> None:
    values = np.random.default_rng(4).exponential(size=400)
    ours = limits_of(values[None, :], 0, resamples=40_000)
    theirs = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=40_000,
        method="percentile",
        rng=np.random.default_rng(1),
        batch=2000,
    ).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.03 * (theirs.high - theirs.low))


@pytest.mark.parametrize("between", [0.0, 3.0])
def test_listed_problems_are_covered(between: float) -> None:
    rng = np.random.default_rng(6)
    centres = between * rng.normal(size=(5, 1))
    hits = []
    for _ in range(300):
        low, high = limits_of(centres + rng.normal(size=(5, 5)), 0, resamples=1000)
        hits.append(low <= centres.mean() <= high)
    assert np.mean(hits) >= 0.93


def test_many_problems_drawn_from_a_population_are_covered() -> None:
    rng = np.random.default_rng(7)
    hits = []
    for _ in range(300):
        values = rng.normal(size=(20, 1)) + 0.5 * rng.normal(size=(20, 3))
        low, high = limits_of(values, 0, resamples=1000)
        hits.append(low <= 0 <= high)
    assert 0.90 <= np.mean(hits) <= 0.985


def test_seed_noise_is_not_counted_twice() -> None:
    # Problems that differ by seed noise alone: the interval is Student's, from all seeds together.
    widths, student = [], []
    for draw in normal(8, 200, 8, 5):
        low, high = limits_of(draw, 0, resamples=1000)
        widths.append(high - low)
        student.append(2 * scipy.stats.t.ppf(0.975, 32) * np.sqrt(draw.var(1, ddof=1).mean() / 40))
    assert 1.0 <= np.mean(widths) / np.mean(student) < 1.25


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(3), "problems, seeds"),
        (np.zeros((0, 3)), "problems, seeds"),
        (np.array([[1.0, 2.0], [NAN, NAN]]), "at least one value"),
        (np.array([[1.0, np.inf]]), "finite"),
    ],
)
def test_bad_arrays_are_refused(values: NDArray[np.float64], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        mean_interval(values, np.random.default_rng(0))


def test_a_level_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="level"):
        mean_interval(np.zeros((1, 2)), np.random.default_rng(0), level=1.0)


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(2, 5)),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False),
    ),
    st.integers(0, 2**32),
)
def test_the_estimate_lies_inside_the_interval(values: NDArray[np.float64], seed: int) -> None:
    found = mean_interval(values, np.random.default_rng(seed), resamples=400)
    assert found.low is not None
    assert found.high is not None
    slack = 1e-9 * max(1.0, float(np.abs(values).max()))
    assert found.low <= found.high
    assert values.min() - slack <= found.estimate <= values.max() + slack
    assert found.estimate == pytest.approx(values.mean(axis=1).mean(), abs=slack)


@pytest.mark.performance
def test_as_fast_as_scipy_with_as_many_values() -> None:
    values = normal(9, 10, 5)
    start = time.process_time()
    for _ in range(10):
        mean_interval(values, np.random.default_rng(0), resamples=9999)
    ours = time.process_time() - start
    start = time.process_time()
    for _ in range(10):
        scipy.stats.bootstrap(
            (values.ravel(),), np.mean, n_resamples=9999, rng=np.random.default_rng(0)
        )
    theirs = time.process_time() - start
    print(
        f"ten entries of 10 problems x 5 seeds: {ours:.3f} s CPU, scipy's flat one {theirs:.3f} s"
    )
    assert ours < 3 * theirs
