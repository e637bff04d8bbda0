"""From what was asked for to a list of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from podium.declarations.signature import (
    Signature,
    effective_config,
    parse_assignment,
    unknown_argument,
)
from podium.declarations.task import TIERS, LimitSpec, ProblemSpec
from podium.errors import InputError
from podium.plan.config import signature_at
from podium.plan.keys import canonical, run_key, source_digest
from podium.plan.spec import RunSpec
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry, unknown_name

GIB = 2**30
_SHOWN = 40
_NAME_SHOWN = 100


@dataclass(frozen=True)
class Request:
    """What a person asked to run; ``None`` or empty means the default or everything."""

    tasks: tuple[str, ...] = ()
    suite: str | None = None
    tier: str | None = None
    entries: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    seeds: tuple[int, ...] | None = None
    added: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    device: str = "cpu"
    threads: int = 1
    time_limit: float | None = None
    memory_limit: int | None = None
    argv: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Selection:
    task: Task
    tier: str
    problems: tuple[ProblemSpec, ...]
    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]


@dataclass
class _Overrides:
    """Assignments from the command line, and which of them found an entry."""

    shared: dict[str, Any] = field(default_factory=dict)
    single: dict[str, dict[str, Any]] = field(default_factory=dict)

    def of(self, entry: Entry) -> dict[str, Any]:
        return {**self.shared, **self.single.get(entry.id, {})}


def plan(registry: Registry, request: Request) -> list[RunSpec]:
    """Return every run that was asked for, in order: task, problem, seed, entry.

    Raises:
        InputError: an unknown name, a problem outside the tier, an entry that is not of the task,
            a configuration that does not fit, or nothing to run.
    """
    selections = _select(registry, request)
    overrides = _read_assignments(registry, request, selections)
    specs = [spec for chosen in selections for spec in _runs(chosen, request, overrides)]
    if not specs:
        raise InputError("nothing to run", fix="podium list shows tasks, problems and entries")
    return specs


def signature_of(entry: Entry) -> Signature:
    """Read the configuration of an entry from its source."""
    return signature_at(entry.at, entry.spec.file.function)


def _select(registry: Registry, request: Request) -> list[_Selection]:
    if request.suite is not None and request.tasks:
        raise InputError("give tasks or --suite, not both", where=f"--suite {request.suite}")
    if request.suite is None and not request.tasks:
        raise InputError(
            "nothing to run was named",
            expected="a task, or --suite",
            fix="podium run --suite quick; podium list shows what there is",
        )
    if request.tier is not None and request.tier not in TIERS:
        raise unknown_name("tier", request.tier, TIERS)
    if request.suite is not None:
        suite = registry.suite(request.suite)
        tier = request.tier or suite.tier
        seeds = request.seeds or tuple(range(suite.seeds))
        parts = [(p.task, p.problems, p.entries) for p in suite.tasks]
    else:
        tier, seeds = request.tier or "small", request.seeds or (0, 1, 2)
        parts = [(name, (), ()) for name in dict.fromkeys(request.tasks)]
    result = []
    for name, problems, entries in parts:
        task = registry.task(name)
        result.append(
            _Selection(
                task=task,
                tier=tier,
                problems=_problems(task, tier, request.problems or problems),
                entries=_entries(registry, task, request, entries),
                seeds=seeds,
            )
        )
    return result


def _problems(task: Task, tier: str, names: Sequence[str]) -> tuple[ProblemSpec, ...]:
    available = task.spec.in_tier(tier)
    if not available:
        raise InputError(f"task {task.id!r} has no problem in tier {tier!r}")
    if not names:
        return available
    known = {p.id: p for p in task.spec.problems}
    chosen = []
    for name in dict.fromkeys(names):
        if name not in known:
            raise unknown_name(f"problem of {task.id}", name, [p.id for p in available])
        if tier not in known[name].tiers:
            raise InputError(
                f"problem {name!r} of {task.id!r} is not in tier {tier!r}",
                expected=f"--tier {' or '.join(known[name].tiers)}",
            )
        chosen.append(known[name])
    return tuple(chosen)


def _entries(
    registry: Registry, task: Task, request: Request, names: Sequence[str]
) -> tuple[Entry, ...]:
    """Choose entries: those named, else the suite's, else all; ``--entry`` paths always join."""
    available = registry.entries_for(task.id)
    wanted = list(request.entries or names)
    if request.added and not request.entries and not names:
        wanted = []
    elif not wanted:
        wanted = [e.id for e in available if e.spec.file.named_by is None]
    for name in request.added:
        if task.id in registry.entry(name).spec.file.tasks and name not in wanted:
            wanted.append(name)
    known = {e.id for e in available}
    chosen = []
    for name in dict.fromkeys(wanted):
        entry = registry.entry(name)
        if name not in known:
            raise InputError(
                f"entry {name!r} is not of task {task.id!r}",
                expected=f"one of {', '.join(sorted(known))}",
                found=f"tasks of {name!r}: {', '.join(entry.spec.file.tasks)}",
            )
        chosen.append(entry)
    if not chosen:
        raise InputError(f"no entry for task {task.id!r}", fix="podium list --task " + task.id)
    return tuple(chosen)


