"""``podium new``: write a folder to start from."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection
from pathlib import Path

from podium.errors import InputError, MissingError
from podium.paths import expanded
from podium.registry.registry import Registry, load_registry

MAX_NAME = 64
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def new_method(name: str, *, task: str, folder: Path | None) -> None:
    """Write a method's folder that passes ``podium check`` at once, and print what to do next.

    ``name`` becomes the entry's id, with dashes as underscores. ``folder`` is the folder to make;
    by default one of that name in the current folder.

    Raises:
        InputError: the name cannot be an id or is taken, there is no such task, or the folder
            exists already.
        MissingError: the folder cannot be written.
    """
    registry = load_registry()
    id = _entry_id(name, registry)
    found = registry.task(task)
    place = Path(name) if folder is None else expanded(folder, where="--folder")
    shown = shlex.quote(str(place))

    from podium.scaffold.method import method_files

    written = method_files(
        found.spec, name=name, id=id, folder=shown, task_folder=Path(found.at.folder)
    )
    _write(place, written)
    print(f"wrote {place}: {', '.join(written)}")
    print("next:")
    print(f"  edit {place / 'method.py'}: put your method in place of what it starts as")
    print(f"  podium check {shown}")
    print(f"  podium run {task} --entry {shown}")


def _entry_id(name: str, registry: Registry) -> str:
    where = f"name {name[:80]!r}" + ("..." if len(name) > 80 else "")
    if len(name) > MAX_NAME:
        raise InputError(
            "the name is too long",
            where=where,
            expected=f"at most {MAX_NAME} characters",
            found=f"{len(name)}",
        )
    if not _NAME.fullmatch(name):
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-0123456789")
        raise InputError(
            "this cannot be the name of a method",
            where=where,
            expected="a lower-case letter a-z, then letters a-z, digits, - or _",
            fix=f"podium new method {plain} --task ..." if plain else None,
        )
    id = name.replace("-", "_")
    owners: dict[str, Collection[str]] = {
        "an entry": registry.entries,
        "a task": registry.tasks,
        "a suite": registry.suites,
        "a broken declaration": {broken.name for broken in registry.broken},
    }
    for owner, names in owners.items():
        if id in names:
            raise InputError(
                f"the name {id!r} is taken", where=where, found=f"{owner} of that name"
            )
    return id


def _write(place: Path, written: dict[str, str]) -> None:
    """Write the files into a new folder; leave nothing behind if that fails."""
    try:
        place.mkdir(parents=True)
    except FileExistsError:
        raise InputError(
            "it exists already", where=str(place), fix="give another name, or --folder"
        ) from None
    except OSError as error:
        raise _unwritable(place, error) from None
    try:
        for name, text in written.items():
            (place / name).write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise _unwritable(place, error) from None


def _unwritable(place: Path, error: OSError) -> MissingError:
    return MissingError(
        "the folder cannot be written",
        where=str(place),
        found=error.strerror or str(error),
        fix="choose another place with --folder",
    )
