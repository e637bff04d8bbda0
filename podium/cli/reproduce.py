"""``podium reproduce``: run again what records say, and compare within the task's tolerance."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from podium.cli.nearby import check_folders
from podium.cli.output import counted, print_json
from podium.cli.run import carry_out, check_device
from podium.cli.selection import select
from podium.declarations.task import TaskSpec
from podium.errors import EXIT_OK, EXIT_RUN_FAILED, InputError
from podium.plan.explain import changed_parts
from podium.plan.planner import Request, plan
from podium.plan.spec import RunSpec
from podium.plan.values import parse_seeds
from podium.registry.model import Task
from podium.registry.registry import Registry
from podium.store.record import Record


@dataclass(frozen=True)
class Outcome:
    """One rerun beside the record it repeats.

    ``differences``: new minus old, for every metric that both have. ``agrees``: each differs by no
    more than its tolerance, and what was undefined still is.
    """

    old: Record
    new: Record
    differences: dict[str, float]
    agrees: bool
    note: str


def reproduce(
    name: str,
    *,
    tier: str,
    entries: Sequence[str],
    problems: Sequence[str],
    seeds: str | None,
    jobs: int | None,
    device: str,
    added: Sequence[Path],
    only: str | None,
    store: Path | None,
    as_json: bool,
) -> int:
    """Rerun the chosen records and print which agree; return 1 if any does not.

    A record that cannot be planned any more (its entry is not here, an argument is gone) does not
    keep the others from being rerun; it is named on standard error, and counts as one that fails.
    """
    check_folders(added)
    chosen_from = select(name, tier=tier, problems=problems, only=only, store=store, added=added)
    registry, loaded = chosen_from.registry, chosen_from.loaded
    task = registry.task(name)
    wanted = parse_seeds(seeds) if seeds is not None else None
    chosen = [
        r
        for r in loaded.records
        if r.tier == tier
        and r.status == "ok"
        and (not entries or r.entry in entries or r.entry_id in entries)
        and (not problems or r.problem in problems)
        and (wanted is None or r.seed in wanted)
    ]
    if not chosen:
        raise InputError(
            f"no finished record of {name} to repeat",
            expected="records that match --tier, --entries, --problems and --seeds",
            fix=f"podium show {name} --tier {tier} lists what there is",
        )
    pairs, lost = _planned(registry, task, chosen, check_device(device))
    for what, count in lost.items():
        print(f"podium: {count} not run again: {what}", file=sys.stderr)
    if not pairs:
        raise InputError(
            "none of the records can be run again",
            fix="--entry PATH says where a method lies that was added by its folder",
        )
    with tempfile.TemporaryDirectory(prefix="podium-reproduce-") as folder:
        from podium.store.store import Store

        specs = [spec for _, spec in pairs]
        fresh = carry_out(specs, registry, Store(Path(folder)), jobs=jobs)
    outcomes = [
        _compare(task.spec, old, spec, new) for (old, spec), new in zip(pairs, fresh, strict=True)
    ]
    if as_json:
        print_json([_json(o) for o in outcomes])
    else:
        _print(task.spec, outcomes)
    return EXIT_OK if not lost and all(o.agrees for o in outcomes) else EXIT_RUN_FAILED


def _planned(
    registry: Registry, task: Task, records: Sequence[Record], device: str
) -> tuple[list[tuple[Record, RunSpec]], Counter[str]]:
    """Return the records with their runs, and how many have none for which reason."""
    pairs: list[tuple[Record, RunSpec]] = []
    lost: Counter[str] = Counter()
    for record in records:
        try:
            pairs.append((record, _spec(registry, task, record, device)))
        except InputError as error:
            where = "" if error.where is None else f"{error.where}: "
            lost[f"{record.entry}: {where}{error.what}"] += 1
    return pairs, lost


def _spec(registry: Registry, task: Task, record: Record, device: str) -> RunSpec:
    """Plan the run that a record is of, from the entry as it is now."""
    request = Request(
        tasks=(task.id,),
        tier=record.tier,
        entries=(record.entry_id,),
        problems=(record.problem,),
        seeds=(record.seed,),
        assignments=tuple(f"{record.entry_id}.{k}={v!r}" for k, v in record.overrides.items()),
        device=device,
        argv=("podium", *sys.argv[1:]),
    )
    (spec,) = plan(registry, request)
    return spec


def _compare(task: TaskSpec, old: Record, spec: RunSpec, new: Record) -> Outcome:
    changed = changed_parts(old.key_parts, spec.key_parts)
    notes = [f"changed since: {', '.join(changed)}"] if changed else []
    if {d.name: d.sha256 for d in old.data} != {d.name: d.sha256 for d in new.data}:
        notes.append("the data files differ")
    if new.status != "ok":
        notes.insert(0, f"{new.status}: {new.reason}")
        return Outcome(old, new, {}, agrees=False, note="; ".join(notes))
    differences, agrees = {}, True
    for metric in task.metrics:
        before, after = _value(old, metric.name), _value(new, metric.name)
        if before is None or after is None:
            agrees = agrees and before is after
            continue
        differences[metric.name] = after - before
        agrees = agrees and abs(after - before) <= metric.tolerance
    return Outcome(old, new, differences, agrees, "; ".join(notes))


def _value(record: Record, metric: str) -> float | None:
    """Return a score; a record from before the metric was declared has none."""
    score = record.score(metric)
    return None if score is None else score.value


def _json(outcome: Outcome) -> dict[str, Any]:
    old = outcome.old
    return {
        "task": old.task,
        "problem": old.problem,
        "tier": old.tier,
        "entry": old.entry,
        "seed": old.seed,
        "agrees": outcome.agrees,
        "old": {n: m.value for n, m in old.metrics.items()},
        "new": {n: m.value for n, m in outcome.new.metrics.items()},
        "differences": outcome.differences,
        "status": outcome.new.status,
        "note": outcome.note,
    }


def _print(task: TaskSpec, outcomes: Sequence[Outcome]) -> None:
    from podium.cli.tables import Column, number, render

    metric = task.primary
    columns = [
        Column("entry"),
        Column("problem"),
        Column("seed", number=True),
        Column(f"{metric.name} then", number=True),
        Column("now", number=True),
        Column("verdict"),
    ]
    rows = [
        [
            o.old.entry,
            o.old.problem,
            str(o.old.seed),
            number(_value(o.old, metric.name)),
            number(_value(o.new, metric.name)),
            "agrees" if o.agrees else "differs" if o.new.status == "ok" else o.new.status,
        ]
        for o in outcomes
    ]
    print(render(columns, rows))
    agreed = sum(o.agrees for o in outcomes)
    bounds = ", ".join(f"{m.name} {m.tolerance:g}" for m in task.metrics)
    runs = counted(len(outcomes), "run")
    print(f"\n{agreed} of {runs} in agreement with the record (tolerance: {bounds})")
    for note in dict.fromkeys(f"{o.old.entry}: {o.note}" for o in outcomes if o.note):
        print(f"  {note}")
