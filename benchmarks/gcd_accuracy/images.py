"""Readers of published sets of pictures: MNIST's five thousand, Fashion-MNIST, CIFAR-100."""

from __future__ import annotations

import gzip
import io
import math
import tarfile
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Pixels = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_SIDE = 28
_HEADER = 4
_CIFAR_SIDE = 32
_CIFAR_ROW = 2 + 3 * _CIFAR_SIDE * _CIFAR_SIDE
_CIFAR_TRAIN = "cifar-100-binary/train.bin"
_SIZE_LIMIT = 1 << 30


def read_mnist5k(file: Path) -> tuple[Pixels, Ints]:
    """Read 28 x 28 digits from a gzipped table: 784 pixels in 0 to 255 and the class, a row each.

    Returns:
        Pixels uint8 [samples, 28, 28] and classes int64 [samples].

    Raises:
        InputError: the file is no such table.
    """
    try:
        with gzip.open(file, "rt", encoding="ascii") as stream:
            text = stream.read()
        if not text.strip():
            raise ValueError("an empty table")
        table = np.loadtxt(io.StringIO(text), delimiter=",", dtype=np.int64, ndmin=2, comments=None)
    except (OSError, EOFError, OverflowError, zlib.error, ValueError) as error:
        raise InputError("not a table of digits", where=str(file), found=str(error)) from error
    if table.shape[1] != _SIDE * _SIDE + 1 or table.min() < 0 or table.max() > 255:
        raise InputError(
            "not a table of digits",
            where=str(file),
            expected=f"{_SIDE * _SIDE} pixels in 0 to 255 and a class in each row",
            found=f"shape {list(table.shape)}, values {table.min()} to {table.max()}",
        )
    return table[:, :-1].astype(np.uint8).reshape(-1, _SIDE, _SIDE), table[:, -1]


def read_fashion(images: Path, labels: Path) -> tuple[Pixels, Ints]:
    """Read pictures and classes of Fashion-MNIST.

    Returns:
        Pixels uint8 [samples, 28, 28] and classes int64 [samples].

    Raises:
        InputError: a file is not in the IDX format, or the two do not fit each other.
    """
    pixels, classes = read_idx(images), read_idx(labels)
    if pixels.ndim != 3 or classes.shape != pixels.shape[:1]:
        raise InputError(
            "pictures and labels do not fit",
            where=f"{images}, {labels}",
            expected="shapes [n, height, width] and [n]",
            found=f"{list(pixels.shape)} and {list(classes.shape)}",
        )
    return pixels, classes.astype(np.int64)


def read_idx(file: Path) -> Pixels:
    """Read an array of bytes from a gzipped file in the IDX format.

    The format: two zero bytes, the type (8 for uint8), the number of axes, the length of each as
    a big-endian 32-bit number, then the values.

    Raises:
        InputError: the file is no such file, or is longer or shorter than its header says.
    """
    try:
        with gzip.open(file, "rb") as stream:
            start = stream.read(_HEADER)
            axes = start[3] if len(start) == _HEADER and start[:3] == b"\0\0\x08" else 0
            packed = stream.read(4 * axes)
            whole = len(packed) == 4 * axes > 0
            lengths = [int(n) for n in np.frombuffer(packed, dtype=">u4")] if whole else []
            size = math.prod(lengths)
            if not whole or size > _SIZE_LIMIT:
                raise InputError(
                    "not a file of bytes in the IDX format",
                    where=str(file),
                    expected="0, 0, 8, the number of axes, and their lengths",
                    found=(start + packed).hex(" ") or "an empty file",
                )
            values = stream.read(size + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError("not a gzipped file", where=str(file), found=str(error)) from error
    if len(values) != size:
        raise InputError(
            "the file is not as long as its header says",
            where=str(file),
            expected=f"{size} values",
            found=f"{len(values)} or more" if len(values) > size else f"{len(values)}",
        )
    return np.frombuffer(values, dtype=np.uint8).reshape(lengths)


def read_cifar100(archive: Path) -> tuple[Pixels, Ints]:
    """Read the training pictures and fine classes of CIFAR-100 from its authors' binary archive.

    A picture is a row of 3074 bytes: its coarse class, its fine class, and the planes of red,
    green and blue, 32 rows of 32 each.

    Returns:
        Pixels uint8 [samples, 32, 32, 3] and classes int64 [samples], 0 to 99.

    Raises:
        InputError: the file is no such archive.
    """
    try:
        with tarfile.open(archive, "r:gz") as bundle:
            stream = bundle.extractfile(_CIFAR_TRAIN)
            content = b"" if stream is None else stream.read()
    except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error) as error:
        raise InputError(
            "not the archive of CIFAR-100",
            where=str(archive),
            expected=f"a gzipped tar file with {_CIFAR_TRAIN}",
            found=str(error),
        ) from error
    if not content or len(content) % _CIFAR_ROW:
        raise InputError(
            "not the pictures of CIFAR-100",
            where=str(archive),
            expected=f"rows of {_CIFAR_ROW} bytes",
            found=f"{len(content)} bytes",
        )
    rows = np.frombuffer(content, dtype=np.uint8).reshape(-1, _CIFAR_ROW)
    planes = rows[:, 2:].reshape(-1, 3, _CIFAR_SIDE, _CIFAR_SIDE)
    return planes.transpose(0, 2, 3, 1), rows[:, 1].astype(np.int64)
