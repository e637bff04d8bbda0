from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from podium.declarations.claim import ClaimSpec
from podium.declarations.task import TaskSpec
from podium.stats.verdicts import VERDICTS, ClaimResult, _decide, judge_claim, judge_claims
from podium.store.record import Record

Make = Callable[..., Record]
MakeTask = Callable[..., TaskSpec]
# Seed noise of mean zero; Student's half-width of its mean is 2.776 * .0079 / sqrt(5) = .0098.
NOISE = np.array([-0.01, 0.01, 0.0, 0.005, -0.005])


def claim(**shape: Any) -> ClaimSpec:
    base: dict[str, Any] = {
        "id": "c",
        "statement": "Left beats right.",
        "source": "a paper",
        "metric": "auroc",
        "problems": ("p1",),
        "min_seeds": 5,
    }
    if "order" not in shape:
        base |= {"left": "left", "right": "right"}
    return ClaimSpec(**{**base, **shape})


def records(
    make: Make, scores: Mapping[str, ArrayLike], problem: str = "p1", **changes: Any
) -> list[Record]:
    return [
        make(entry, problem, seed, float(value), **changes)
        for entry, values in scores.items()
        for seed, value in enumerate(np.broadcast_to(np.asarray(values), 5))
    ]


def judged(
    task: MakeTask, make: Make, gain: float, *, noise: float = 1.0, **shape: Any
) -> ClaimResult:
    right = np.array([0.5, 0.6, 0.4, 0.55, 0.45])
    kept = records(make, {"left": right + gain + noise * NOISE, "right": right})
    return judge_claim(task(), claim(**shape), kept)


@pytest.mark.parametrize(
    ("gain", "threshold", "verdict"),
    [
        (0.10, 0.05, "reproduced"),
        (0.03, 0.05, "direction only"),  # positive, and short of the size
        (0.055, 0.05, "direction only"),  # positive, and the size is open
        (0.00, 0.05, "not reproduced"),
        (-0.10, 0.05, "not reproduced"),
        (0.005, 0.01, "inconclusive"),
        (0.00, -0.02, "reproduced"),  # no worse than .02 below
        (0.10, -0.02, "reproduced"),
        (-0.02, -0.02, "inconclusive"),
        (-0.05, -0.02, "not reproduced"),
        (0.02, 0.0, "reproduced"),
        (0.00, 0.0, "inconclusive"),
        (-0.02, 0.0, "not reproduced"),
    ],
)
def test_at_least(
    toy_task: MakeTask, toy_record: Make, gain: float, threshold: float, verdict: str
) -> None:
    found = judged(toy_task, toy_record, gain, at_least=threshold)
    assert found.verdict == verdict, found.reason
    assert found.estimate == pytest.approx(gain, abs=1e-12)
    assert found.threshold == threshold
    assert found.seeds == 5


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (0.0, "reproduced"),
        (0.005, "reproduced"),
        (-0.005, "reproduced"),
        (0.02, "inconclusive"),
        (-0.02, "inconclusive"),
        (0.05, "not reproduced"),
        (-0.05, "not reproduced"),
    ],
)
def test_within(toy_task: MakeTask, toy_record: Make, gain: float, verdict: str) -> None:
    found = judged(toy_task, toy_record, gain, within=0.02)
    assert found.verdict == verdict, found.reason


def test_an_entry_against_itself(toy_task: MakeTask, toy_record: Make) -> None:
    equal = judged(toy_task, toy_record, 0.0, noise=0.0, within=0.0)
    assert (equal.verdict, equal.estimate, equal.interval) == ("reproduced", 0.0, (0.0, 0.0))
    better = judged(toy_task, toy_record, 0.0, noise=0.0, at_least=0.0)
    assert better.verdict == "inconclusive"
    assert judged(toy_task, toy_record, 0.0, noise=0.0, at_least=0.01).verdict == "not reproduced"


def test_a_gain_of_just_the_threshold_is_reproduced_despite_binary_rounding(
    toy_task: MakeTask, toy_record: Make
) -> None:
    assert 0.97 - 0.95 != 0.02
    kept = records(toy_record, {"left": 0.95, "right": 0.97})
    assert judge_claim(toy_task(), claim(within=0.02), kept).verdict == "reproduced"
    assert judge_claim(toy_task(), claim(at_least=-0.02), kept).verdict == "reproduced"