def _read_assignments(
    registry: Registry, request: Request, selections: list[_Selection]
) -> _Overrides:
    result = _Overrides()
    chosen = {entry.id: entry for part in selections for entry in part.entries}
    for text in request.assignments:
        owner, name, value = parse_assignment(text)
        where = f"--set {text}"
        if owner is None:
            for entry in chosen.values():
                signature = signature_of(entry)
                if name not in signature.parameters:
                    raise unknown_argument(name, signature, where=f"{where} (entry {entry.id})")
            result.shared[name] = value
        elif owner not in chosen:
            registry.entry(owner)
            raise InputError(f"entry {owner!r} is not among those to run", where=where)
        else:
            result.single.setdefault(owner, {})[name] = value
    return result


def _runs(chosen: _Selection, request: Request, overrides: _Overrides) -> list[RunSpec]:
    task = chosen.task
    task_parts = {
        "task": f"{task.id} v{task.spec.version}",
        "task source": source_digest(task.at),
        "tier": chosen.tier,
    }
    entries = [_entry_parts(e, chosen.tier, overrides.of(e)) for e in chosen.entries]
    limits = next((v for name, v in task.spec.limits.items() if name == chosen.tier), None)
    specs = []
    for problem in chosen.problems:
        recipe = canonical({"id": problem.id, "params": problem.params})
        for seed in chosen.seeds:
            for entry, label, config, given, entry_parts in entries:
                parts = {
                    **task_parts,
                    "problem": recipe,
                    **entry_parts,
                    "seed": str(seed),
                    "device": request.device.partition(":")[0],
                }
                specs.append(
                    RunSpec(
                        key=run_key(parts),
                        key_parts=parts,
                        task=task.id,
                        task_version=task.spec.version,
                        task_at=task.at,
                        problem=problem.id,
                        params=problem.params,
                        tier=chosen.tier,
                        entry=label,
                        entry_id=entry.id,
                        entry_at=entry.at,
                        kind=entry.spec.kind,
                        origin=printable(entry.origin),
                        function=entry.spec.file.function,
                        preload=entry.spec.file.preload,
                        requires=entry.spec.file.requires,
                        extra=entry.spec.file.extra,
                        config=config,
                        overrides=given,
                        seed=seed,
                        device=request.device,
                        threads=request.threads,
                        time_limit=_time_limit(request, limits),
                        memory_limit=_memory_limit(request, limits),
                        argv=tuple(printable(word) for word in request.argv),
                        files=entry.spec.file.files,
                    )
                )
    return specs


def printable(text: str) -> str:
    """Return text from the system as text that can be written.

    Under an ASCII locale Python holds the bytes of other letters as lone surrogates.
    """
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _time_limit(request: Request, limits: LimitSpec | None) -> float | None:
    if request.time_limit is not None:
        return request.time_limit
    return limits.seconds if limits else None


def _memory_limit(request: Request, limits: LimitSpec | None) -> int | None:
    if request.memory_limit is not None:
        return request.memory_limit
    return int(limits.memory_gib * GIB) if limits else None


def _shown(value: Any, length: int = _SHOWN) -> str:
    """Return a value for a label: a long or awkward text cut, with a digest of the whole."""
    text = str(value)
    if len(text) <= length and text.isprintable() and not set(text) & set("[]"):
        return text
    plain = "".join(c if c.isprintable() and c not in "[]" else "?" for c in text[: length // 2])
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}~{digest}"


def _entry_parts(
    entry: Entry, tier: str, given: dict[str, Any]
) -> tuple[Entry, str, dict[str, Any], dict[str, Any], dict[str, str]]:
    """Return an entry with its label, whole configuration, overrides and parts of the key."""
    signature = signature_of(entry)
    where = f"entry {entry.id}"
    declared = entry.spec.config_in(tier)
    base = effective_config(signature, declared, {}, where=where)
    config = effective_config(signature, declared, given, where=where)
    changed = {k: config[k] for k in given if config[k] != base[k]}
    name = entry.spec.file.named_by
    if name is not None and name not in signature.parameters:
        raise unknown_argument(name, signature, where=f"{where}, named_by")
    label = entry.id + (f"[{_shown(changed[name], _NAME_SHOWN)}]" if name in changed else "")
    label += "".join(f"[{k}={_shown(v)}]" for k, v in sorted(changed.items()) if k != name)
    parts = {
        "entry": entry.id,
        "entry source": source_digest(entry.at),
        "config": canonical(config),
    }
    if entry.spec.file.files:
        parts["entry files"] = canonical({f.name: f.sha256 for f in entry.spec.file.files})
    return entry, label, config, changed, parts
