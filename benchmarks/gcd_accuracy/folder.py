"""A folder of pictures of the user's own: a folder for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt

from podium.errors import InputError, MissingError

Ints = npt.NDArray[np.int64]

SPLIT = "split.json"
"""Name of the file beside the classes that says which of them are old."""

PICTURES = f"pictures as <class>/<picture>, and {SPLIT} if need be"
CHECKPOINT = "DINO's checkpoint dino_vitbase16_pretrain.pth"
"""What belongs into the two folders, for people."""

_SHOWN = 5


class Split(msgspec.Struct, frozen=True):
    """Which classes are old, as in the files of the Semantic Shift Benchmark.

    A class is named by its folder, or by its place (from 0) among the sorted folders. Unknown
    classes may be grouped by difficulty. Other keys are left alone.

    Source: Vaze et al., Open-Set Recognition: A Good Closed-Set Classifier is All You Need
    (ICLR 2022), section 5; the files ``*_ssb_splits.json`` of the repository sgvaze/SSB.
    """

    known_classes: list[str | int]
    unknown_classes: dict[str, list[str | int]] | list[str | int] | None = None


@dataclass(frozen=True)
class PictureSet:
    """Files and classes of a set of pictures.

    Attributes:
        files: the pictures, by class and then by name.
        labels: int64 [files], the old classes first, each part in the order of its names.
        classes: names of the classes.
        old: number of old classes.
    """

    files: list[Path]
    labels: Ints
    classes: list[str]
    old: int


def read_set(folder: Path, *, old: int | None = None, split: bool = False) -> PictureSet:
    """Find the pictures ``<class>/<file>`` of a folder and which classes are old.

    ``split.json`` says which; classes that it does not name are left out, and where it names no
    unknown classes, all the others are new. Without it the first of the sorted classes are old.

    Args:
        folder: the folder of the classes.
        old: how many are old without ``split.json``; by default half of them, rounded down.
        split: whether ``split.json`` must be there.

    Raises:
        InputError: files that are no pictures, fewer than two classes, or a split that names
            classes that are not there, or one class twice.
        MissingError: there is no ``split.json`` where there must be one.
    """
    found = _pictures(folder)
    names = sorted(found)
    if len(names) < 2:
        raise InputError(
            "category discovery needs pictures of two classes at least",
            where=str(folder),
            expected="a folder of pictures for each class",
            found=f"{len(names)} such folders",
        )
    first = len(names) // 2 if old is None else old
    known, unknown = names[:first], names[first:]
    if (folder / SPLIT).is_file():
        known, unknown = _chosen(folder / SPLIT, names)
    elif split:
        raise MissingError(
            "the file that says which classes are old is missing",
            where=str(folder),
            expected=f"{SPLIT} beside the classes",
            fix=f"put the set's split of the Semantic Shift Benchmark (repository sgvaze/SSB, "
            f"SSB/splits/) into the folder as {SPLIT}",
        )
    files = [file for name in [*known, *unknown] for file in found[name]]
    sizes = [len(found[name]) for name in [*known, *unknown]]
    labels = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return PictureSet(files, labels, [*known, *unknown], len(known))


def _pictures(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each class, sorted; hidden ones are left out."""
    from podium.features.pictures import SUFFIXES

    found = {}
    strange = []
    for place in sorted(folder.iterdir()):
        if place.name.startswith("."):
            continue
        if not place.is_dir():
            if place.name != SPLIT:
                strange.append(place)
            continue
        files = [file for file in sorted(place.iterdir()) if not file.name.startswith(".")]
        strange += [f for f in files if not f.is_file() or f.suffix.lower() not in SUFFIXES]
        if files:
            found[place.name] = files
    if strange:
        raise InputError(
            "the folder holds what is no picture of a class",
            where=str(folder),
            expected=f"<class>/<picture> with pictures in {', '.join(SUFFIXES)}, and {SPLIT}",
            found=_few([str(path.relative_to(folder)) for path in strange]),
            fix="remove these, or give them a name that begins with a dot",
        )
    return found


def _chosen(file: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of old and of new classes, each sorted."""
    try:
        split = msgspec.json.decode(file.read_bytes(), type=Split)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("not a split of classes", where=str(file), found=str(error)) from error
    unknown = split.unknown_classes
    if isinstance(unknown, Mapping):
        unknown = [name for group in unknown.values() for name in group]
    wanted = [*split.known_classes, *(unknown or [])]
    absent = [str(c) for c in wanted if _name(c, names) is None]
    if absent:
        raise InputError(
            "the split names classes that are not there",
            where=str(file),
            expected=f"a folder's name, or its place from 0 to {len(names) - 1}",
            found=_few(absent),
        )
    old = sorted(str(_name(c, names)) for c in split.known_classes)
    new = sorted(str(_name(c, names)) for c in unknown or [])
    if unknown is None:
        new = [name for name in names if name not in old]
    twice = sorted({name for name in [*old, *new] if [*old, *new].count(name) > 1})
    if twice or not old or not new:
        raise InputError(
            "the split must name old and new classes, each once",
            where=str(file),
            found=f"{len(old)} old, {len(new)} new"
            + (f", more than once: {_few(twice)}" if twice else ""),
        )
    return old, new


def _name(given: str | int, names: Sequence[str]) -> str | None:
    if isinstance(given, int):
        return names[given] if 0 <= given < len(names) else None
    return given if given in names else None


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def read_weights(folder: Path) -> Path:
    """Return the one checkpoint ``*.pth`` in a folder.

    Raises:
        InputError: there is none, or more than one.
    """
    found = sorted(folder.glob("*.pth"))
    if len(found) != 1:
        raise InputError(
            "expected one checkpoint",
            where=str(folder),
            expected="one file *.pth, such as DINO's dino_vitbase16_pretrain.pth",
            found=_few([path.name for path in found]) or "none",
        )
    return found[0]
