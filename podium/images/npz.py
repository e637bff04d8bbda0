"""Pictures in an ADM ``.npz``: the array ``arr_0``, uint8 [n, height, width, 3]."""

from __future__ import annotations

import struct
import tokenize
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from podium.data.damage import DAMAGED_ZIP
from podium.errors import InputError
from podium.features.extractor import Images, slices
from podium.images.zip_safety import damaged, open_zip, safe_members

_MEMBER = "arr_0.npy"
_LOCAL_HEADER = struct.Struct("<4s22xHH")
# What numpy raises for headers that are no dictionary: it reads them as Python literals.
_NO_HEADER = (
    ValueError,
    SyntaxError,
    TypeError,
    MemoryError,
    RecursionError,
    tokenize.TokenError,
)
_FIX = "numpy.savez(FILE, images) with images uint8 of shape [n, height, width, 3]"


class NpzSet:
    """The pictures ``arr_0`` of an ``.npz``; other arrays (labels, statistics) are ignored.

    Stored arrays are mapped into memory, compressed ones are unpacked slice by slice.

    Raises:
        InputError: no such file or array, one of another dtype or shape, a header that does not fit
            the bytes that follow it, or see ``podium.images.zip_safety``.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.origin = str(path)
        with open_zip(path) as archive:
            members = safe_members(archive, path)
            found = [m for m in members if m.filename == _MEMBER]
            if not found:
                names = ", ".join(sorted(m.filename.removesuffix(".npy") for m in members)[:8])
                raise self._fault("there is no arr_0", found=names or "no arrays")
            self._member = found[0]
            try:
                with archive.open(self._member) as stream:
                    self._shape = self._header(cast(BinaryIO, stream))
                    self._start = stream.tell()
            except DAMAGED_ZIP as error:
                raise damaged(f"{path}: {_MEMBER}", error) from error
        self.count = self._shape[0]
        self.ignored = len(members) - 1
        size, expected = (
            self._member.file_size - self._start,
            int(np.prod(self._shape, dtype=object)),
        )
        if size != expected:
            raise self._fault(
                "the header of arr_0 does not fit its content",
                found=f"a header of shape {list(self._shape)}, and {size} bytes",
            )

    def _header(self, stream: BinaryIO) -> tuple[int, int, int, int]:
        """Read the header alone; nothing is allocated for what it promises."""
        try:
            version = np.lib.format.read_magic(stream)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = read(stream)
        except _NO_HEADER as error:
            raise self._fault(
                "arr_0 is no array", found=" ".join(str(error).split())[:200]
            ) from error
        layout = "columns first" if fortran else "rows first"
        right = dtype == np.uint8 and len(shape) == 4 and shape[3] == 3 and not fortran
        if not right or min(shape) < 1:
            raise self._fault(
                "arr_0 does not hold pictures", found=f"{dtype} {list(shape)} {layout}"
            )
        return cast(tuple[int, int, int, int], shape)

    def _fault(self, what: str, found: str) -> InputError:
        return InputError(
            what,
            where=str(self._path),
            expected="arr_0, uint8 of shape [n, height, width, 3] with n >= 1, rows first",
            found=found,
            fix=_FIX,
        )

    def batches(self, size: int) -> Iterator[list[Images]]:
        """Yield at most ``size`` pictures at a time, each uint8 [height, width, 3].

        Raises:
            InputError: the file is cut or damaged.
        """
        if self._member.compress_type == zipfile.ZIP_STORED:
            images = self._mapped()
            for part in slices(self.count, size):
                yield list(images[part])
            return
        each = int(np.prod(self._shape[1:]))
        try:
            with open_zip(self._path) as archive, archive.open(self._member) as stream:
                stream.read(self._start)
                for part in slices(self.count, size):
                    number = part.stop - part.start
                    content = stream.read(number * each)
                    if len(content) != number * each:
                        raise EOFError("the data end too early")
                    yield list(np.frombuffer(content, np.uint8).reshape(number, *self._shape[1:]))
        except DAMAGED_ZIP as error:
            raise damaged(f"{self._path}: {_MEMBER}", error) from error

    def _mapped(self) -> Images:
        """Map a stored array; its place is behind the member's own header, which is read here."""
        with self._path.open("rb") as stream:
            stream.seek(self._member.header_offset)
            head = stream.read(_LOCAL_HEADER.size)
            if len(head) < _LOCAL_HEADER.size or head[:4] != b"PK\x03\x04":
                raise damaged(f"{self._path}: {_MEMBER}", ValueError("no header of the member"))
            _, name, extra = _LOCAL_HEADER.unpack(head)
        offset = self._member.header_offset + _LOCAL_HEADER.size + name + extra + self._start
        if offset + int(np.prod(self._shape, dtype=object)) > self._path.stat().st_size:
            raise damaged(f"{self._path}: {_MEMBER}", ValueError("the file is cut"))
        return np.memmap(self._path, np.uint8, "r", offset, self._shape)
