"""``podium show``: the ranked table of a task. The shape of ``--json`` is in docs/json.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.cli.output import print_json
from podium.cli.selection import Selection, nothing_here, select, sources_json, sources_line
from podium.cli.tables import printable, ranking_table
from podium.stats.bootstrap import LEVEL
from podium.stats.ranking import Failure, Ranking, Row, rank_entries

_TRACEBACK_LINES = 15


def show(
    task: str,
    *,
    tier: str = "small",
    problems: Sequence[str] = (),
    metric: str | None = None,
    entries: Sequence[str] = (),
    failures: bool = False,
    only: str | None = None,
    store: Path | None = None,
    as_json: bool = False,
) -> None:
    """Print the ranked table of one task and tier.

    Args:
        task: the task's id.
        tier: the tier.
        problems: only these problems count; all by default.
        metric: the metric; the primary one by default.
        entries: only these rows are shown; ranks stay those among all entries.
        failures: print the runs without a score, with the ends of their tracebacks, instead.
        only: ``local`` or ``bundled`` records only.
        store: the local store.
        as_json: print JSON.

    Raises:
        InputError: an unknown name, or a store that is missing.
    """
    chosen = select(task, tier=tier, metric=metric, problems=problems, only=only, store=store)
    chosen.check_averaged(chosen.problems or [p.id for p in chosen.task.in_tier(tier)], "")
    wanted = {chosen.check_entry(name) for name in entries}
    ranking = rank_entries(
        chosen.task,
        chosen.records,
        tier=tier,
        metric=chosen.metric.name,
        problems=chosen.problems,
    )
    if wanted:
        ranking = replace(
            ranking,
            rows=tuple(r for r in ranking.rows if r.entry in wanted),
            failures=tuple(f for f in ranking.failures if f.entry in wanted),
        )
    if as_json:
        print_json(_ranking_json(chosen, ranking))
    elif failures:
        print(_failures_text(ranking))
    elif not ranking.rows:
        print(nothing_here(chosen))
    else:
        print(ranking_table(ranking))
        print(f"\n{sources_line(chosen.loaded, chosen.records)}")
    absent = sorted(wanted - {r.entry for r in ranking.rows})
    if absent and not as_json and ranking.rows:
        print(f"No records of {', '.join(absent)} in tier {tier}.")


def _failures_text(ranking: Ranking) -> str:
    if not ranking.failures:
        return f"{ranking.task}, tier {ranking.tier}: every run gave a score."
    blocks: list[str] = []
    for failure in ranking.failures:
        lines = [f"{failure.entry} on {failure.problem}, seed {failure.seed}: {failure.reason}"]
        record = failure.record
        if record is not None and record.traceback:
            shown = record.traceback.rstrip().splitlines()[-_TRACEBACK_LINES:]
            lines += [f"    {line}" for line in shown]
        blocks.append(printable("\n".join(lines)))
    return "\n\n".join(blocks)


def _ranking_json(selection: Selection, ranking: Ranking) -> dict[str, Any]:
    return {
        "task": ranking.task,
        "version": ranking.version,
        "tier": ranking.tier,
        "metric": ranking.metric.name,
        "direction": ranking.metric.direction,
        "level": LEVEL,
        "problems": list(ranking.problems),
        "records": sources_json(selection.loaded, selection.records),
        "rows": [_row_json(row) for row in ranking.rows],
        "failures": [_failure_json(failure) for failure in ranking.failures],
    }


def _row_json(row: Row) -> dict[str, Any]:
    limits = None if row.score is None else row.score.limits
    return {
        "rank": row.rank,
        "entry": row.entry,
        "kind": row.kind,
        "score": None if row.score is None else row.score.estimate,
        "interval": None if limits is None else list(limits),
        "note": "runs are missing" if row.score is None else row.score.note,
        "problems": {
            name: {"mean": score.mean, "ok": score.ok, "expected": score.expected}
            for name, score in row.problems.items()
        },
        "seeds": list(row.seeds),
        "ok": row.ok,
        "expected": row.expected,
        "seconds": row.seconds,
        "peak_bytes": row.peak_bytes,
    }


def _failure_json(failure: Failure) -> dict[str, Any]:
    record = failure.record
    return {
        "entry": failure.entry,
        "problem": failure.problem,
        "seed": failure.seed,
        "status": None if record is None else record.status,
        "reason": failure.reason,
        "traceback": None if record is None else record.traceback,
    }
