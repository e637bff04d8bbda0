"""Advantages: identities, ties, and which of them are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from podium.nn.policy.advantages import batch_advantages, top_share

REWARDS = arrays(np.float64, st.integers(2, 40), elements=st.floats(-100, 100))


@given(REWARDS)
def test_advantages_are_centred_and_scaled_and_keep_the_order(rewards: np.ndarray) -> None:
    advantages = batch_advantages(rewards)
    if np.ptp(rewards) > 1e-6:
        assert advantages.mean() == pytest.approx(0, abs=1e-6)
        assert advantages.std() == pytest.approx(1)
        order = np.argsort(rewards, kind="stable")
        assert (np.diff(advantages[order]) >= 0).all()


def test_advantages_know_neither_offset_nor_scale() -> None:
    rewards = np.array([1.0, 4.0, -2.0, 0.5])
    np.testing.assert_allclose(batch_advantages(7 * rewards - 30), batch_advantages(rewards))


@pytest.mark.parametrize("value", [0.0, -0.1, 1e6])
def test_equal_rewards_prefer_nothing(value: float) -> None:
    assert (batch_advantages(np.full(9, value)) == 0).all()


def test_repeated_rewards_have_the_advantages_of_single_ones() -> None:
    rewards = np.array([3.0, 1.0, 0.0])
    np.testing.assert_allclose(
        batch_advantages(np.repeat(rewards, 5)), np.repeat(batch_advantages(rewards), 5)
    )


def test_the_top_quarter_by_value_and_by_magnitude() -> None:
    advantages = np.array([0.1, -3.0, 2.0, 0.0, 1.0, -0.5, 0.2, -0.2])
    assert np.flatnonzero(top_share(advantages, 0.25)).tolist() == [2, 4]
    assert np.flatnonzero(top_share(advantages, 0.25, "absolute")).tolist() == [1, 2]


@given(REWARDS, st.floats(0.01, 1))
def test_what_is_kept_is_never_less_than_what_is_not(rewards: np.ndarray, share: float) -> None:
    mask = top_share(rewards, share)
    assert mask.sum() == max(1, round(share * len(rewards)))
    if not mask.all():
        assert rewards[mask].min() >= rewards[~mask].max()