def test_equal_seeds_are_said_to_be_equal(toy_task: MakeTask, toy_record: Make) -> None:
    found = judged(toy_task, toy_record, 0.1, noise=0.0, at_least=0.05)
    assert found.verdict == "reproduced"
    kept = records(toy_record, {"left": 0.75, "right": 0.5})
    assert (
        "every seed gave the same value"
        in judge_claim(toy_task(), claim(at_least=0.05), kept).reason
    )


def test_ratio_is_neutral_at_one_and_follows_the_direction(
    toy_task: MakeTask, toy_record: Make
) -> None:
    def found(left: float, right: float, **shape: Any) -> str:
        wobble = 1 + NOISE
        scores = {"left": left * wobble, "right": right * np.ones(5)}
        kept = records(toy_record, scores, metric="loss")
        spec = claim(metric="loss", compare="ratio", **shape)
        return judge_claim(toy_task(), spec, kept).verdict

    assert found(1.0, 6.0, at_least=5.0) == "reproduced"  # lower is better: six times better
    assert found(1.0, 3.0, at_least=5.0) == "direction only"
    assert found(1.0, 1.0, at_least=5.0) == "not reproduced"
    assert found(6.0, 1.0, at_least=5.0) == "not reproduced"
    assert found(1.0, 0.97, at_least=0.9) == "reproduced"  # at most a tenth worse
    assert found(1.0, 1.0, within=0.05) == "reproduced"
    assert found(1.0, 1.2, within=0.05) == "not reproduced"


def test_a_ratio_without_meaning_is_inconclusive_and_says_why(
    toy_task: MakeTask, toy_record: Make
) -> None:
    kept = records(toy_record, {"left": 0.0, "right": 0.5})
    found = judge_claim(toy_task(), claim(compare="ratio", at_least=2.0), kept)
    assert found.verdict == "inconclusive"
    assert "scores above zero" in found.reason


@pytest.mark.parametrize(
    ("scores", "verdict", "weakest"),
    [
        ((0.9, 0.8, 0.6), "reproduced", 0.1),
        ((0.9, 0.802, 0.8), "inconclusive", 0.002),
        ((0.9, 0.6, 0.8), "not reproduced", -0.2),
        ((0.80, 0.802, 0.6), "inconclusive", -0.002),
    ],
)
def test_order_is_as_strong_as_its_weakest_link(
    toy_task: MakeTask,
    toy_record: Make,
    scores: tuple[float, float, float],
    verdict: str,
    weakest: float,
) -> None:
    a, b, c = scores
    kept = records(toy_record, {"a": a + NOISE, "b": b + NOISE[::-1], "c": c + NOISE})
    found = judge_claim(toy_task(), claim(order=("a", "b", "c")), kept)
    assert found.verdict == verdict, found.reason
    assert found.estimate == pytest.approx(weakest, abs=1e-12)
    assert [(k.left, k.right) for k in found.links] == [("a", "b"), ("b", "c")]
    assert found.threshold == 0.0


def test_no_records_is_inconclusive(toy_task: MakeTask, toy_record: Make) -> None:
    found = judge_claim(toy_task(), claim(at_least=0.05), [])
    assert (found.verdict, found.reason, found.seeds) == ("inconclusive", "no records", 0)
    assert (found.estimate, found.interval) == (None, None)
    one = judge_claim(toy_task(), claim(at_least=0.05), records(toy_record, {"left": 0.9}))
    assert one.reason == "no records of right"


def test_too_few_pairs_is_inconclusive_though_clear(toy_task: MakeTask, toy_record: Make) -> None:
    kept = records(toy_record, {"left": 0.9 + NOISE, "right": 0.5})
    kept = [r for r in kept if (r.entry, r.seed) != ("right", 4)]
    found = judge_claim(toy_task(), claim(at_least=0.05), kept)
    assert found.verdict == "inconclusive"
    assert found.reason == "needs 5 paired seeds on each problem, found 4 on p1"
    assert found.estimate == pytest.approx(0.4, abs=0.01)
    assert found.links[0].unpaired == 1


