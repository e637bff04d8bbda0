"""Remember what was read from TOML, so that listing many tasks costs no parsing.

The cache holds the declarations and the plug-ins' entry points of one state of the disk. Its stamp
covers every file and folder they were read from: names, sizes and times of change, the search path
of Python, and Podium's own code. Any difference, and everything is read anew.
"""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from podium.data.cache import cache_folder
from podium.declarations.entry import EntryFile
from podium.declarations.task import TaskSpec
from podium.errors import MissingError
from podium.plan.spec import Location

State = tuple[tuple[str, int, int], ...]
KEPT = 16
"""So many cache files are kept, the newest ones."""


class ReadTask(msgspec.Struct, frozen=True):
    """A task as it was read."""

    spec: TaskSpec
    at: Location
    origin: str


class ReadEntry(msgspec.Struct, frozen=True):
    """An entry's file as it was read."""

    file: EntryFile
    at: Location
    origin: str


class Snapshot(msgspec.Struct, frozen=True):
    """All declarations of one state of the disk; ``extra`` is the state of plug-ins' files."""

    stamp: State
    extra: State
    tasks: tuple[ReadTask, ...]
    entries: tuple[ReadEntry, ...]


def state(paths: Iterable[Path | str]) -> State:
    """Return size and time of change of files and folders; zeros for what is not there."""
    found = []
    for path in sorted(str(p) for p in paths):
        try:
            status = os.stat(path)  # noqa: PTH116 - a Path a file would double the time
        except OSError:
            found.append((path, 0, 0))
        else:
            found.append((path, status.st_mtime_ns, status.st_size))
    return tuple(found)


def stamp(declared: Iterable[Path], *, plugins: bool) -> State:
    """Return the state that decides whether a snapshot holds."""
    code = (p for name in ("declarations", "registry") for p in _CODE.joinpath(name).glob("*.py"))
    return state([*declared, *code, *(sys.path if plugins else ())])


_CODE = Path(__file__).resolve().parent.parent


def _file(plugins: bool) -> Path:
    """Return the cache file of this installation under this search path.

    Two checkouts, or two ways to start Podium, do not overwrite each other's.
    """
    import zlib

    seen = [str(_CODE), *(sys.path if plugins else ())]
    name = zlib.crc32("\0".join(seen).encode("utf-8", "surrogateescape"))
    return cache_folder() / "declarations" / f"{name:08x}-{int(plugins)}.msgpack"


def read(wanted: State, *, plugins: bool) -> Snapshot | None:
    """Return the snapshot of this state of the disk, if there is one."""
    try:
        snapshot = msgspec.msgpack.decode(_file(plugins).read_bytes(), type=Snapshot)
    except (OSError, MissingError, msgspec.DecodeError):
        return None  # none yet, or of another version of Podium: declarations are read instead
    current = snapshot.stamp == wanted and snapshot.extra == state(p for p, *_ in snapshot.extra)
    return snapshot if current else None


def write(snapshot: Snapshot, *, plugins: bool) -> None:
    """Keep a snapshot; where it cannot be written, that costs time, never an error.

    That is no home folder, a folder without the right to write, or names that are no text in this
    locale.
    """
    try:
        file = _file(plugins)
        temporary = file.with_name(f".{secrets.token_hex(8)}.tmp")
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.msgpack.encode(snapshot))
        temporary.replace(file)
        kept = sorted(file.parent.glob("*.msgpack"), key=lambda p: p.stat().st_mtime_ns)
        for old in kept[:-KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, MissingError, UnicodeEncodeError):
        return
