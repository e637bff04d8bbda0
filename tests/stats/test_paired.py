from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from podium.declarations.task import MetricSpec
from podium.errors import InputError
from podium.stats.grid import score_grid
from podium.stats.paired import Compare, Paired, Tally, pair_entries
from podium.store.record import Record

Make = Callable[..., Record]
HIGHER = MetricSpec(name="auroc", title="AUROC", direction="higher", range=(0.0, 1.0))
LOWER = MetricSpec(name="auroc", title="Loss", direction="lower", range=(0.0, 1e9))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def runs(make: Make, entry: str, values: NDArray[np.float64]) -> list[Record]:
    return [
        make(entry, f"p{i + 1}", seed, float(value))
        for i, row in enumerate(values)
        for seed, value in enumerate(row)
    ]


def paired(
    make: Make,
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    metric: MetricSpec = HIGHER,
    compare: Compare = "difference",
) -> Paired:
    problems = [f"p{i + 1}" for i in range(len(left))]
    return pair_entries(
        runs(make, "left", left),
        runs(make, "right", right),
        metric=metric,
        problems=problems,
        compare=compare,
    )


def test_an_entry_against_itself_is_exactly_neutral(toy_record: Make) -> None:
    values = np.random.default_rng(1).random((2, 5))
    same = paired(toy_record, values, values)
    assert same.interval(rng()).limits == (0.0, 0.0)
    assert same.tally() == Tally(wins=0, ties=10, losses=0)
    ratio = paired(toy_record, values, values, compare="ratio")
    assert ratio.interval(rng()).limits == (1.0, 1.0)


def test_gains_are_positive_where_the_left_is_better_in_either_direction(toy_record: Make) -> None:
    low, high = np.array([[1.0, 2.0]]), np.array([[2.0, 8.0]])
    assert paired(toy_record, high, low).gains.tolist() == [[1.0, 6.0]]
    assert paired(toy_record, low, high, LOWER).gains.tolist() == [[1.0, 6.0]]
    assert paired(toy_record, low, high, LOWER).tally() == Tally(wins=2, ties=0, losses=0)


def test_a_ratio_is_a_geometric_mean_oriented_by_the_metric(toy_record: Make) -> None:
    left, right = np.array([[2.0, 8.0]]), np.array([[1.0, 1.0]])
    up = paired(toy_record, left, right, HIGHER, "ratio").interval(rng())
    assert up.estimate == pytest.approx(4.0, rel=1e-15)
    down = paired(toy_record, right, left, LOWER, "ratio").interval(rng())
    assert down.estimate == pytest.approx(4.0, rel=1e-15)


def test_pairing_removes_what_a_seed_gives_to_both(toy_record: Make) -> None:
    luck = np.random.default_rng(2).normal(size=(1, 5))
    noise = 0.01 * np.random.default_rng(3).normal(size=(1, 5))
    found = paired(toy_record, luck + 0.1 + noise, luck).interval(rng())
    assert found.low is not None
    assert found.low > 0.05


def test_seeds_without_a_counterpart_are_reported_and_not_used(toy_record: Make) -> None:
    left = [toy_record("left", "p1", s, 0.9) for s in (0, 1, 2)]
    right = [toy_record("right", "p1", s, 0.8) for s in (1, 2, 3)]
    right.append(toy_record("right", "p2", 0, 0.1))
    found = pair_entries(left, right, metric=HIGHER, problems=["p1", "p2"])
    assert found.pairs == (2, 0)
    assert found.unpaired == (("p1", 0), ("p1", 3), ("p2", 0))
    assert found.interval(rng()).estimate == pytest.approx(0.1)
    with pytest.raises(ValueError, match="no complete pair"):
        found.interval(rng(), "p2")


def test_a_failed_run_is_no_pair_and_is_named(toy_record: Make) -> None:
    left = [toy_record("left", "p1", 0, 0.9), toy_record("left", "p1", 1, None)]
    right = [
        toy_record("right", "p1", 0, 0.8),
        toy_record("right", "p1", 1, 0.8),
        toy_record("right", "p1", 2, 0.8, status="timeout", reason="ran past 1 s"),
    ]
    found = pair_entries(left, right, metric=HIGHER, problems=["p1"])
    assert found.pairs == (1,)
    assert found.failed == (("p1", 1), ("p1", 2))
    assert found.left.faults["p1", 1] == "auroc is undefined: one class only"
    assert found.right.faults["p1", 2] == "timeout: ran past 1 s"


def test_a_ratio_of_scores_that_are_not_positive_is_refused_by_name(toy_record: Make) -> None:
    with pytest.raises(InputError, match=r"problem p1, seed 1.*\n.*auroc > 0\n.*0\.0"):
        paired(toy_record, np.array([[1.0, 0.0]]), np.ones((1, 2)), compare="ratio")


def test_two_records_of_one_run_are_a_fault_of_the_caller(toy_record: Make) -> None:
    with pytest.raises(ValueError, match="two records"):
        score_grid([toy_record(), toy_record()], "auroc", ["p1"])


@settings(max_examples=50, deadline=None)
@given(
    arrays(np.float64, (2, 2, 4), elements=st.floats(0.01, 100.0)),
    st.sampled_from(["difference", "ratio"]),
    st.sampled_from([HIGHER, LOWER]),
)
def test_exchanging_the_entries_mirrors_the_gains(
    toy_record: Make, values: NDArray[np.float64], compare: Compare, metric: MetricSpec
) -> None:
    one = paired(toy_record, values[0], values[1], metric, compare)
    two = paired(toy_record, values[1], values[0], metric, compare)
    assert np.array_equal(one.gains, -two.gains)
    assert one.tally().wins == two.tally().losses
    a, b = one.interval(rng()).estimate, two.interval(rng()).estimate
    if compare == "ratio":
        assert a * b == pytest.approx(1.0, rel=1e-12)
    else:
        assert a == pytest.approx(-b, abs=1e-12)
