"""Pictures in a folder, at any depth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from podium.errors import InputError
from podium.features.extractor import Images, slices
from podium.features.pictures import SUFFIXES
from podium.images.decode import decode
from podium.images.sets import no_pictures


class FolderSet:
    """The picture files of a folder and the folders in it, sorted by name.

    Files and folders whose names begin with a dot are left out; files of other kinds are counted
    as ignored. A link to a file stands for the file; links to folders are not followed.

    Raises:
        InputError: no pictures, or the folder cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names, self.ignored = _pictures_in(path)
        self.origin = str(path)
        self.count = len(self._names)
        if not self.count:
            raise no_pictures(path, self.ignored)

    def batches(self, size: int) -> Iterator[list[Images]]:
        """Yield at most ``size`` pictures at a time, each uint8 [height, width, 3].

        Raises:
            InputError: a file cannot be read.
        """
        for part in slices(self.count, size):
            yield [_read(self._path / name) for name in self._names[part]]


def _pictures_in(folder: Path) -> tuple[list[str], int]:
    """Return the picture files below a folder, relative to it, and how many others there are."""

    def fail(error: OSError) -> None:
        raise InputError(
            "this folder cannot be read",
            where=str(error.filename),
            found=error.strerror or str(error),
        )

    found, ignored = [], 0
    for here, folders, files in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        place = Path(here).relative_to(folder)
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                found.append((place / name).as_posix())
            else:
                ignored += not name.startswith(".")
    return sorted(found), ignored


def _read(path: Path) -> Images:
    if not path.is_file():  # a pipe would wait for ever
        raise InputError("this is no file", where=str(path), fix="remove it, or the link to it")
    try:
        with path.open("rb") as stream:
            return decode(stream, str(path))
    except OSError as error:
        raise InputError(
            "this file cannot be read", where=str(path), found=error.strerror or str(error)
        ) from error
