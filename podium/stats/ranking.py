"""Rank the entries of a task in one tier by one metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from podium.declarations.task import MetricSpec, TaskSpec
from podium.seeding import generator
from podium.stats.bootstrap import Interval, mean_interval
from podium.stats.grid import Cell, fault_of, mean_score, score_grid
from podium.store.newest import Identity
from podium.store.record import Record


@dataclass(frozen=True)
class ProblemScore:
    """One entry on one problem: mean over the ``ok`` of ``expected`` runs; ``None`` without any."""

    mean: float | None
    ok: int
    expected: int


@dataclass(frozen=True)
class Failure:
    """A run that was tried and gave no score, or (``record`` is ``None``) was never made."""

    entry: str
    problem: str
    seed: int
    reason: str
    record: Record | None


@dataclass(frozen=True)
class Row:
    """One entry of a ranking.

    ``rank`` and ``score`` are ``None`` where runs are missing: a mean of what is left would favour
    an entry that fails on the hard problems. Equal scores share a rank. ``seeds`` are those that
    were tried on any problem. ``seconds``: mean wall time of a run that was carried out.
    ``peak_bytes``: largest resident size of any.
    """

    rank: int | None
    entry: str
    kind: str
    score: Interval | None
    problems: Mapping[str, ProblemScore]
    seeds: tuple[int, ...]
    ok: int
    expected: int
    seconds: float | None
    peak_bytes: int | None

    @property
    def complete(self) -> bool:
        """Whether every expected run gave a score."""
        return self.ok == self.expected


@dataclass(frozen=True)
class Ranking:
    """Rows from best to worst, incomplete ones last, and every run that gave no score.

    ``problems`` are those of the mean; ``in_tier`` says how many the tier has.
    """

    task: str
    version: int
    tier: str
    metric: MetricSpec
    problems: tuple[str, ...]
    in_tier: int
    rows: tuple[Row, ...]
    failures: tuple[Failure, ...]


def rank_entries(
    task: TaskSpec,
    records: Iterable[Record],
    *,
    tier: str,
    metric: str | None = None,
    problems: Sequence[str] | None = None,
    expected: Iterable[Identity] | None = None,
) -> Ranking:
    """Rank entries by their mean over problems of the mean over seeds.

    A run that failed, was skipped or gave an undefined score stays in the denominator. Without
    ``expected``, an entry owes, on each problem, the seeds it was tried with there, and those it
    was tried with on at least half of its problems.

    Args:
        task: its declaration; records of another task, version or tier are left out.
        records: at most one for each identity.
        tier: the tier.
        metric: the metric's name; the primary one by default.
        problems: the problems that count; by default those of ``expected``, else those of the tier
            on which at least one entry has a score: one that nobody could run, say because its
            data are not here, tells no entries apart. Where there is no score at all, those on
            which any entry was tried.
        expected: the runs that should have been made; by default the rule above.

    Raises:
        ValueError: two records of one identity.
    """
    chosen = task.primary if metric is None else task.metric(metric)
    here = [
        r
        for r in records
        if (r.task, r.task_version, r.tier) == (task.id, task.version, tier)
        and (problems is None or r.problem in problems)
    ]
    owed = (
        None
        if expected is None
        else [i for i in expected if i[:3] == (task.id, task.version, tier)]
    )
    in_tier = [p.id for p in task.in_tier(tier)]
    aside: list[Record] = []
    if problems is None:
        named = {r.problem for r in here} | {i[3] for i in owed or ()}
        here = [r for r in here if r.problem in in_tier]
        counted = {r.problem for r in here if fault_of(r, chosen.name) is None}
        if owed is None and counted:
            aside = [r for r in here if r.problem not in counted]
            named = counted
        problems = [p for p in in_tier if p in named]
    names = sorted({r.entry for r in here} | {i[4] for i in owed or () if i[3] in problems})
    rows: list[Row] = []
    failures: list[Failure] = []
    mine: dict[str, list[Record]] = {name: [] for name in names}
    for record in here:
        if record.problem in problems:
            mine[record.entry].append(record)
    for name in names:
        cells = None if owed is None else {(i[3], i[5]) for i in owed if i[4] == name}
        row, failed = _row(task, tier, chosen, name, mine[name], tuple(problems), cells)
        rows.append(row)
        failures.extend(failed)
        failures.extend(_failure(r, chosen.name) for r in aside if r.entry == name)
    return Ranking(
        task=task.id,
        version=task.version,
        tier=tier,
        metric=chosen,
        problems=tuple(problems),
        in_tier=len(in_tier),
        rows=_ranked(rows, chosen.direction == "higher"),
        failures=tuple(failures),
    )


def _row(
    task: TaskSpec,
    tier: str,
    metric: MetricSpec,
    entry: str,
    records: list[Record],
    problems: tuple[str, ...],
    cells: set[Cell] | None,
) -> tuple[Row, list[Failure]]:
    grid = score_grid(records, metric.name, problems)
    tried = {problem: grid.tried(problem) for problem in problems}
    usual = _usual_seeds(grid.seeds, list(tried.values())) if cells is None else set()
    owed = {
        problem: tried[problem] | usual | {s for p, s in cells or () if p == problem}
        for problem in problems
    }
    scores: dict[str, ProblemScore] = {}
    for problem, values in zip(problems, grid.values, strict=True):
        ok = int(np.count_nonzero(~np.isnan(values)))
        mean = mean_score(values) if ok else None
        # An entry that never touched a problem owes it one run at the least.
        scores[problem] = ProblemScore(mean, ok, max(len(owed[problem]), 1))
    ok = sum(s.ok for s in scores.values())
    due = sum(s.expected for s in scores.values())
    score = None
    if ok == due and problems:
        rng = generator(0, "score", task.id, tier, metric.name, entry)
        score = _within(mean_interval(grid.values, rng), metric.range)
    at = {(r.problem, r.seed): r for r in records}
    failures = [Failure(entry, p, s, why, at[p, s]) for (p, s), why in sorted(grid.faults.items())]
    for problem in problems:
        absent = sorted(owed[problem] - tried[problem])
        failures.extend(Failure(entry, problem, s, "no record", None) for s in absent)
    seconds = [r.cost.wall_seconds for r in records if r.cost.wall_seconds is not None]
    peaks = [r.cost.peak_bytes for r in records if r.cost.peak_bytes is not None]
    row = Row(
        rank=None,
        entry=entry,
        kind=records[0].kind if records else "",
        score=score,
        problems=scores,
        seeds=grid.seeds,
        ok=ok,
        expected=due,
        seconds=sum(seconds) / len(seconds) if seconds else None,
        peak_bytes=max(peaks, default=None),
    )
    return row, failures


def _failure(record: Record, metric: str) -> Failure:
    reason = fault_of(record, metric)
    assert reason is not None
    return Failure(record.entry, record.problem, record.seed, reason, record)


def _usual_seeds(seeds: Sequence[int], tried: Sequence[set[int]]) -> set[int]:
    """Seeds that were tried on at least half of the problems that were tried at all."""
    touched = sum(bool(t) for t in tried)
    return {s for s in seeds if 2 * sum(s in t for t in tried) >= touched}


def _within(interval: Interval, limits: tuple[float, float]) -> Interval:
    """Cut an interval to the metric's range: a mean of scores cannot lie outside it."""
    if interval.low is None or interval.high is None:
        return interval
    low, high = limits
    return Interval(
        interval.estimate,
        min(max(interval.low, low), interval.estimate),
        max(min(interval.high, high), interval.estimate),
        interval.note,
    )


def _ranked(rows: list[Row], higher: bool) -> tuple[Row, ...]:
    def goodness(row: Row) -> float:
        assert row.score is not None
        return row.score.estimate if higher else -row.score.estimate

    complete = sorted((r for r in rows if r.score), key=lambda r: (-goodness(r), r.entry))
    rest = sorted((r for r in rows if not r.score), key=lambda r: (-r.ok / r.expected, r.entry))
    better = [sum(goodness(o) > goodness(r) for o in complete) for r in complete]
    ranked = [replace(r, rank=n + 1) for r, n in zip(complete, better, strict=True)]
    return (*ranked, *rest)
