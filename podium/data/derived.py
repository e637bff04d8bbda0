"""Arrays and files that take long to make from other files, kept in the cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import lzma
import os
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from podium.contracts import Array
from podium.data.cache import cache_folder
from podium.data.damage import DAMAGED_ZIP
from podium.data.digest import sha256_of
from podium.errors import InputError, MissingError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")

_CONTENTS = "contents.json"
"""What the archive holds: the dtype and the shape of each array, by name."""

_DAMAGE = (*DAMAGED_ZIP, KeyError, OverflowError, TypeError, lzma.LZMAError)


def derived_arrays(
    name: str,
    compute: Callable[[], Mapping[str, Array]],
    *,
    sources: Sequence[Path],
    code: Sequence[ModuleType],
    parameters: Mapping[str, Any],
) -> dict[str, Array]:
    """Return what ``compute`` gives, computed once for one set of files, code and parameters.

    The arrays lie in the cache under a digest of all three, as ``.npz`` without pickles and with a
    list of what it holds, written to a temporary file and renamed. Reading verifies the check sums
    and the list; a damaged file is computed anew. Of
    several processes that need the same arrays one computes, the others wait for it.

    Args:
        name: what it is, in lower case: the name of its folder in the cache.
        compute: makes the arrays; of numbers, at least one.
        sources: the files they are computed from; their content counts, not their place.
        code: the modules that compute them; any change of their text makes the arrays new.
        parameters: all else they depend on, as JSON.

    Raises:
        InputError: a bad name, no array, or one that is not of numbers.
        MissingError: the cache cannot be written.
    """
    _check_name(name)
    key = _digest(sources, code, parameters)
    path = cache_folder() / "derived" / name / f"{key}.npz"
    found = _read(path)
    if found is not None:
        return found
    with _locked(path.with_suffix(".lock")):
        found = _read(path)  # another process may have been faster
        if found is None:
            found = _checked(compute())
            _write(path, found)
    return found


def derived_folder(
    name: str,
    make: Callable[[Path], None],
    *,
    sources: Sequence[Path],
    parameters: Mapping[str, Any],
) -> Path:
    """Return a folder of files that ``make`` wrote, once for one set of files and parameters.

    As ``derived_arrays``, for what is read from files by other libraries: a model in another
    format. Each file is held to the SHA-256 it was written with; a damaged folder is made anew.

    Args:
        name: what it is, in lower case: the name of its folder in the cache.
        make: writes files into the empty folder it is given.
        sources: the files they are made from; their content counts, not their place.
        parameters: all else they depend on, as JSON.

    Raises:
        InputError: a bad name.
        MissingError: the cache cannot be written.
    """
    _check_name(name)
    path = cache_folder() / "derived" / name / _digest(sources, (), parameters)
    if _is_whole(path):
        return path
    with _locked(path.with_suffix(".lock")):
        if not _is_whole(path):  # another process may have been faster
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as new:
                part = Path(new) / path.name
                part.mkdir()
                with _writable(path):
                    make(part)
                    digests = {f.name: sha256_of(f) for f in sorted(part.iterdir())}
                    (part / _CONTENTS).write_text(json.dumps(digests), encoding="utf-8")
                    if path.exists():
                        print(f"{path}: damaged, made anew")
                        path.rename(Path(new) / "damaged")
                    part.rename(path)
    return path


def _is_whole(path: Path) -> bool:
    """Whether a folder holds what was written into it."""
    try:
        contents = json.loads((path / _CONTENTS).read_text(encoding="utf-8"))
        return all(sha256_of(path / name) == digest for name, digest in contents.items())
    except (OSError, ValueError, AttributeError):
        return False


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise InputError(
            "bad name", where="name", expected="lower case letters, digits, -, _", found=repr(name)
        )


def _digest(sources: Sequence[Path], code: Sequence[ModuleType], parameters: Any) -> str:
    """Return 40 hexadecimal digits that stand for files, code and parameters."""
    files = [module.__file__ for module in code]
    text = json.dumps(
        {
            "sources": [sha256_of(path) for path in sources],
            "code": [hashlib.sha256(Path(f).read_bytes()).hexdigest() for f in files if f],
            "parameters": parameters,
        },
        sort_keys=True,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _checked(arrays: Mapping[str, Array]) -> dict[str, Array]:
    wrong = [n for n, a in arrays.items() if not isinstance(a, np.ndarray) or a.dtype.hasobject]
    if wrong or not arrays:
        raise InputError(
            "derived arrays must be numpy arrays of numbers",
            found=", ".join(wrong) if arrays else "no array",
        )
    return dict(arrays)


def _read(path: Path) -> dict[str, Array] | None:
    """Return the stored arrays; None where there are none, or where they are damaged."""
    try:
        with zipfile.ZipFile(path) as bundle:
            # Check sums first: no damaged header is ever taken for an array's size or type.
            wrong = bundle.testzip()
            if wrong is not None:
                raise zipfile.BadZipFile(f"bad check sum of {wrong}")
            contents = json.loads(bundle.read(_CONTENTS))
            expected = {_CONTENTS, *(f"{name}.npy" for name in contents)}
            if set(bundle.namelist()) != expected:
                raise zipfile.BadZipFile("not the arrays it lists")
            found = {name: _read_array(bundle, name) for name in contents}
            if _contents(found) != contents:
                raise zipfile.BadZipFile("not the arrays it lists")
            return found
    except FileNotFoundError:
        return None
    except _DAMAGE as error:
        print(f"{path}: damaged ({' '.join(str(error).split())}), computed anew")
        return None


def _read_array(bundle: zipfile.ZipFile, name: str) -> Array:
    with bundle.open(f"{name}.npy") as member:
        array: Array = np.lib.format.read_array(member, allow_pickle=False)
    return array


def _contents(arrays: Mapping[str, Array]) -> dict[str, list[Any]]:
    return {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}


def _write(path: Path, arrays: Mapping[str, Array]) -> None:
    with _writable(path), tempfile.TemporaryDirectory(dir=path.parent, prefix=".new-") as folder:
        part = Path(folder) / path.name
        with part.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as bundle:
                bundle.writestr(_CONTENTS, json.dumps(_contents(arrays)))
                for name, array in arrays.items():
                    with bundle.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock; the system lets go of it if this process dies."""
    with _writable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MissingError(
            "the cache cannot be written",
            where=str(path),
            expected="a folder you may write to, on a disk with room",
            found=error.strerror or str(error),
            fix="free some space, or set PODIUM_CACHE to another folder",
        ) from error
