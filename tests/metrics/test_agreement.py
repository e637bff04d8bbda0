"""Agreement of a judge with people: limits, scipy, torchmetrics, and what is undefined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics.agreement import (
    calibration_error,
    kendall_tau_b,
    pearson,
    pearson_interval,
    rmse,
    spearman,
    stepped_up,
)

Correlation = Callable[[object, object], float]
CORRELATIONS = (pearson, spearman, kendall_tau_b)


def tied(seed: int, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, count).astype(np.float64)
    return np.rint(truth + rng.normal(size=count)), truth


@pytest.mark.parametrize("metric", CORRELATIONS)
def test_a_variable_agrees_with_itself_and_disagrees_with_its_mirror(metric: Correlation) -> None:
    x, _ = tied(0)
    assert metric(x, x) == pytest.approx(1.0, abs=1e-12)
    assert metric(-x, x) == pytest.approx(-1.0, abs=1e-12)
    assert metric(3 * x + 7, x) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scipy_with_ties(seed: int) -> None:
    x, y = tied(seed)
    assert pearson(x, y) == pytest.approx(scipy.stats.pearsonr(x, y)[0], abs=1e-12)
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y)[0], abs=1e-12)
    assert kendall_tau_b(x, y) == pytest.approx(scipy.stats.kendalltau(x, y)[0], abs=1e-12)


@pytest.mark.parametrize("seed", range(2))
def test_agrees_with_torchmetrics_with_ties(seed: int, peer: Callable[[str], Any]) -> None:
    theirs = peer("torchmetrics.functional.regression")
    x, y = tied(seed)
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    assert pearson(x, y) == pytest.approx(float(theirs.pearson_corrcoef(a, b)), abs=1e-9)
    assert spearman(x, y) == pytest.approx(float(theirs.spearman_corrcoef(a, b)), abs=1e-5)
    tau = theirs.kendall_rank_corrcoef(a, b, variant="b")
    assert kendall_tau_b(x, y) == pytest.approx(float(tau), abs=1e-5)


def test_kendall_by_counting_pairs() -> None:
    x, y = tied(9, 40)
    pairs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i in range(40) for j in range(i)]
    concordance = sum(a * b for a, b in pairs)
    untied = [sum(s[k] != 0 for s in pairs) for k in (0, 1)]
    expected = concordance / math.sqrt(untied[0] * untied[1])
    assert kendall_tau_b(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", CORRELATIONS)
@pytest.mark.parametrize(
    ("scores", "truth", "reason"),
    [
        ([0.1] * 7, list(range(7)), "all scores are equal"),
        (list(range(7)), [0.1] * 7, "all people's scores are equal"),
        ([1.0], [2.0], "two items"),
        ([], [], "two items"),
    ],
)
def test_a_constant_has_no_correlation(
    metric: Correlation, scores: list[float], truth: list[float], reason: str
) -> None:
    found = metric(scores, truth)
    assert isinstance(found, Undefined)
    assert reason in found.reason


@pytest.mark.parametrize("metric", CORRELATIONS)
@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1e150, 1e300])
def test_no_scale_overflows(metric: Correlation, scale: float) -> None:
    x, y = tied(1)
    assert metric(x * scale, y) == pytest.approx(metric(x, y), abs=1e-12)


def test_half_precision_is_taken() -> None:
    x, y = tied(2)
    assert pearson(x.astype(np.float16), y.astype(np.float16)) == pytest.approx(pearson(x, y))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=2, max_size=30))
def test_correlations_lie_within_one_or_say_why_not(pairs: list[tuple[float, float]]) -> None:
    x, y = (np.array(values) for values in zip(*pairs, strict=True))
    for metric in CORRELATIONS:
        value = metric(x, y)
        assert isinstance(value, Undefined) or -1.0 <= value <= 1.0
        assert isinstance(value, Undefined) == (np.ptp(x) == 0 or np.ptp(y) == 0)


def test_rmse_of_a_shift_is_the_shift_in_shares_of_the_scale() -> None:
    _, y = tied(0)
    assert rmse(y, y, 4.0) == 0.0
    assert rmse(y + 1, y, 4.0) == pytest.approx(0.25)
    assert rmse([0.0, 3.0], [0.0, 0.0]) == pytest.approx(math.sqrt(4.5))
    assert rmse([1e300], [-1e300]) == pytest.approx(2e300)
    assert isinstance(rmse([], []), Undefined)


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_a_width_is_above_zero(width: float) -> None:
    with pytest.raises(InputError, match="width"):
        rmse([1.0], [1.0], width)


@pytest.mark.parametrize("metric", [*CORRELATIONS, rmse])
def test_bad_arrays_are_refused(metric: Correlation) -> None:
    for scores, truth in (([1.0, math.nan], [1.0, 2.0]), ([1.0], [1.0, 2.0]), ([[1.0]], [[2.0]])):
        with pytest.raises(InputError):
            metric(scores, truth)


LEVELS = np.array([1.0, 2.0, 4.0])


def test_calibration_is_the_distance_of_the_distributions() -> None:
    """Against scipy's Wasserstein distance, on levels that are not evenly spaced."""
    rng = np.random.default_rng(0)
    f, g = rng.dirichlet(np.ones(3), size=(2, 20))
    expected = [
        scipy.stats.wasserstein_distance(LEVELS, LEVELS, a, b) / 3.0
        for a, b in zip(f, g, strict=True)
    ]
    assert calibration_error(f, g, LEVELS) == pytest.approx(np.mean(expected), abs=1e-12)


