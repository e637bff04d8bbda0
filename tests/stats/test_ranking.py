from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.declarations.task import TaskSpec
from podium.stats.ranking import Ranking, Row, rank_entries
from podium.store.record import Cost, Record

Make = Callable[..., Record]
MakeTask = Callable[..., TaskSpec]


def scored(
    make: Make, entry: str, scores: Mapping[str, Sequence[float]], metric: str = "auroc"
) -> list[Record]:
    return [
        make(entry, problem, seed, value, metric=metric)
        for problem, values in scores.items()
        for seed, value in enumerate(values)
    ]


def row(ranking: Ranking, entry: str) -> Row:
    return next(r for r in ranking.rows if r.entry == entry)


def names(ranking: Ranking) -> list[tuple[int | None, str]]:
    return [(r.rank, r.entry) for r in ranking.rows]


def test_best_first_by_the_metric_direction(toy_task: MakeTask, toy_record: Make) -> None:
    for metric, order in (("auroc", ["a", "b"]), ("loss", ["b", "a"])):
        kept = scored(toy_record, "a", {"p1": [0.9, 0.8]}, metric)
        kept += scored(toy_record, "b", {"p1": [0.6, 0.5]}, metric)
        found = rank_entries(toy_task(), kept, tier="small", metric=metric)
        assert [r.entry for r in found.rows] == order


def test_the_score_is_the_mean_of_problem_means(toy_task: MakeTask, toy_record: Make) -> None:
    kept = scored(toy_record, "a", {"p1": [0.8, 1.0, 0.9], "p2": [0.3, 0.5, 0.1]})
    found = row(rank_entries(toy_task(), kept, tier="small"), "a")
    assert found.score is not None
    assert found.score.estimate == pytest.approx(0.6)
    assert found.problems["p2"].mean == pytest.approx(0.3)
    assert (found.ok, found.expected, found.seeds) == (6, 6, (0, 1, 2))


def test_equal_scores_share_a_rank_and_the_next_is_skipped(
    toy_task: MakeTask, toy_record: Make
) -> None:
    kept = []
    for entry, value in (("d", 0.1), ("c", 0.7), ("b", 0.7), ("a", 0.9)):
        kept += scored(toy_record, entry, {"p1": [value, value]})
    found = rank_entries(toy_task(), kept, tier="small")
    assert names(found) == [(1, "a"), (2, "b"), (2, "c"), (4, "d")]


def test_a_failed_run_stays_in_the_denominator_and_cannot_lead(
    toy_task: MakeTask, toy_record: Make
) -> None:
    kept = scored(toy_record, "steady", {"p1": [0.5, 0.5], "p2": [0.5, 0.5]})
    kept += scored(toy_record, "brilliant", {"p1": [1.0, 1.0], "p2": [1.0]})
    kept.append(toy_record("brilliant", "p2", 1, status="timeout", reason="ran past 9 s"))
    found = rank_entries(toy_task(), kept, tier="small")
    assert names(found) == [(1, "steady"), (None, "brilliant")]
    failed = row(found, "brilliant")
    assert (failed.score, failed.ok, failed.expected, failed.complete) == (None, 3, 4, False)
    assert failed.problems["p2"].mean == 1.0
    assert failed.problems["p2"].ok == 1
    assert [(f.entry, f.problem, f.seed, f.reason) for f in found.failures] == [
        ("brilliant", "p2", 1, "timeout: ran past 9 s")
    ]


