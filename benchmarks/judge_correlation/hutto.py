"""The rated sentiment of Hutto and Gilbert: tweets, film and product reviews, editorials."""

from __future__ import annotations

import json
import re
import tarfile
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.benchmarks.judge_correlation.rated import RatedTexts
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

AGREE = 1e-3
"""How far the mean stored with a text may be from that of its ratings."""

_FOLDER = "hutto_ICWSM_2014"
_DAMAGE = (OSError, EOFError, ValueError, KeyError, tarfile.TarError, zlib.error)
_LIST = re.compile(r"\[ *-?[0-9]{1,3}(, *-?[0-9]{1,3})* *\]")


def read_set(archive: Path, member: str, *, group: bool) -> RatedTexts:
    """Read one of the four sets.

    The two files of a set are joined by id. A row whose stored mean is not that of its ratings
    belongs to another text and is dropped; so is a text that stood before. Bytes that are no UTF-8
    are read as U+FFFD.

    Args:
        archive: ``hutto_ICWSM_2014.tar.gz``.
        member: first part of the files' names, such as ``tweets``.
        group: whether the id's part before ``_`` names the review or article that a text is of.

    Raises:
        InputError: not that archive, or lines that are none of the format.
    """
    try:
        with tarfile.open(archive, "r:gz") as bundle:
            texts, ratings = (
                _lines(bundle, f"{_FOLDER}/{member}_{part}.txt")
                for part in ("GroundTruth", "anonDataRatings")
            )
    except _DAMAGE as error:
        raise InputError(
            "not the archive of rated sentiment", where=str(archive), found=str(error)
        ) from error
    place = f"{archive}, {member}"
    of = {row[0]: parse_ratings(row[3], place) for row in _rows(ratings, 4, place)}
    found = RatedTexts([], [], [], [])
    seen = set()
    for name, mean, text in _rows(texts, 3, place):
        if name not in of:
            raise InputError("a text without ratings", where=place, found=f"id {name!r}")
        if abs(_number(mean, place) - float(of[name].mean())) > AGREE or text in seen:
            continue
        seen.add(text)
        found.add(name, text, of[name], name.partition("_")[0] if group else name)
    return found


def parse_ratings(text: str, where: str) -> Floats:
    """Return a list of whole numbers, ``[1, -2]``, as float64.

    Raises:
        InputError: anything else.
    """
    if not _LIST.fullmatch(text.strip()):
        raise InputError(
            "not a list of ratings",
            where=where,
            expected="whole numbers such as [1, -2]",
            found=repr(text[:80]),
        )
    return np.array(json.loads(text), dtype=np.float64)


def _lines(bundle: tarfile.TarFile, name: str) -> list[str]:
    stream = bundle.extractfile(name)
    if stream is None:
        raise ValueError(f"{name} is no file")
    # Only the line feed ends a line: a text may hold other separators.
    text = stream.read().decode("utf-8-sig", errors="replace")
    return [line.rstrip("\r") for line in text.split("\n")]


def _rows(lines: list[str], columns: int, place: str) -> list[list[str]]:
    found = []
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        row = [part.strip() for part in line.split("\t", columns - 1)]
        if len(row) != columns:
            raise InputError(
                "not a line of this file",
                where=f"{place}, line {number}",
                expected=f"{columns} columns",
                found=str(len(row)),
            )
        found.append(row)
    return found


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError("not a mean", where=place, found=repr(text)) from error
