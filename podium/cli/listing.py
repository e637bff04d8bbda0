"""``podium list`` and ``podium info``: what there is, read from declarations alone."""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from podium.cli.nearby import entry_folder
from podium.cli.output import print_columns, print_json
from podium.declarations.task import COST_METRICS, INTEGERS, TaskSpec
from podium.errors import InputError
from podium.registry.model import Broken, Entry, Task
from podium.registry.registry import Registry, load_registry, unknown_name


def list_all(*, task: str | None, as_json: bool) -> None:
    """Print every task with its problems and entries, the suites, and what is broken."""
    registry = load_registry()
    tasks = [registry.task(task)] if task is not None else list(registry.tasks.values())
    if as_json:
        print_json(_listing(registry, tasks))
        return
    for item in tasks:
        spec = item.spec
        print(f"{spec.id}  v{spec.version}  {spec.title}{_from(item.origin)}")
        for tier, names in _by_tier(spec).items():
            print(f"  {tier}: {', '.join(names)}")
        entries = registry.entries_for(item.id)
        print_columns([(e.spec.kind, e.id, e.spec.title + _from(e.origin)) for e in entries])
        print()
    if task is None:
        print("suites")
        print_columns([(s.id, f"v{s.version}", s.title) for s in registry.suites.values()])
        _warn_stray(registry)
    _warn_broken(registry.broken)


def _warn_stray(registry: Registry) -> None:
    """Name entries that stand under no task: else a misspelt task would hide them."""
    for entry in registry.entries.values():
        if not registry.tasks.keys() & set(entry.spec.file.tasks):
            print(
                f"\nentry {entry.id} from {entry.origin} is of no task that is here: "
                f"{', '.join(entry.spec.file.tasks)}",
                file=sys.stderr,
            )


def _from(origin: str) -> str:
    return "" if origin == "podium" else f"  (from {origin})"


def _by_tier(spec: TaskSpec) -> dict[str, list[str]]:
    tiers: dict[str, list[str]] = {}
    for tier in ("small", "smoke", "full"):
        names = [p.id for p in spec.in_tier(tier)]
        if names:
            tiers[tier] = names
    return tiers


def _warn_broken(broken: tuple[Broken, ...]) -> None:
    if broken:
        print(f"\nbroken ({len(broken)}):", file=sys.stderr)
    for item in broken:
        where = item.file if item.line is None else f"{item.file}:{item.line}"
        print(f"  {item.kind} {item.name} from {item.origin}", file=sys.stderr)
        print(f"    {where}: {item.reason}", file=sys.stderr)


def _listing(registry: Registry, tasks: list[Task]) -> dict[str, Any]:
    return {
        "tasks": [
            {
                "id": t.id,
                "version": t.spec.version,
                "title": t.spec.title,
                "origin": t.origin,
                "problems": [{"id": p.id, "tiers": list(p.tiers)} for p in t.spec.problems],
                "entries": [e.id for e in registry.entries_for(t.id)],
            }
            for t in tasks
        ],
        "entries": [
            {"id": e.id, "kind": e.spec.kind, "title": e.spec.title, "origin": e.origin}
            for e in registry.entries.values()
            if any(t.id in e.spec.file.tasks for t in tasks)
        ],
        "suites": [
            {"id": s.id, "version": s.version, "title": s.title} for s in registry.suites.values()
        ],
        "broken": [vars(b) for b in registry.broken],
    }


def info(name: str, *, as_json: bool) -> None:
    """Print all about one task, entry or suite: contract, problems, claims or arguments."""
    registry = load_registry()
    if name in registry.tasks:
        _info_task(registry, registry.tasks[name], as_json=as_json)
    elif name in registry.entries:
        _info_entry(registry.entries[name], as_json=as_json)
    elif name in registry.suites:
        suite = registry.suites[name]
        if as_json:
            print_json(msgspec.to_builtins(suite))
            return
        print(f"{suite.id} v{suite.version}: {suite.title}")
        print(f"  tier {suite.tier}, {suite.seeds} seeds")
        for part in suite.tasks:
            print(
                f"  {part.task}: {', '.join(part.problems) or 'every problem'}; "
                f"{', '.join(part.entries) or 'every entry'}"
            )
    else:
        for broken in registry.broken:
            if broken.name == name:
                where = broken.file if broken.line is None else f"{broken.file}:{broken.line}"
                raise InputError(f"{broken.kind} {name!r} is broken: {broken.reason}", where=where)
        owners = [
            t.id for t in registry.tasks.values() if any(p.id == name for p in t.spec.problems)
        ]
        if owners:
            raise InputError(
                f"{name!r} is a problem of {' and '.join(owners)}",
                expected="a task, an entry or a suite",
                fix=f"podium info {owners[0]}",
            )
        known = [*registry.tasks, *registry.entries, *registry.suites]
        meant = entry_folder(name, known)
        if meant is not None:
            raise InputError(
                f"unknown task, entry or suite {name!r}",
                found=f"the folder {meant}, whose entry is not installed",
                fix=f"podium check {meant}, or podium run TASK --entry {meant}",
            )
        raise unknown_name("task, entry or suite", name, known)