def test_each_problem_needs_the_seeds(toy_task: MakeTask, toy_record: Make) -> None:
    kept = records(toy_record, {"left": 0.9 + NOISE, "right": 0.5})
    found = judge_claim(toy_task(), claim(at_least=0.05, problems=("p1", "p2")), kept)
    assert found.verdict == "inconclusive"
    assert "found 0 on p2" in found.reason
    kept += records(toy_record, {"left": 0.8 + NOISE, "right": 0.4}, problem="p2")
    found = judge_claim(toy_task(), claim(at_least=0.05, problems=("p1", "p2")), kept)
    assert found.verdict == "reproduced"
    assert found.links[0].pairs == 10


@pytest.mark.parametrize("entry", ["left", "right"])
def test_nothing_is_reproduced_on_what_failures_left(
    toy_task: MakeTask, toy_record: Make, entry: str
) -> None:
    kept = records(toy_record, {"left": 0.9 + NOISE, "right": 0.5})
    kept.append(toy_record(entry, "p1", 5, status="failed", reason="ValueError: singular"))
    found = judge_claim(toy_task(), claim(at_least=0.05), kept)
    assert found.verdict == "inconclusive"
    assert "ValueError: singular" in found.reason
    assert found.links[0].failed == 1
    assert found.estimate is not None
    short = judge_claim(toy_task(), claim(at_least=0.9), kept)
    assert short.verdict == "inconclusive"  # "direction only" is not given either


def test_short_of_the_size_stays_so_despite_a_failure(toy_task: MakeTask, toy_record: Make) -> None:
    kept = records(toy_record, {"left": 0.5 + NOISE, "right": 0.5})
    kept.append(toy_record("left", "p1", 5, status="timeout", reason="ran past 9 s"))
    found = judge_claim(toy_task(), claim(at_least=0.05), kept)
    assert found.verdict == "not reproduced"
    assert "ran past 9 s" in found.reason


def test_other_tiers_versions_and_tasks_do_not_count(toy_task: MakeTask, toy_record: Make) -> None:
    scores: Mapping[str, ArrayLike] = {"left": 0.9 + NOISE, "right": 0.5}
    for change in ({"tier": "smoke"}, {"task_version": 1}, {"task": "other"}):
        found = judge_claim(toy_task(), claim(at_least=0.05), records(toy_record, scores, **change))
        assert found.reason == "no records"


def test_the_same_records_give_the_same_verdict_in_any_order(
    toy_task: MakeTask, toy_record: Make
) -> None:
    kept = records(toy_record, {"left": 0.6 + NOISE, "right": 0.55 - NOISE})
    one = judge_claim(toy_task(), claim(at_least=0.05), kept)
    assert judge_claim(toy_task(), claim(at_least=0.05), kept[::-1]) == one


def test_every_claim_of_a_task_in_declared_order(toy_task: MakeTask, toy_record: Make) -> None:
    declared = [
        {"id": name, "statement": "s", "source": "p", "metric": "auroc", "problems": ["p1"]}
        | {"left": "left", "right": "right", "at_least": 0.05, "gate": name == "b"}
        for name in ("b", "a")
    ]
    found = judge_claims(toy_task(claims=declared), records(toy_record, {"left": 0.9}))
    assert [(r.id, r.gate) for r in found] == [("b", True), ("a", False)]


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-2, 2),
    st.floats(0, 2),
    st.floats(-1, 1),
    st.sampled_from(["at_least", "within", "order"]),
)
def test_a_higher_interval_never_weakens_a_one_sided_verdict(
    low: float, width: float, threshold: float, shape: str
) -> None:
    options: dict[str, dict[str, Any]] = {
        "at_least": {"at_least": threshold},
        "within": {"within": abs(threshold)},
        "order": {"order": ("a", "b")},
    }
    spec = claim(**options[shape])
    verdict, reason = _decide(spec, low, low + width)
    assert verdict in VERDICTS
    assert reason
    if shape == "within":
        mirrored, _ = _decide(spec, -(low + width), -low)
        assert mirrored == verdict
        assert verdict != "direction only"
    else:
        strength = ("not reproduced", "inconclusive", "direction only", "reproduced")
        higher, _ = _decide(spec, low + 0.1, low + width + 0.1)
        assert strength.index(higher) >= strength.index(verdict)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.1, 3), st.floats(0, 1), st.floats(0.001, 2))
def test_exchanging_entries_keeps_an_equivalence_of_ratios(
    low: float, width: float, within: float
) -> None:
    spec = claim(compare="ratio", within=within)
    high = low + width
    assert _decide(spec, low, high)[0] == _decide(spec, 1 / high, 1 / low)[0]
