"""What a reading verb was asked for: a task, its records, and the names that narrow them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from podium.cli.nearby import entry_folder
from podium.cli.output import counted
from podium.declarations.task import COST_METRICS, TIERS, MetricSpec, TaskSpec, Tier
from podium.errors import InputError
from podium.registry.registry import Registry, load_registry, unknown_name
from podium.store.reading import Loaded, Source, load_records

if TYPE_CHECKING:
    from podium.store.record import Record


@dataclass(frozen=True)
class Selection:
    """A task, one tier, one metric, and every record of them; ``problems`` only if narrowed."""

    registry: Registry
    task: TaskSpec
    tier: Tier
    metric: MetricSpec
    problems: tuple[str, ...] | None
    loaded: Loaded
    records: tuple[Record, ...]

    def check_averaged(self, problems: Sequence[str], fix: str) -> None:
        """Refuse a metric of its problem's own scale over several problems.

        Raises:
            InputError: no mean over ``problems`` may be formed; ``fix`` follows an example.
        """
        if not self.metric.averaged and len(problems) > 1:
            raise InputError(
                f"{self.metric.name} has its problem's own scale: no mean over problems is formed",
                where=f"{self.task.id}, tier {self.tier}",
                expected="one problem",
                found=f"{len(problems)}: {', '.join(problems)}",
                fix=f"--problem {problems[0]}{fix}",
            )

    def check_entry(self, name: str) -> str:
        """Return ``name`` if an entry of the task or a record has it.

        Raises:
            InputError: neither has; the message gives near names.
        """
        known = {e.id for e in self.registry.entries_for(self.task.id)}
        known |= {r.entry for r in self.loaded.records}
        if name not in known:
            meant = entry_folder(name, known)
            if meant is not None:
                raise InputError(
                    f"no record of {name!r}",
                    found=f"the folder {meant}, whose entry is not installed",
                    fix=f"podium run {self.task.id} --entry {meant}",
                )
            raise unknown_name(f"entry of {self.task.id}", name, known)
        return name


def select(
    task: str,
    *,
    tier: str = "small",
    metric: str | None = None,
    problems: Sequence[str] = (),
    only: str | None = None,
    store: Path | None = None,
    added: Sequence[Path] = (),
) -> Selection:
    """Check the names and read the records; what the reader has to know goes to standard error.

    ``added``: folders of entries that are not installed.

    Raises:
        InputError: an unknown task, tier, metric or problem, or a store that is missing.
    """
    registry = load_registry(added)
    spec = registry.task(task).spec
    if tier not in TIERS:
        raise unknown_name("tier", tier, TIERS)
    metrics = [*(m.name for m in spec.metrics), *COST_METRICS]
    if metric is not None and metric not in metrics:
        raise _unknown(f"metric of {task}", metric, metrics, task)
    in_tier = [p.id for p in spec.in_tier(tier)]
    for name in problems:
        if name not in in_tier:
            others = next((p.tiers for p in spec.problems if p.id == name), ())
            if others:
                raise InputError(
                    f"problem {name!r} of {task!r} is not in tier {tier!r}",
                    expected=f"--tier {' or '.join(others)}",
                )
            raise _unknown(f"problem of {task}, tier {tier}", name, in_tier, task)
    loaded = load_records(store, only=source(only), task=task, versions={task: spec.version})
    tell_notices(loaded)
    return Selection(
        registry=registry,
        task=spec,
        tier=tier,
        metric=spec.primary if metric is None else spec.metric(metric),
        problems=tuple(p for p in in_tier if p in problems) or None,
        loaded=loaded,
        records=tuple(r for r in loaded.records if r.tier == tier),
    )


def _unknown(kind: str, name: str, known: Sequence[str], task: str) -> InputError:
    error = unknown_name(kind, name, known)
    near = "" if error.expected is not None else f"{error.fix} "
    return InputError(error.what, expected=error.expected, fix=f"{near}podium info {task}")


def source(only: str | None) -> Source | None:
    """Return the value of ``--only``.

    Raises:
        InputError: it is neither ``local`` nor ``bundled``.
    """
    if only is not None and only not in get_args(Source):
        raise InputError("unknown source", where="--only", expected="local or bundled", found=only)
    return cast("Source | None", only)


def tell_notices(loaded: Loaded) -> None:
    """Print what the reader has to know to standard error, apart from the result."""
    for notice in loaded.notices:
        print(f"podium: {notice}", file=sys.stderr)


def sources_line(loaded: Loaded, records: Sequence[Record]) -> str:
    """Say where the shown records come from, and how many of another version are left out."""
    local, bundled = (loaded.count(name, records) for name in ("local", "bundled"))
    where = f" ({loaded.store})" if loaded.store is not None and local else ""
    line = f"Records: {local} local{where}, {bundled} bundled with Podium"
    if loaded.stale:
        line += f"; {len(loaded.stale)} of another version of the task are left out"
    hidden = _displaced(loaded, records)
    if not hidden:
        return f"{line}."
    runs = counted(hidden, "local run")
    stands = "the bundled one stands" if hidden == 1 else "the bundled ones stand"
    return f"{line}.\n{runs} without a score; {stands} (see --only local)."


def _displaced(loaded: Loaded, records: Sequence[Record]) -> int:
    shown = {r.identity for r in records}
    return sum(r.identity in shown for r in loaded.displaced)


def sources_json(loaded: Loaded, records: Sequence[Record]) -> dict[str, Any]:
    """Return the same as ``sources_line`` for ``--json``."""
    return {
        "local": loaded.count("local", records),
        "bundled": loaded.count("bundled", records),
        "other_versions": len(loaded.stale),
        "local_without_score": _displaced(loaded, records),
    }


def nothing_here(selection: Selection) -> str:
    """Say that there are no records, and what would give some."""
    task, tier = selection.task.id, selection.tier
    present = {r.tier for r in selection.loaded.records}
    others = [t for t in TIERS if t in present and t != tier]
    hint = f"podium run {task} --tier {tier}"
    if others:
        hint += " makes them; " + ", ".join(f"--tier {o}" for o in others) + " shows what there is"
    else:
        hint += " makes them"
    return f"{task}: no records of tier {tier}. {hint}."