def _info_task(registry: Registry, task: Task, *, as_json: bool) -> None:
    spec = task.spec
    if as_json:
        print_json({**msgspec.to_builtins(spec), "origin": task.origin, "folder": task.at.folder})
        return
    print(f"{spec.id} v{spec.version}: {spec.title}\n\n{spec.summary.strip()}\n")
    print("a method is given")
    print_columns([_array_row(a) for a in spec.arrays.public])
    print("and returns")
    print_columns([_array_row(a) for a in spec.arrays.prediction])
    if any(a.dtype in INTEGERS for a in spec.arrays.prediction):
        print("  (integers of another size are taken where every value fits; floats are not)")
    print("metrics")
    for m in spec.metrics:
        bounds = f"{m.range[0]:g} to {m.range[1]:g}, {m.direction} is better"
        if not m.averaged:
            bounds += "; of each problem alone"
        print(f"  {m.name}{' (primary, ranks the entries)' if m.primary else ''}: {bounds}")
        print(f"    {m.description or m.title}")
    costs = ", ".join(f"{m.name} ({m.title.lower()})" for m in COST_METRICS.values())
    print(f"  of every run, lower is better: {costs}")
    print("problems")
    print_columns([(p.id, ", ".join(p.tiers), p.title) for p in spec.problems])
    print("claims (gated: the task stands for it; reported: shown, never required)")
    for c in spec.claims:
        print(f"  {c.id} ({'gated' if c.gate else 'reported'}): {c.statement}")
    entries = registry.entries_for(spec.id)
    print("entries")
    print_columns([(e.spec.kind, e.id, e.spec.title) for e in entries])
    print("limits of one run (--time-limit, --memory-limit)")
    for tier, limit in spec.limits.items():
        print(f"  {tier}: {limit.seconds:g} s, {limit.memory_gib:g} GiB")
    print(f"\npodium run {spec.id} runs the small tier with seeds 0, 1 and 2 (--tier, --seeds)")
    print(f"card: {task.at.folder}/card.md")


def _array_row(array: Any) -> tuple[str, str, str]:
    shape = f"[{', '.join(map(str, array.shape))}]"
    optional = "optional: " if array.optional else ""
    return (array.name, f"{array.dtype} {shape}", optional + array.description)


def _info_entry(entry: Entry, *, as_json: bool) -> None:
    from podium.plan.planner import signature_of

    signature = signature_of(entry)
    arguments = {
        p.name: {
            "type": p.annotation,
            "value": entry.spec.config.get(p.name, p.default),
        }
        for p in signature.parameters.values()
    }
    if as_json:
        print_json(
            {
                "id": entry.id,
                "kind": entry.spec.kind,
                "title": entry.spec.title,
                "summary": entry.spec.summary,
                "tasks": list(entry.spec.file.tasks),
                "arguments": arguments,
                "smoke": entry.spec.file.smoke,
                "devices": list(entry.spec.file.devices),
                "requires": list(entry.spec.file.requires),
                "extra": entry.spec.file.extra,
                "origin": entry.origin,
                "folder": entry.at.folder,
            }
        )
        return
    print(f"{entry.id} ({entry.spec.kind}): {entry.spec.title}\n\n{entry.spec.summary.strip()}\n")
    print(f"tasks: {', '.join(entry.spec.file.tasks)}")
    print(f"devices: {', '.join(entry.spec.file.devices)}")
    if entry.spec.file.paper is not None:
        paper = entry.spec.file.paper
        print(f"paper: {', '.join(x for x in (paper.title, paper.authors, paper.venue) if x)}")
    print("arguments (change one with --set name=value)")
    print_columns([(n, a["type"], repr(a["value"])) for n, a in arguments.items()])
    if entry.spec.file.smoke:
        smoke = ", ".join(f"{n} = {v!r}" for n, v in entry.spec.file.smoke.items())
        print(f"in tier smoke: {smoke}")
    print(f"\ncode: {signature.file}:{signature.line}")
