"""What every entry must hold to, checked on the smoke problems of each of its tasks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from podium.check.declaration import NAME as DECLARATION
from podium.check.declaration import check_declaration
from podium.check.finding import Finding, Place, gathered, skipped
from podium.check.isolated import Probe, call_probes, smoke_limits, why_not
from podium.check.method_probe import MethodNotes
from podium.errors import FIX
from podium.plan.planner import Request, plan
from podium.plan.spec import RunSpec
from podium.registry.model import Entry
from podium.registry.registry import Registry
from podium.runner.local import run_all
from podium.store.record import Record
from podium.store.store import Store

METHOD_CHECKS = (
    DECLARATION,
    "requirements",
    "contract",
    "limits",
    "determinism",
    "seed",
    "global_state",
    "inputs",
    "children",
    "scores",
)
"""The names of the checks of an entry, in the order in which they are reported."""

_CPU_SLACK, _CPU_SECONDS = 1.25, 0.5
"""CPU time may pass threads x wall time by this factor and these seconds: clocks are coarse."""


@dataclass
class Observed:
    """What was seen of an entry on one smoke problem: its run, then the probe's notes."""

    spec: RunSpec
    record: Record
    notes: MethodNotes | None = None
    fault: str | None = None

    @property
    def where(self) -> str:
        """The task and problem, as messages name them."""
        return f"{self.spec.task}/{self.spec.problem}"


@dataclass
class _Entry:
    entry: Entry
    declared: Finding
    observed: list[Observed] = field(default_factory=list)


def check_method(entry: Entry, registry: Registry, *, jobs: int | None = None) -> list[Finding]:
    """Check one entry; see ``check_methods``."""
    return check_methods([entry], registry, jobs=jobs)[entry.id]


def check_methods(
    entries: Sequence[Entry], registry: Registry, *, jobs: int | None = None
) -> dict[str, list[Finding]]:
    """Return the findings for each entry, in the order of ``METHOD_CHECKS``.

    On every smoke problem of its tasks an entry is run once as ``podium run`` would, and is then
    called again in a process of its own, under the same limits. ``jobs`` processes run at a time;
    by default one a core.
    """
    jobs = jobs or len(os.sched_getaffinity(0))
    checked = [_Entry(entry, check_declaration(entry, registry)) for entry in entries]
    specs = [
        (item, spec)
        for item in checked
        if item.declared.state == "ok"
        for spec in _specs(item.entry, registry)
    ]
    with tempfile.TemporaryDirectory(prefix="podium-check-") as folder:
        store = Store(folder)
        tasks = {name: task.spec for name, task in registry.tasks.items()}
        records = run_all([spec for _, spec in specs], tasks, store, jobs=jobs)
        for (item, spec), record in zip(specs, records, strict=True):
            item.observed.append(Observed(spec, record))
        _probe(checked, registry, store, jobs)
    return {item.entry.id: _judge(item) for item in checked}


def _specs(entry: Entry, registry: Registry) -> list[RunSpec]:
    """Return a run for every smoke problem, limited even where the task sets no limits."""
    specs = []
    for name in entry.spec.file.tasks:
        task = registry.task(name).spec
        if not task.in_tier("smoke"):
            continue
        limits = smoke_limits(task)
        request = Request(
            tasks=(name,),
            tier="smoke",
            entries=(entry.id,),
            seeds=(0,),
            device="cpu" if "cpu" in entry.spec.file.devices else entry.spec.file.devices[0],
            time_limit=limits.seconds,
            memory_limit=limits.bytes,
        )
        specs += plan(registry, request)
    return specs


def _probe(checked: Sequence[_Entry], registry: Registry, store: Store, jobs: int) -> None:
    """Call again every method whose run ended well, and note what it does.

    Where the seed has to matter, it has to on one problem of a task: others are asked only if the
    first says no, since a call may take long.
    """
    first: list[Observed] = []
    rest: list[Observed] = []
    for item in checked:
        seen: set[str] = set()
        for o in item.observed:
            if o.record.status != "ok":
                continue
            later = item.entry.spec.file.seeded and o.spec.task in seen
            (rest if later else first).append(o)
            seen.add(o.spec.task)
    _call([(o, True) for o in first] + [(o, False) for o in rest], registry, store, jobs)
    shown = {(o.spec.entry, o.spec.task) for o in first if o.notes and o.notes.seed_matters}
    left = [o for o in rest if o.fault is None and (o.spec.entry, o.spec.task) not in shown]
    _call([(o, True) for o in left], registry, store, jobs)