def test_an_undefined_metric_is_no_score(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [toy_record("a", "p1", 0, 0.5), toy_record("a", "p1", 1, None)]
    found = rank_entries(toy_task(), kept, tier="small")
    assert found.rows[0].score is None
    assert found.failures[0].reason == "auroc is undefined: one class only"


def test_a_problem_never_tried_is_owed(toy_task: MakeTask, toy_record: Make) -> None:
    kept = scored(toy_record, "all", {"p1": [0.5, 0.5], "p2": [0.5, 0.5]})
    kept += scored(toy_record, "some", {"p1": [0.9, 0.9]})
    found = rank_entries(toy_task(), kept, tier="small")
    assert names(found) == [(1, "all"), (None, "some")]
    assert (row(found, "some").ok, row(found, "some").expected) == (2, 4)
    assert {(f.problem, f.seed, f.record) for f in found.failures} == {
        ("p2", 0, None),
        ("p2", 1, None),
    }


@pytest.mark.parametrize("status", ["skipped", "failed"])
def test_a_problem_without_any_score_unranks_nobody(
    toy_task: MakeTask, toy_record: Make, status: str
) -> None:
    kept = scored(toy_record, "old", {"p1": [0.5, 0.5]}) + scored(toy_record, "own", {"p1": [0.9]})
    kept.append(toy_record("own", "p2", 0, status=status, reason="no data"))
    found = rank_entries(toy_task(), kept, tier="small")
    assert names(found) == [(1, "own"), (2, "old")]
    assert (found.problems, found.in_tier) == (("p1",), 2)
    assert [(f.problem, f.reason) for f in found.failures] == [("p2", f"{status}: no data")]
    # Asked for by name, or with no score anywhere, the problem counts all the same.
    both = rank_entries(toy_task(), kept, tier="small", problems=["p1", "p2"])
    assert {r.rank for r in both.rows} == {None}
    alone = rank_entries(toy_task(), kept[-1:], tier="small")
    assert (alone.problems, alone.rows[0].ok, alone.rows[0].expected) == (("p2",), 0, 1)


def test_an_interrupted_entry_owes_its_usual_seeds(toy_task: MakeTask, toy_record: Make) -> None:
    kept = scored(toy_record, "a", {"p1": [0.5] * 5, "p2": [0.5] * 3})
    found = rank_entries(toy_task(), kept, tier="small").rows[0]
    assert (found.ok, found.expected) == (8, 10)


def test_seeds_of_a_minority_of_problems_are_owed_only_there(
    toy_task: MakeTask, toy_record: Make
) -> None:
    problems = [{"id": f"p{i}", "title": "P", "tiers": ["small"]} for i in range(1, 6)]
    scores = {f"p{i}": [0.5] * (5 if i == 1 else 3) for i in range(1, 6)}
    found = rank_entries(toy_task(problems=problems), scored(toy_record, "a", scores), tier="small")
    assert (found.rows[0].ok, found.rows[0].expected, found.rows[0].rank) == (17, 17, 1)


def test_expected_runs_without_a_record_count(toy_task: MakeTask, toy_record: Make) -> None:
    kept = scored(toy_record, "a", {"p1": [0.5, 0.5]})
    expected = [("toy", 2, "small", "p1", e, s) for e in ("a", "b") for s in range(3)]
    found = rank_entries(toy_task(), kept, tier="small", expected=expected)
    assert names(found) == [(None, "a"), (None, "b")]
    assert (row(found, "a").ok, row(found, "a").expected) == (2, 3)
    assert (row(found, "b").ok, row(found, "b").expected) == (0, 3)


def test_only_the_task_version_and_tier_asked_for(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [
        toy_record("a", tier="smoke"),
        toy_record("b", task_version=1),
        toy_record("c", task="other"),
        toy_record("d"),
    ]
    assert [r.entry for r in rank_entries(toy_task(), kept, tier="small").rows] == ["d"]
    assert rank_entries(toy_task(), [], tier="small").rows == ()


def test_records_of_problems_that_are_gone_are_left_out(
    toy_task: MakeTask, toy_record: Make
) -> None:
    kept = [toy_record("a", "gone"), toy_record("b", "p1"), toy_record("b", "gone")]
    found = rank_entries(toy_task(), kept, tier="small")
    assert (names(found), found.problems) == ([(1, "b")], ("p1",))
    assert rank_entries(toy_task(), kept[:1], tier="small").rows == ()


def test_the_interval_stays_inside_the_metric_range(toy_task: MakeTask, toy_record: Make) -> None:
    kept = scored(toy_record, "a", {"p1": [1.0, 1.0, 0.9]})
    score = rank_entries(toy_task(), kept, tier="small").rows[0].score
    assert score is not None
    assert score.high == 1.0
    assert score.low is not None
    assert score.low < score.estimate


def test_cost_is_the_mean_time_and_the_largest_memory(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [
        toy_record("a", seed=0, cost=Cost(wall_seconds=1.0, peak_bytes=5)),
        toy_record("a", seed=1, cost=Cost(wall_seconds=3.0, peak_bytes=2)),
        toy_record("a", seed=2, status="skipped", reason="needs x", cost=Cost()),
    ]
    found = rank_entries(toy_task(), kept, tier="small").rows[0]
    assert (found.seconds, found.peak_bytes) == (2.0, 5)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=5),
)
def test_ranks_do_not_depend_on_the_order_of_records(
    toy_task: MakeTask, toy_record: Make, table: list[list[float]]
) -> None:
    kept = []
    for i, values in enumerate(table):
        kept += scored(toy_record, f"e{i}", {"p1": values})
    one = rank_entries(toy_task(), kept, tier="small")
    two = rank_entries(toy_task(), kept[::-1], tier="small")
    assert one.rows == two.rows
    means = [r.score.estimate for r in one.rows if r.score]
    assert means == sorted(means, reverse=True)
    assert [r.rank for r in one.rows] == [1 + int(np.sum(np.array(means) > mean)) for mean in means]
