"""``podium claims``: the verdict on each claim. The shape of ``--json`` is in docs/json.md."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from podium.cli.output import print_json
from podium.cli.selection import source, sources_line, tell_notices
from podium.cli.tables import Column, number, printable, render
from podium.registry.registry import load_registry
from podium.stats.verdicts import ClaimResult, judge_claims
from podium.store.reading import load_records

if TYPE_CHECKING:
    from podium.declarations.claim import ClaimSpec
    from podium.store.record import Record


def claims(
    task: str | None = None,
    *,
    only: str | None = None,
    store: Path | None = None,
    as_json: bool = False,
) -> None:
    """Print the verdict on every claim of one task, or of all tasks.

    Args:
        task: the task's id; all tasks by default.
        only: ``local`` or ``bundled`` records only.
        store: the local store.
        as_json: print JSON: a list of objects.

    Raises:
        InputError: an unknown task, or a store that is missing.
    """
    registry = load_registry()
    tasks = (
        [t.spec for t in registry.tasks.values()] if task is None else [registry.task(task).spec]
    )
    loaded = load_records(
        store, only=source(only), task=task, versions={t.id: t.version for t in tasks}
    )
    tell_notices(loaded)
    results: list[ClaimResult] = []
    measured: set[tuple[str, str]] = set()
    used: list[Record] = []
    for spec in tasks:
        mine = [r for r in loaded.records if r.task == spec.id]
        used.extend(mine)
        results.extend(judge_claims(spec, mine))
        measured |= {(spec.id, c.id) for c in spec.claims if any(_is_of(c, r) for r in mine)}
    if as_json:
        print_json(msgspec.to_builtins(results))
        return
    if not results:
        print(f"{task} makes no claims." if task else "No task makes a claim.")
        return
    print(_text(results, measured))
    print(f"\n{sources_line(loaded, used)}")


def _is_of(claim: ClaimSpec, record: Record) -> bool:
    """Whether a record of the claim's task is of a run that the claim is about."""
    return (
        record.tier == claim.tier
        and record.entry in claim.entries
        and record.problem in claim.problems
    )


def _text(results: list[ClaimResult], measured: Collection[tuple[str, str]]) -> str:
    columns = [
        Column("claim"),
        Column("verdict"),
        Column("gate"),
        Column("gain", number=True),
        Column("interval"),
        Column("claimed"),
        Column("seeds", number=True),
    ]
    several = len({r.task for r in results}) > 1
    rows = [
        [
            f"{r.task}/{r.id}" if several else r.id,
            r.verdict if (r.task, r.id) in measured else "not measured",
            "yes" if r.gate else "no",
            number(r.estimate),
            "-" if r.interval is None else f"[{number(r.interval[0])}, {number(r.interval[1])}]",
            _claimed(r),
            str(r.seeds),
        ]
        for r in results
    ]
    lines = [
        "Gains are positive where the first entry is better (a ratio: above 1). 95 % intervals.",
        "",
        render(columns, rows),
        "",
    ]
    absent: list[str] = []
    for r, cells in zip(results, rows, strict=True):
        if (r.task, r.id) not in measured:
            absent.append(cells[0])
            continue
        lines += [
            f"{cells[0]}: {r.statement} ({r.source})",
            f"    {r.verdict}: {printable(r.reason)}",
        ]
    if absent:
        lines.append(f"Not measured, no records of their runs: {', '.join(absent)}.")
    return "\n".join(lines)


def _claimed(result: ClaimResult) -> str:
    if result.shape == "order":
        return " > ".join(result.entries)
    sign = "within" if result.shape == "within" else ">="
    unit = " x" if result.compare == "ratio" and result.shape == "at_least" else ""
    return f"{sign} {result.threshold:g}{unit}"