def _call(
    wanted: Sequence[tuple[Observed, bool]], registry: Registry, store: Store, jobs: int
) -> None:
    """Probe each, under another seed too where asked."""
    probes = [
        Probe(
            target="podium.check.method_probe:observe_method",
            arguments=(
                msgspec.to_builtins(o.spec),
                msgspec.to_builtins(o.record),
                str(Path(store.root)),
                other_seed,
            ),
            limits=smoke_limits(registry.task(o.spec.task).spec),
            preload=o.spec.preload,
            threads=o.spec.threads,
        )
        for o, other_seed in wanted
    ]
    for (o, _), answer in zip(wanted, call_probes(probes, jobs=jobs), strict=True):
        if isinstance(answer, Exception):
            o.fault = why_not(answer)
        else:
            o.notes = msgspec.convert(answer, MethodNotes)


def _judge(item: _Entry) -> list[Finding]:
    """Turn what was seen into findings; what cannot be judged says so."""
    findings = [item.declared]
    rest = METHOD_CHECKS[1:]
    if item.declared.state != "ok":
        return findings + skipped(rest, "the declaration comes first")
    if not item.observed:
        return findings + skipped(rest, "none of its tasks has a smoke problem")
    findings.append(requirements(item.entry, item.observed))
    if findings[-1].state != "ok":
        return findings + skipped(rest[1:], "what the entry requires comes first")
    findings += contract(item.observed)
    findings += limits(item.observed)
    findings += determinism(item.observed)
    findings += seed(item.observed, seeded=item.entry.spec.file.seeded)
    findings += global_state(item.observed)
    findings += inputs(item.observed)
    findings += children(item.observed)
    findings += scores(item.observed)
    return findings


def requirements(entry: Entry, observed: Sequence[Observed]) -> Finding:
    """Everything the entry requires is installed; else nothing else of it can be checked."""
    missing = next((o.record.reason for o in observed if o.record.status == "skipped"), None)
    if missing is not None:
        reason, _, fix = missing.partition(FIX)
        return Finding(name="requirements", state="skipped", message=reason, fix=fix or None)
    wanted = ", ".join(entry.spec.file.requires) or "nothing beyond Podium"
    return Finding(name="requirements", state="ok", message=wanted)


def contract(observed: Sequence[Observed]) -> list[Finding]:
    """A run as ``podium run`` makes it ends ``ok``: in time, in memory, with a valid prediction."""
    places = []
    for o in observed:
        faults: tuple[str, ...] = ()
        if o.record.status != "ok":
            parts = [f"{o.record.status}: {o.record.reason}", o.record.traceback]
            faults = ("\n".join(part.rstrip() for part in parts if part),)
        places.append(Place(where=o.where, faults=faults))
    broken = dict.fromkeys(o.spec.task for o in observed if o.record.status != "ok")
    commands = " and ".join(f"podium info {task}" for task in broken)
    fix = f"{commands} shows what a method is given, and which arrays a prediction must hold"
    return gathered("contract", places, fix=fix)


def limits(observed: Sequence[Observed]) -> list[Finding]:
    """A run keeps to its wall time, its memory and its threads (CPU time over wall time)."""
    places = []
    for o in observed:
        if o.record.status not in ("ok", "timeout", "out_of_memory"):
            places.append(Place(where=o.where, skipped=_NO_RUN))
            continue
        places.append(Place(where=o.where, faults=tuple(_excesses(o.spec, o.record))))
    fix = "read context.threads and context.budget_left, and keep to them"
    return gathered("limits", places, fix=fix)


def _excesses(spec: RunSpec, record: Record) -> list[str]:
    cost = record.cost
    wall, cpu, peak = cost.wall_seconds, cost.cpu_seconds, cost.peak_bytes
    faults = []
    if record.status != "ok":
        faults.append(record.reason or record.status)
        return faults
    if wall is not None and spec.time_limit is not None and wall > spec.time_limit:
        faults.append(f"{wall:.1f} s of wall time, the limit is {spec.time_limit:g} s")
    if peak is not None and spec.memory_limit is not None and peak > spec.memory_limit:
        faults.append(f"{peak / 2**20:.0f} MiB, the limit is {spec.memory_limit / 2**20:.0f} MiB")
    if wall is not None and cpu is not None:
        allowed = spec.threads * wall * _CPU_SLACK + _CPU_SECONDS
        if cpu > allowed:
            faults.append(
                f"{cpu:.2f} s of CPU in {wall:.2f} s of wall time, more than the "
                f"{spec.threads} thread{'s' if spec.threads != 1 else ''} it was given"
            )
    return faults


