"""Find tasks, entries and suites: Podium's own folders, then installed packages, then paths."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from podium.declarations import toml
from podium.declarations.entry import EntryFile
from podium.declarations.suite import SuitesFile, SuiteSpec
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.paths import expanded
from podium.plan.spec import Location
from podium.registry import cache
from podium.registry.model import ENTRY_FILE, TASK_FILE, Broken, Entry, Task

T = TypeVar("T", Task, Entry)
HERE = Path(__file__).resolve().parent.parent
NO_PLUGINS = "PODIUM_NO_PLUGINS"
_ID = re.compile(r"""^id\s*=\s*["']([a-z][a-z0-9_]*)["']""", re.MULTILINE)
ENTRY_FOLDERS = ("methods", "baselines")


@dataclass(frozen=True)
class Registry:
    """What there is: tasks, entries and suites by id, and what could not be read."""

    tasks: dict[str, Task]
    entries: dict[str, Entry]
    suites: dict[str, SuiteSpec]
    broken: tuple[Broken, ...]

    def task(self, name: str) -> Task:
        """Return a task; InputError with near names if there is none."""
        return self._get("task", name, self.tasks)

    def entry(self, name: str) -> Entry:
        """Return an entry; InputError with near names if there is none."""
        return self._get("entry", name, self.entries)

    def suite(self, name: str) -> SuiteSpec:
        """Return a suite; InputError with near names if there is none."""
        if name not in self.suites:
            raise unknown_name("suite", name, self.suites)
        return self.suites[name]

    def entries_for(self, task: str) -> tuple[Entry, ...]:
        """Return the entries of a task: references, then baselines, controls, submissions."""
        order = ("reference", "baseline", "control", "submission")
        found = [e for e in self.entries.values() if task in e.spec.file.tasks]
        return tuple(sorted(found, key=lambda e: (order.index(e.spec.kind), e.id)))

    def _get(self, kind: str, name: str, table: dict[str, T]) -> T:
        if name in table:
            return table[name]
        for item in self.broken:
            if item.kind == kind and item.name == name:
                where = item.file if item.line is None else f"{item.file}:{item.line}"
                raise InputError(f"the {kind} {name!r} is broken: {item.reason}", where=where)
        raise unknown_name(kind, name, table)


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for a name that is not there, with near ones."""
    names = sorted(known)
    close = get_close_matches(name, names, n=3, cutoff=0.5)
    return InputError(
        f"unknown {kind} {name!r}",
        expected=None if close else f"one of {', '.join(names) or 'none'}",
        fix=f"did you mean {' or '.join(repr(c) for c in close)}?" if close else "podium list",
    )


def load_registry(extra_entries: Sequence[Path] = (), *, plugins: bool | None = None) -> Registry:
    """Read every declaration; nothing that is declared is imported.

    ``extra_entries``: folders with an ``entry.toml``, added by path. ``plugins``: whether installed
    packages are asked (groups ``podium.tasks`` and ``podium.entries``); by default they are,
    unless the environment variable ``PODIUM_NO_PLUGINS`` is set.

    Raises:
        InputError: two declarations of one id, or a faulty one among ``extra_entries``.
    """
    ask = plugins if plugins is not None else not os.environ.get(NO_PLUGINS)
    loader = _Loader()
    loader.add_installed(plugins=ask)
    for folder in extra_entries:
        loader.add_entry_path(folder)
    suites = toml.load(HERE / "benchmarks" / "suites.toml", SuitesFile)
    return Registry(
        tasks=loader.tasks,
        entries=loader.entries,
        suites={s.id: s for s in suites.suites},
        broken=tuple(loader.broken),
    )


class _Loader:
    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.entries: dict[str, Entry] = {}
        self.broken: list[Broken] = []
        self.tasks_read: list[cache.ReadTask] = []
        self.entries_read: list[cache.ReadEntry] = []
        self.plugin_files: list[Path] = []

    def add_installed(self, *, plugins: bool) -> None:
        """Add Podium's own declarations and the plug-ins', from the cache if nothing changed."""
        tasks = sorted((HERE / "benchmarks").glob("*/task.toml"))
        entries = [f for top in ENTRY_FOLDERS for f in sorted((HERE / top).glob("*/entry.toml"))]
        stamp = cache.stamp([*tasks, *entries], plugins=plugins)
        snapshot = cache.read(stamp, plugins=plugins)
        if snapshot is None:
            for file in tasks:
                self._read_task(file, _own("benchmarks", file), "podium", file.parent.name)
            for file in entries:
                at = _own(file.parent.parent.name, file)
                self._read_entry(file, at, "podium", file.parent.name)
            if plugins:
                self.add_plugins()
            snapshot = cache.Snapshot(
                stamp,
                cache.state(self.plugin_files),
                tuple(self.tasks_read),
                tuple(self.entries_read),
            )
            if not self.broken:
                cache.write(snapshot, plugins=plugins)
        for task in snapshot.tasks:
            self._add("task", self.tasks, Task(spec=task.spec, at=task.at, origin=task.origin))
        for entry in snapshot.entries:
            self._add_entries(entry.file, entry.at, entry.origin)

    def add_entry_path(self, folder: Path) -> None:
        """Add one entry by its folder; its faults are the caller's faults."""
        folder = expanded(folder, where="--entry")
        if folder.name == ENTRY_FILE:
            folder = folder.parent
        if not folder.is_dir():
            raise InputError(
                "no such folder",
                where=f"--entry {folder}",
                expected="a folder with entry.toml and method.py",
                fix="podium new method NAME --task TASK makes one",
            )
        at = Location(package=None, folder=str(folder.resolve()))
        if any(entry.at.folder == at.folder for entry in self.entries.values()):
            return  # the very same folder, named twice or installed: no second entry
        self._add_entries(toml.load(folder / ENTRY_FILE, EntryFile), at, str(folder))

    def _add_entries(self, declared: EntryFile, at: Location, origin: str) -> None:
        for spec in declared.entries():
            self._add("entry", self.entries, Entry(spec=spec, at=at, origin=origin))

    def add_plugins(self) -> None:
        from importlib.metadata import entry_points

        points = entry_points()
        for point in points.select(group="podium.tasks"):
            self._add_plugin("task", point.name, point.value, _origin(point.dist))
        for point in points.select(group="podium.entries"):
            self._add_plugin("entry", point.name, point.value, _origin(point.dist))

    def _add_plugin(self, kind: str, name: str, package: str, origin: str) -> None:
        import importlib.util

        is_task = kind == "task"
        try:
            with contextlib.redirect_stdout(sys.stderr):
                spec = importlib.util.find_spec(package)
        # A plug-in's parent package may fail in any way; what it prints is no part of our output.
        except (Exception, SystemExit) as error:
            self.broken.append(_broken_import(is_task, name, origin, package, error))
            return
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places:
            self.broken.append(
                Broken(
                    kind="task" if is_task else "entry",
                    name=name,
                    origin=origin,
                    file=package,
                    line=None,
                    reason="the entry point names no package folder",
                )
            )
            return
        folder = Path(places[0])
        at = Location(package=package, folder=str(folder.resolve()))
        file = folder / (TASK_FILE if is_task else ENTRY_FILE)
        self.plugin_files.append(file)
        read = self._read_task if is_task else self._read_entry
        read(file, at, origin, name)

    def _read_task(self, file: Path, at: Location, origin: str, name: str) -> None:
        try:
            spec = toml.load(file, TaskSpec)
        except InputError as error:
            self.broken.append(_broken_file("task", name, file, origin, error))
            return
        self.tasks_read.append(cache.ReadTask(spec, at, origin))

    def _read_entry(self, file: Path, at: Location, origin: str, name: str) -> None:
        try:
            declared = toml.load(file, EntryFile)
        except InputError as error:
            self.broken.append(_broken_file("entry", name, file, origin, error))
            return
        self.entries_read.append(cache.ReadEntry(declared, at, origin))

    def _add(self, kind: str, table: dict[str, T], item: T) -> None:
        other = table.get(item.id)
        if other is not None:
            raise InputError(
                f"two {'tasks' if kind == 'task' else 'entries'} are named {item.id!r}",
                where=item.at.folder,
                found=f"{other.at.folder} ({other.origin}) and {item.at.folder} ({item.origin})",
                fix="rename one of them, or remove one of the packages",
            )
        table[item.id] = item


def _own(top: str, file: Path) -> Location:
    """Return the place of one of Podium's own folders."""
    folder = file.parent
    return Location(package=f"podium.{top}.{folder.name}", folder=str(folder.resolve()))


def _origin(dist: object) -> str:
    name = getattr(dist, "name", None)
    return f"{name} {getattr(dist, 'version', '')}".strip() if name else "an installed package"


def _broken_file(kind: str, name: str, file: Path, origin: str, error: InputError) -> Broken:
    _, _, tail = (error.where or "").rpartition(":")
    return Broken(
        kind="task" if kind == "task" else "entry",
        name=_declared_id(file) or name,
        origin=origin,
        file=str(file),
        line=int(tail) if tail.isdigit() else None,
        reason=error.what if error.fix is None else f"{error.what} ({error.fix})",
    )


def _declared_id(file: Path) -> str | None:
    """Return the id that a faulty declaration gives itself, under which it will be asked for."""
    try:
        found = _ID.search(file.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None
    return found[1] if found else None


def _broken_import(
    is_task: bool, name: str, origin: str, package: str, error: BaseException
) -> Broken:
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    inside_import = last is None or last.filename.startswith("<frozen")
    return Broken(
        kind="task" if is_task else "entry",
        name=name,
        origin=origin,
        file=package if last is None or inside_import else last.filename,
        line=None if last is None or inside_import else last.lineno,
        reason=f"{type(error).__name__}: {error}",
    )
