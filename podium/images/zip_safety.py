"""What must hold for a zip file before anything in it is decoded."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath

from podium.data.damage import DAMAGED_ZIP
from podium.errors import InputError

RATIO = 200
"""A member may grow so many times when it is unpacked; pictures and noise hardly grow at all."""

SMALL = 2**20
"""Members of at most so many bytes may grow more: a small file of one colour does."""

TOTAL = 2**40
"""An archive may hold so many bytes when unpacked: 50,000 pictures of 2,048 x 2,048 are less."""


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip file to read.

    Raises:
        InputError: it is none, or is damaged.
    """
    try:
        return zipfile.ZipFile(path)
    except DAMAGED_ZIP as error:
        raise damaged(str(path), error) from error


def damaged(where: str, error: Exception) -> InputError:
    """Return the fault of an archive, or of a member, that cannot be read."""
    return InputError(
        "this archive cannot be read",
        where=where,
        expected="a whole zip file",
        found=" ".join(str(error).split()) or type(error).__name__,
        fix="make or copy it again",
    )


def safe_members(archive: zipfile.ZipFile, path: Path) -> list[zipfile.ZipInfo]:
    """Return the files in an archive, in its own order.

    Raises:
        InputError: a name that leads elsewhere (``..``, absolute, a drive) or comes twice, a link,
            a member that is encrypted, packed by an unusual method, or grows more than ``RATIO``
            times, members that overlap, or more than ``TOTAL`` bytes in all.
    """
    files = [member for member in archive.infolist() if not member.filename.endswith("/")]
    seen: set[str] = set()
    for member in files:
        problem = _problem(member)
        if problem is None and member.filename in seen:
            problem = "the name is there twice"
        seen.add(member.filename)
        if problem is not None:
            raise _refused(f"{path}: {member.filename}", problem)
    packed = sum(member.compress_size for member in files)
    if packed > path.stat().st_size:
        raise _refused(str(path), f"members overlap: {packed} bytes in a smaller file")
    total = sum(member.file_size for member in files)
    if total > TOTAL:
        raise _refused(str(path), f"{total} bytes when unpacked, more than {TOTAL}")
    return files


def _problem(member: zipfile.ZipInfo) -> str | None:
    name = PurePosixPath(member.filename.replace("\\", "/"))
    if not member.filename:
        return "it has no name"
    if name.is_absolute() or ".." in name.parts or (name.parts and name.parts[0].endswith(":")):
        return "the name leads out of the archive"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "a link, not a file"
    if member.flag_bits & 1:
        return "it is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"it is packed by method {member.compress_type}, neither stored nor deflated"
    if member.file_size > max(SMALL, RATIO * member.compress_size):
        return f"{member.file_size} bytes out of {member.compress_size}: it may be an attack"
    return None


def _refused(where: str, problem: str) -> InputError:
    return InputError(
        "this archive is refused",
        where=where,
        expected=f"files with names inside the archive that grow at most {RATIO} times",
        found=problem,
        fix="unpack it with a tool you trust, look at it, and name the folder",
    )
