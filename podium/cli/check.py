"""``podium check``: hold an entry or a task to its contract, and say what to do next."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from podium.cli.nearby import entry_folder
from podium.cli.output import print_columns, print_json
from podium.errors import EXIT_ENVIRONMENT, EXIT_OK, EXIT_RUN_FAILED, InputError
from podium.paths import expanded
from podium.registry.model import ENTRY_FILE, TASK_FILE
from podium.registry.registry import Registry, load_registry, unknown_name

if TYPE_CHECKING:
    from podium.check.finding import Finding
    from podium.registry.model import Entry, Task


@dataclass
class Subject:
    """An entry or a task that is checked, and what was found."""

    kind: Literal["entry", "task"]
    id: str
    findings: list[Finding] = field(default_factory=list)
    item: Entry | Task | None = None
    """What to check; ``None`` where it cannot be read and the findings say so already."""


def check(target: str, *, as_json: bool) -> int:
    """Check a folder, an entry or a task; return the exit code.

    It is 0 if nothing failed, 1 if a check did, 3 if one was skipped for want of a package or a
    file.

    ``target`` is a folder with ``entry.toml`` or ``task.toml``, or else an id. A folder may hold
    several entries (variants); each is checked. With ``as_json`` one object is printed::

        {"target": str,
         "ok": bool,                            # no check failed
         "subjects": [
           {"kind": "entry" | "task",
            "id": str,
            "findings": [
              {"name": str,                     # podium.check.method.METHOD_CHECKS or
                                                # podium.check.task.TASK_CHECKS
               "state": "ok" | "failed" | "skipped",
               "message": str,                  # what was seen, and where
               "fix": str | null}]}]}           # what to do about it

    A check that fails in several places has a finding for each way in which it does.

    Raises:
        InputError: there is no such folder, entry or task, or ``PODIUM_DATA`` names no folder.
    """
    from podium.data.resolver import data_folder

    data_folder()
    registry, subjects = _subjects(target)
    _examine(registry, subjects)
    broken = [f for s in subjects for f in s.findings if f.state == "failed"]
    if as_json:
        print_json(_listing(target, subjects))
    else:
        for subject in subjects:
            _print(subject)
        print(_next(target, subjects, len(broken)))
    if broken:
        return EXIT_RUN_FAILED
    return EXIT_ENVIRONMENT if _lacking(subjects) else EXIT_OK


def _lacking(subjects: list[Subject]) -> list[str]:
    """Return what would give the machine the packages or files that a check was skipped for."""
    found = [f for s in subjects for f in s.findings if f.state == "skipped" and f.fix is not None]
    return list(dict.fromkeys(f.fix for f in found if f.fix is not None))


def _subjects(target: str) -> tuple[Registry, list[Subject]]:
    """Find what is to be checked, and a registry that knows it."""
    folder = expanded(target, where="podium check")
    if folder.name in (TASK_FILE, ENTRY_FILE):
        folder = folder.parent
    registry = load_registry()
    if target and _is_there(folder / ENTRY_FILE):
        return _entries_of(folder, registry)
    if target and _is_there(folder / TASK_FILE):
        return _task_of(folder, registry)
    known = _known(registry, target)
    meant = None if known else entry_folder(target, [*registry.entries, *registry.tasks])
    if meant is not None:
        raise InputError("no such folder, entry or task", where=target, fix=f"podium check {meant}")
    is_folder = bool(target) and _is_there(folder)
    if os.sep in target or (is_folder and not known):
        raise InputError(
            "nothing to check here" if is_folder else "no such folder",
            where=target,
            expected=f"a folder with {ENTRY_FILE} or {TASK_FILE}, or the id of an entry or a task",
            fix="podium new method NAME --task TASK makes one",
        )
    if target in registry.entries:
        return registry, [Subject("entry", target, item=registry.entries[target])]
    if target in registry.tasks:
        return registry, [Subject("task", target, item=registry.tasks[target])]
    for broken in registry.broken:
        if broken.name == target:
            where = broken.file if broken.line is None else f"{broken.file}:{broken.line}"
            return registry, [
                _unreadable(broken.kind, target, InputError(broken.reason, where=where))
            ]
    raise unknown_name("entry or task", target, [*registry.entries, *registry.tasks])


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long to be one
        return False


def _known(registry: Registry, name: str) -> bool:
    broken = {b.name for b in registry.broken}
    return name in registry.entries or name in registry.tasks or name in broken


def _entries_of(folder: Path, registry: Registry) -> tuple[Registry, list[Subject]]:
    place = str(folder.resolve())
    found = [e for e in registry.entries.values() if e.at.folder == place]
    if not found:
        try:
            registry = load_registry([folder])
        except InputError as error:
            return registry, [_unreadable("entry", folder.name, error)]
        found = [e for e in registry.entries.values() if e.at.folder == place]
    return registry, [Subject("entry", e.id, item=e) for e in found]


def _task_of(folder: Path, registry: Registry) -> tuple[Registry, list[Subject]]:
    from podium.declarations import toml
    from podium.declarations.task import TaskSpec
    from podium.plan.spec import Location
    from podium.registry.model import Task

    place = str(folder.resolve())
    known = next((t for t in registry.tasks.values() if t.at.folder == place), None)
    if known is not None:
        return registry, [Subject("task", known.id, item=known)]
    try:
        spec = toml.load(folder / TASK_FILE, TaskSpec)
    except InputError as error:
        return registry, [_unreadable("task", folder.name, error)]
    task = Task(spec=spec, at=Location(package=None, folder=place), origin=str(folder))
    registry = replace(registry, tasks={**registry.tasks, task.id: task})
    return registry, [Subject("task", task.id, item=task)]


def _unreadable(kind: Literal["entry", "task"], name: str, error: InputError) -> Subject:
    from podium.check.declaration import broken_declaration

    return Subject(kind, name, [broken_declaration(error)])


def _examine(registry: Registry, subjects: list[Subject]) -> None:
    from podium.check.method import check_methods
    from podium.check.task import check_task
    from podium.registry.model import Entry, Task

    entries = [s.item for s in subjects if isinstance(s.item, Entry)]
    found = check_methods(entries, registry) if entries else {}
    for subject in subjects:
        if isinstance(subject.item, Entry):
            subject.findings = found[subject.id]
        elif isinstance(subject.item, Task):
            subject.findings = check_task(subject.item, registry)


def _listing(target: str, subjects: list[Subject]) -> dict[str, Any]:
    import msgspec

    return {
        "target": target,
        "ok": not any(f.state == "failed" for s in subjects for f in s.findings),
        "subjects": [
            {"kind": s.kind, "id": s.id, "findings": msgspec.to_builtins(s.findings)}
            for s in subjects
        ],
    }


def _print(subject: Subject) -> None:
    print(f"{subject.kind} {subject.id}")
    rows: list[tuple[str, str, str]] = []
    failed = any(f.state == "failed" for f in subject.findings)
    shown = [f for f in subject.findings if f.state != "skipped" or not failed]
    last_of_fix = {finding.fix: finding for finding in shown}
    for finding in shown:
        first, *more = finding.message.rstrip().splitlines() or [""]
        rows.append((finding.state, finding.name, first))
        rows += [("", "", line) for line in more]
        if finding.fix is not None and last_of_fix[finding.fix] is finding:
            rows.append(("", "", f"fix: {finding.fix}"))
    print_columns(rows)
    if len(shown) < len(subject.findings):
        names = dict.fromkeys(f.name for f in subject.findings if f not in shown)
        print(f"  not checked, because of the above: {', '.join(names)}")
    print()


def _next(target: str, subjects: list[Subject], broken: int) -> str:
    """Return the last line: what to do now."""
    from podium.registry.model import Entry

    if broken:
        plural = "s" if broken != 1 else ""
        return f"{broken} finding{plural} failed: mend the first, then: podium check {target}"
    idle = sorted({f.name for s in subjects for f in s.findings if f.state == "skipped"})
    done = f"nothing failed, but skipped: {', '.join(idle)}" if idle else "all checks hold"
    lacking = _lacking(subjects)
    if lacking:
        return f"{done}. Next: {'; '.join(lacking)}; then: podium check {target}"
    subject = subjects[0]
    if isinstance(subject.item, Entry):
        task = subject.item.spec.file.tasks[0]
        given = target if subject.item.at.package is None else None
        choice = f"--entry {given}" if given else f"--entries {subject.id}"
        return f"{done}. Next: podium run {task} {choice}"
    return f"{done}. Next: podium run {subject.id} --tier smoke"
