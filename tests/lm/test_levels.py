"""Expectation over the levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from podium.lm.levels import expected_level

SCALE = np.arange(-4.0, 5.0)


def test_equal_likelihoods_give_the_mean_level() -> None:
    means, p = expected_level(np.full((2, 9), -700.0), SCALE)
    np.testing.assert_allclose(means, 0.0, atol=1e-12)
    np.testing.assert_allclose(p, 1 / 9)


def test_a_certain_model_gives_its_level() -> None:
    table = np.full((9, 9), -np.inf)
    np.fill_diagonal(table, -5.0)
    means, p = expected_level(table, SCALE)
    np.testing.assert_array_equal(means, SCALE)
    np.testing.assert_array_equal(p, np.eye(9))


def test_known_value() -> None:
    means, _ = expected_level(np.log([[0.2, 0.3, 0.1]]), [1, 2, 3])
    assert means[0] == pytest.approx((0.2 + 0.6 + 0.3) / 0.6)


@pytest.mark.parametrize("row", [[np.nan, 0.0], [-np.inf, -np.inf], [np.inf, 0.0]])
def test_no_answer_is_nan(row: list[float]) -> None:
    means, p = expected_level([row, [0.0, 0.0]], [0, 1])
    assert np.isnan(means[0])
    assert np.isnan(p[0]).all()
    assert means[1] == 0.5


@given(arrays(np.float64, (3, 9), elements=st.floats(-1e4, 0)), st.floats(-100, 100))
def test_within_the_scale_and_up_to_a_factor(table: np.ndarray, shift: float) -> None:
    means, p = expected_level(table, SCALE)
    assert ((means >= -4) & (means <= 4)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(expected_level(table + shift, SCALE)[0], means, atol=1e-9)