def determinism(observed: Sequence[Observed]) -> list[Finding]:
    """The same seed gives the same bits, whatever the global random states are."""

    def faults(notes: MethodNotes) -> list[str]:
        if not notes.differs:
            return []
        names = ", ".join(notes.differs)
        if notes.differs_again:
            return [f"{names}: two calls under one seed differ (a clock, threads, an order?)"]
        return [f"{names}: depends on global random state (random, numpy.random or torch)"]

    places = []
    for o in observed:
        if o.fault is not None:
            places.append(Place(where=o.where, faults=(f"called again: {o.fault}",)))
        else:
            places.append(_place(o, faults))
    fix = "draw every random number from context.rng(name) or context.torch_generator(name)"
    return gathered("determinism", places, fix=fix)


def seed(observed: Sequence[Observed], *, seeded: bool) -> list[Finding]:
    """Another run seed changes the prediction where ``seeded = true``, and never where false.

    A seeded method need not depend on its seed on every problem of a task, but on one of them.
    """
    if not seeded:

        def faults(notes: MethodNotes) -> list[str]:
            if notes.seed_matters and not notes.differs:
                return ["another seed gives another prediction, but seeded = false"]
            return []

        places = [_place(o, faults) for o in observed]
        return gathered("seed", places, fix="declare seeded = true in entry.toml")
    places = []
    for task in dict.fromkeys(o.spec.task for o in observed):
        notes = [o.notes for o in observed if o.spec.task == task and o.notes is not None]
        if not notes:
            places.append(Place(where=task, skipped=_NO_RUN))
        elif any(n.differs for n in notes):
            places.append(Place(where=task, skipped="determinism comes first"))
        elif not any(n.seed_matters for n in notes):
            places.append(Place(where=task, faults=("another seed gives the same prediction",)))
        else:
            places.append(Place(where=task))
    fix = "draw from context.rng(name), or declare seeded = false in entry.toml"
    return gathered("seed", places, fix=fix)


def global_state(observed: Sequence[Observed]) -> list[Finding]:
    """No global random state is changed: random, numpy's legacy functions, torch."""

    def faults(notes: MethodNotes) -> list[str]:
        return [f"the global state of {name} was changed" for name in notes.touched]

    fix = "draw from context.rng(name) or context.torch_generator(name); seed nothing global"
    return gathered("global_state", [_place(o, faults) for o in observed], fix=fix)


def inputs(observed: Sequence[Observed]) -> list[Finding]:
    """The public arrays are the same after the call as before it."""

    def faults(notes: MethodNotes) -> list[str]:
        return [f"{name} was changed in place" for name in notes.changed]

    fix = "copy an array before changing it (torch.from_numpy shares its memory)"
    return gathered("inputs", [_place(o, faults) for o in observed], fix=fix)


def children(observed: Sequence[Observed]) -> list[Finding]:
    """No process that the method started is alive after it returned."""

    def faults(notes: MethodNotes) -> list[str]:
        return [f"left running: {line}" for line in notes.left]

    fix = "wait for every process, and shut down pools, before returning"
    return gathered("children", [_place(o, faults) for o in observed], fix=fix)


def scores(observed: Sequence[Observed]) -> list[Finding]:
    """Every metric is in range, or undefined with a reason; scored again it is the same."""
    fix = "mend the task's scorer; a score without a value is podium.contracts.Undefined(reason)"
    places = [_place(o, lambda notes: list(notes.scores)) for o in observed]
    return gathered("scores", places, fix=fix)


_NO_RUN = "the method gave no prediction to look at"


def _place(o: Observed, faults: Callable[[MethodNotes], list[str]]) -> Place:
    if o.notes is None:
        return Place(where=o.where, skipped=_NO_RUN)
    return Place(where=o.where, faults=tuple(faults(o.notes)))
