"""What every source of pictures offers, and how one is opened."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from podium.errors import InputError
from podium.features.extractor import Images, check_images, slices
from podium.paths import expanded


class PictureSet(Protocol):
    """A set of pictures that is read batch by batch, each time from the start."""

    @property
    def origin(self) -> str:
        """Where the pictures come from, for messages."""
        ...

    @property
    def count(self) -> int:
        """How many pictures there are, at least 1."""
        ...

    @property
    def ignored(self) -> int:
        """How many files there are beside the pictures."""
        ...

    def batches(self, size: int) -> Iterator[list[Images]]:
        """Yield at most ``size`` pictures at a time, each uint8 [height, width, 3].

        Raises:
            InputError: a picture cannot be read.
        """
        ...


class ArraySet:
    """Pictures in memory, uint8 [n, height, width, 3], n >= 1.

    Raises:
        InputError: not a stack of RGB pictures, or an empty one.
    """

    def __init__(self, images: Images, origin: str = "images") -> None:
        check_images(images)
        if not len(images):
            raise InputError("there are no pictures", where=origin)
        self._images = images
        self.origin = origin
        self.count = len(images)
        self.ignored = 0

    def batches(self, size: int) -> Iterator[list[Images]]:
        """Yield at most ``size`` pictures at a time, each uint8 [height, width, 3]."""
        for part in slices(self.count, size):
            yield list(self._images[part])


def open_set(path: Path | str, *, where: str = "path") -> PictureSet:
    """Return the pictures of a folder, of a zip file, or of an ADM ``.npz``.

    Nothing is extracted and nothing is unpickled; sizes and names are checked before anything is
    decoded.

    Raises:
        InputError: there is no such file or folder, it is of another kind, or it holds no pictures,
            names that lead elsewhere, or more than it may.
    """
    from podium.images.archive import ZipSet
    from podium.images.folder import FolderSet
    from podium.images.npz import NpzSet

    if not str(path):
        raise InputError("a path cannot be an empty text", where=where)
    place = expanded(path, where=where)
    try:
        if place.is_dir():
            return FolderSet(place)
        found = "no such file or folder" if not place.exists() else f"a file {place.suffix!r}"
        is_file = place.is_file()
    except OSError as error:  # a name too long, a folder that may not be looked into
        found, is_file = error.strerror or str(error), False
    if is_file and place.suffix.lower() == ".npz":
        return NpzSet(place)
    if is_file and place.suffix.lower() == ".zip":
        return ZipSet(place)
    raise InputError(
        "no pictures can be read from here",
        where=f"{where} {path}",
        expected="a folder of pictures, a .zip of pictures, or an .npz with arr_0 (ADM)",
        found=found,
    )


def no_pictures(path: Path, ignored: int) -> InputError:
    """Return the fault of a folder or an archive that holds no picture."""
    from podium.features.pictures import SUFFIXES

    return InputError(
        "there are no pictures",
        where=str(path),
        expected="files that end in " + ", ".join(SUFFIXES),
        found=f"{ignored} other files" if ignored else "no files",
        fix="name the folder or archive that holds the pictures",
    )
