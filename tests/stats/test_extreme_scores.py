"""Scores at the ends of the range of numbers: a diverging entry must not stop a table."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.declarations.claim import ClaimSpec
from podium.declarations.task import TaskSpec
from podium.stats.bootstrap import mean_interval
from podium.stats.grid import mean_score
from podium.stats.ranking import rank_entries
from podium.stats.verdicts import judge_claim
from podium.store.record import Record

LARGEST = float(np.finfo(np.float64).max)
SCORES = st.sampled_from([0.0, -0.0, 5e-324, -1e-320, 1e-16, 1.0, -3.5, 1e200, 1e308, -LARGEST])
SHAPES: list[dict[str, Any]] = [
    {"left": "a", "right": "b", "at_least": 0.5},
    {"left": "a", "right": "b", "within": 0.1},
    {"order": ("a", "b", "c")},
]


def test_the_mean_of_huge_scores_is_their_mean() -> None:
    assert mean_score(np.array([[LARGEST, LARGEST, np.nan]])) == LARGEST
    assert mean_score(np.array([LARGEST, -LARGEST])) == 0.0
    assert mean_score(np.array([0.1, 0.2, np.nan])) == pytest.approx(0.15, abs=1e-16)


@pytest.mark.parametrize("factor", [1e160, 1e300, 1e307])
def test_huge_scores_have_the_interval_of_small_ones(factor: float) -> None:
    values = np.random.default_rng(0).normal(size=(3, 5))
    small = mean_interval(values, np.random.default_rng(1))
    large = mean_interval(values * factor, np.random.default_rng(1))
    assert large.estimate == pytest.approx(small.estimate * factor, rel=1e-12)
    assert large.limits is not None
    assert small.limits is not None
    assert large.limits == pytest.approx([x * factor for x in small.limits], rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), compare=st.sampled_from(["difference", "ratio"]))
@pytest.mark.parametrize("shape", SHAPES)
def test_any_scores_give_a_verdict_and_a_table(
    toy_task: Callable[..., TaskSpec],
    toy_record: Callable[..., Record],
    data: st.DataObject,
    compare: str,
    shape: dict[str, Any],
) -> None:
    base = {"id": "c", "statement": "s", "source": "s", "metric": "auroc", "problems": ("p1",)}
    claim = ClaimSpec(**{**base, **shape, "compare": compare, "min_seeds": 2})
    records = [
        toy_record(entry, "p1", seed, data.draw(SCORES)) for entry in "abc" for seed in range(3)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = judge_claim(toy_task(), claim, records)
        ranking = rank_entries(toy_task(), records, tier="small", problems=("p1",))
    json.dumps(msgspec.to_builtins(result), allow_nan=False)
    assert result.interval is None or result.estimate is not None
    for row in ranking.rows:
        mean = row.problems["p1"].mean
        assert mean is not None
        assert np.isfinite(mean)
