"""Entries' folders close by, for a name that is none: a folder's name and its entry's id differ."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from podium.errors import InputError
from podium.registry.model import ENTRY_FILE

_CUTOFF = 0.7
_ID = re.compile(r"""^id\s*=\s*["']([a-z][a-z0-9_]*)["']""", re.MULTILINE)


def entry_folder(name: str, known: Iterable[str] = ()) -> str | None:
    """Return the folder of an entry that ``name`` may mean, quoted for a command line.

    Looked at are the folders beside ``name`` (for a bare name: those in the current folder) that
    hold an ``entry.toml``, by their names and the ids of their entries, dashes or underscores
    alike; or the folder that holds ``name`` itself. ``None`` if one of the ``known`` is nearer.
    """
    if not name:
        return None
    path = Path(name)
    if path.parent != Path() and _is_entry(path.parent):
        return shlex.quote(str(path.parent))
    by_name: dict[str, Path] = {}
    for folder in _folders(path.parent):
        by_name.setdefault(_plain(folder.name), folder)
        by_name.setdefault(_plain(_declared_id(folder)), folder)
    choices = dict.fromkeys([*by_name, *known])
    close = get_close_matches(_plain(path.name), choices, n=1, cutoff=_CUTOFF)
    return shlex.quote(str(by_name[close[0]])) if close and close[0] in by_name else None


def check_folders(added: Sequence[Path]) -> None:
    """Point to the folder that was meant where ``--entry`` names none.

    Raises:
        InputError: it names none, and one like it is close by.
    """
    for path in added:
        if (path / ENTRY_FILE).is_file() or path.name == ENTRY_FILE:
            continue
        meant = entry_folder(str(path))
        if meant is not None:
            raise InputError(
                "not the folder of an entry",
                where=f"--entry {path}",
                expected="a folder with entry.toml and method.py",
                fix=f"--entry {meant}",
            )


def check_names(names: Iterable[str], known: Iterable[str]) -> None:
    """Point to a folder close by where ``--entries`` names no entry that is known.

    Raises:
        InputError: a name is not known, and a folder like it is close by.
    """
    present = set(known)
    for name in names:
        meant = None if name in present else entry_folder(name, present)
        if meant is not None:
            raise InputError(
                f"unknown entry {name!r}",
                where="--entries",
                found=f"the folder {meant}, whose entry is not installed",
                fix=f"--entry {meant}",
            )


def _is_entry(folder: Path) -> bool:
    try:
        return (folder / ENTRY_FILE).is_file()
    except OSError:  # a name too long to be one, or a folder that may not be read
        return False


def _folders(parent: Path) -> list[Path]:
    try:
        return [folder for folder in sorted(parent.iterdir()) if _is_entry(folder)]
    except OSError:
        return []


def _declared_id(folder: Path) -> str:
    try:
        found = _ID.search((folder / ENTRY_FILE).read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return folder.name
    return found[1] if found else folder.name


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
