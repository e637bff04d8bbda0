"""Pictures in a zip file, read in place: nothing is extracted."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from podium.data.damage import DAMAGED_ZIP
from podium.errors import InputError
from podium.features.extractor import Images, slices
from podium.features.pictures import SUFFIXES
from podium.images.decode import decode
from podium.images.sets import no_pictures
from podium.images.zip_safety import damaged, open_zip, safe_members

_LARGEST = 2**28
"""Bytes of one picture file; it is held in memory."""


class ZipSet:
    """The picture files of a zip file, sorted by name.

    What begins with a dot, or lies in ``__MACOSX``, is left out; files of other kinds are counted
    as ignored.

    Raises:
        InputError: no zip file, no pictures, or see ``podium.images.zip_safety``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with open_zip(path) as archive:
            members = safe_members(archive, path)
        seen = [m for m in members if not _hidden(m.filename)]
        self._members = sorted(
            (m for m in seen if m.filename.lower().endswith(SUFFIXES)), key=lambda m: m.filename
        )
        self.origin = str(path)
        self.count = len(self._members)
        self.ignored = len(seen) - self.count
        if not self.count:
            raise no_pictures(path, self.ignored)
        for member in self._members:
            if member.file_size > _LARGEST:
                raise InputError(
                    "this picture is too large",
                    where=f"{path}: {member.filename}",
                    expected=f"at most {_LARGEST} bytes",
                    found=str(member.file_size),
                )

    def batches(self, size: int) -> Iterator[list[Images]]:
        """Yield at most ``size`` pictures at a time, each uint8 [height, width, 3].

        Raises:
            InputError: a member cannot be read.
        """
        with open_zip(self._path) as archive:
            for part in slices(self.count, size):
                yield [self._read(archive, member) for member in self._members[part]]

    def _read(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Images:
        where = f"{self._path}: {member.filename}"
        try:
            content = archive.read(member)
        except DAMAGED_ZIP as error:
            raise damaged(where, error) from error
        return decode(io.BytesIO(content), where)


def _hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in PurePosixPath(name).parts)
