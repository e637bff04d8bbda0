"""The run key: a digest of everything that decides what a run would leave behind.

Parts: the task and its version, the task's source, the problem's recipe, the tier, the entry, the
entry's source, its effective configuration, the seed, and the kind of device. A source is the
folder's code and the data that lie with it, together with every module of Podium's building blocks
(all of Podium but its engine) that the code imports, directly or through others: a change to a
shared network is a change to each entry that trains it. What a declaration or a text for people
says is no part of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from podium.errors import InputError
from podium.plan.spec import Location

ENGINE = frozenset(
    {
        "build_info",
        "check",
        "cli",
        "contracts",
        "declarations",
        "errors",
        "leaderboard",
        "paths",
        "plan",
        "provenance",
        "registry",
        "runner",
        "scaffold",
        "schemas",
        "seeding",
        "stats",
        "store",
    }
)
"""What runs and reads runs, and takes no part in what they are; every other module does."""
NO_SOURCE = (".toml", ".md", ".tmpl", ".pyc")
ROOT = Path(__file__).resolve().parent.parent


def canonical(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def run_key(parts: dict[str, str]) -> str:
    """Return the SHA-256 of the parts, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical(parts).encode()).hexdigest()


@functools.cache
def source_digest(at: Location) -> str:
    """Return the digest of a folder's code and data, and of the shared modules the code imports.

    Raises:
        InputError: a file cannot be read or is not Python.
    """
    folder = Path(at.folder)
    files = _files(folder)
    own = [file for file in files if file.suffix == ".py"]
    digest = hashlib.sha256()
    for file in [*own, *(file for file in files if file.suffix != ".py")]:
        _update(digest, f"./{file.relative_to(folder).as_posix()}", _read(file))
    for name, file in sorted(_closure(own, folder).items()):
        _update(digest, name, _read(file))
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    """Return what a folder's result may depend on; a dangling link is for the reader to report."""
    found = []
    for file in sorted(folder.rglob("*")):
        parts = file.relative_to(folder).parts
        hidden = "__pycache__" in parts or any(part.startswith(".") for part in parts)
        if not hidden and file.suffix not in NO_SOURCE and (file.is_file() or not file.exists()):
            found.append(file)
    return found


def _update(digest: Any, name: str, content: bytes) -> None:
    digest.update(f"{len(name)}:{name}{len(content)}:".encode())
    digest.update(content)


@functools.cache
def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            "the file cannot be read", where=str(file), found=error.strerror or str(error)
        ) from None


def _closure(files: list[Path], folder: Path) -> dict[str, Path]:
    """Return the shared modules reached from ``files``, except those in ``folder`` itself."""
    found: dict[str, Path] = {}
    queue = [name for file in files for name in _imports(file)]
    while queue:
        name = queue.pop()
        file = _file_of(name)
        if name in found or file is None or folder in file.parents:
            continue
        found[name] = file
        queue.extend(_imports(file))
    return found


def _file_of(name: str) -> Path | None:
    """Return the source file of a module of Podium, without importing it."""
    base = ROOT.joinpath(*name.split(".")[1:])
    for candidate in (base.with_suffix(".py"), base / "__init__.py"):
        if candidate.is_file():
            return candidate.resolve()
    return None


@functools.cache
def _imports(file: Path) -> tuple[str, ...]:
    """Return the shared modules that a source file names in its imports."""
    try:
        tree = ast.parse(_read(file), filename=str(file))
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            "not valid Python",
            where=f"{file}:{line}" if line else str(file),
            found=getattr(error, "msg", str(error)) or "too deeply nested",
        ) from None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(sorted(n for n in names if _shared(n)))


def _shared(name: str) -> bool:
    top, *rest = name.split(".")
    return top == "podium" and bool(rest) and rest[0] not in ENGINE
