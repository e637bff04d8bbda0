"""The lagged design: column order, borders, and refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data.columns import embed_scores, varying_columns
from podium.data.lags import lagged_design
from podium.errors import InputError


def test_by_hand() -> None:
    series = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    x, y = lagged_design(series, [4], 2)
    np.testing.assert_array_equal(x, [[2, 20, 1, 10], [3, 30, 2, 20]])
    np.testing.assert_array_equal(y, [[3, 30], [4, 40]])


@given(st.lists(st.integers(4, 9), min_size=1, max_size=4), st.integers(1, 3), st.integers(1, 3))
def test_lags_stay_inside_their_trajectory(lengths: list[int], lags: int, d: int) -> None:
    # Each value tells its trajectory, its time and its variable.
    series = np.concatenate(
        [
            1000 * k + 10 * np.arange(n)[:, None] + np.arange(d)[None, :]
            for k, n in enumerate(lengths)
        ]
    )
    x, y = lagged_design(series, lengths, lags)
    assert len(x) == len(y) == sum(lengths) - lags * len(lengths)
    for k in range(1, lags + 1):
        np.testing.assert_array_equal(x[:, (k - 1) * d : k * d], y - 10 * k)
    assert set(np.unique(y // 1000)) == set(range(len(lengths)))


@pytest.mark.parametrize(
    ("series", "lengths", "lags", "words"),
    [
        (np.ones((4, 2)), [4], 4, r"too short for the lags(.|\n)*lags=4(.|\n)*4 steps"),
        (np.ones((9, 2)), [6, 3], 3, r"3 steps in trajectory 1"),
        (np.ones((9, 2)), [6, 2], 1, r"sum 9(.|\n)*sum 8"),
        (np.ones((9, 2)), [], 1, "lengths"),
        (np.ones((9, 2)), [9, 0], 1, "positive"),
        (np.ones(9), [9], 1, r"shape \[9\]"),
        (np.ones((9, 0)), [9], 1, "at least one variable"),
        (np.ones((9, 2)), [9], 0, "whole number >= 1"),
        (np.ones((9, 2)), [9], 1.5, "1.5"),
        (np.ones((9, 2)), [9], True, "True"),
    ],
)
def test_refusals(series: Any, lengths: Any, lags: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        lagged_design(series, lengths, lags)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_not_finite_is_placed(bad: float) -> None:
    series = np.ones((9, 2))
    series[4, 1] = bad
    with pytest.raises(InputError, match=r"time 4, variable 1"):
        lagged_design(series, [9], 1)


def test_constant_columns_are_set_apart() -> None:
    series = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 0.0], [3.0, 5.0, 1.0]])
    columns = varying_columns(series)
    np.testing.assert_array_equal(columns, [True, False, True])
    whole = embed_scores([[1.0, 2.0], [3.0, 4.0]], columns)
    np.testing.assert_array_equal(whole, [[1, 0, 2], [0, 0, 0], [3, 0, 4]])