def test_calibration_has_its_limits() -> None:
    low, high = np.eye(3)[[0]], np.eye(3)[[2]]
    assert calibration_error(low, low, LEVELS) == 0.0
    assert calibration_error(low, high, LEVELS) == 1.0
    assert isinstance(calibration_error(low[:0], low[:0], LEVELS), Undefined)
    with pytest.raises(InputError):
        calibration_error(low, high[:, :2], LEVELS)


def test_the_interval_agrees_with_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=150)
    x = y + rng.normal(size=150)
    plain = []
    for _ in range(4000):
        rows = rng.integers(150, size=150)
        plain.append(scipy.stats.pearsonr(x[rows], y[rows])[0])
    low, high = pearson_interval(x, y, np.random.default_rng(1), resamples=4000)
    assert (low, high) == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.02)
    assert low < pearson(x, y) < high


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(200):
        y = rng.normal(size=100)
        x = 0.6 * y + 0.8 * rng.normal(size=100)
        low, high = pearson_interval(x, y, rng, resamples=300)
        hits += low <= 0.6 <= high
    assert 0.88 <= hits / 200 <= 0.99


def test_the_interval_depends_on_the_seed_and_on_no_global_state() -> None:
    x, y = tied(0)
    state = np.random.get_state()[1].copy()  # type: ignore[index]
    first = pearson_interval(x, y, np.random.default_rng(0), resamples=200)
    assert first == pearson_interval(x, y, np.random.default_rng(0), resamples=200)
    assert first != pearson_interval(x, y, np.random.default_rng(1), resamples=200)
    assert (np.random.get_state()[1] == state).all()  # type: ignore[index]


def test_the_interval_of_a_constant_says_why_there_is_none() -> None:
    for value in pearson_interval([1.0, 1.0], [1.0, 2.0], np.random.default_rng(0)):
        assert isinstance(value, Undefined)
    for value in pearson_interval([0.0, 1.0], [1.0, 2.0], np.random.default_rng(0)):
        assert isinstance(value, Undefined) or value == 1.0


def test_two_halves_stepped_up_are_the_correlation_of_whole_panels() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=20_000)
    panels = truth[:, None] + 2 * rng.normal(size=(20_000, 32))
    a, b = panels[:, :8].mean(axis=1), panels[:, 8:16].mean(axis=1)
    whole = pearson(panels[:, :16].mean(axis=1), panels[:, 16:].mean(axis=1))
    assert stepped_up(pearson(a, b)) == pytest.approx(whole, abs=0.01)
    assert stepped_up(1.0) == 1.0
    assert stepped_up(0.0) == 0.0
    assert stepped_up(-0.5) == -0.5
    assert isinstance(stepped_up(Undefined("none")), Undefined)
