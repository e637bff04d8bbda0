"""Tokens of pictures from a frozen network, computed once and kept in the cache."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from podium.data.derived import derived_arrays
from podium.errors import InputError
from podium.features.extractor import Floats

Pixels = npt.NDArray[np.uint8]
Halves = npt.NDArray[np.float16]

GRID = 7
"""Rows and columns of tokens of a picture."""

_KEPT = 64
_STEPS = 10
_BATCH = 16


class TransformerTokens(NamedTuple):
    """Tokens of pictures from a transformer.

    ``patches``: float16 [samples, rows * columns, dimension]; ``classes``: float16 [samples,
    dimension]; ``entering``: float16 [samples, 1 + rows * columns, dimension], what enters the
    last block, the class token first; ``block``: float32, its weights in the order of
    ``podium.features.vit.LastBlock``. These two are None where they are not wanted. ``heads``: of
    the block's attention.
    """

    patches: Halves
    classes: Halves
    entering: Halves | None
    block: Floats | None
    heads: int


def mobilenet_tokens(name: str, pictures: Pixels, *, weights: Path, dimension: int) -> Floats:
    """Return the 7 x 7 tokens of pictures: principal components of MobileNetV2's last feature map.

    The components are those of all tokens of all pictures; no label is used. It takes about 20 ms
    of one core a picture the first time, and says on standard error how far it is; 64 components
    are kept, so that another ``dimension`` costs nothing.

    Args:
        name: the problem, the name of its folder in the cache.
        pictures: uint8 [samples, height, width, 3].
        weights: the network's published ImageNet weights.
        dimension: number of components, at most 64.

    Returns:
        float32 [samples, 49, dimension], their mean squared length ``dimension``.

    Raises:
        InputError: more components than are kept.
    """
    if not 1 <= dimension <= _KEPT:
        raise InputError(
            "bad number of components",
            where="dimension",
            expected=f"1 to {_KEPT}",
            found=str(dimension),
        )
    from podium.features import compress, extractor, mobilenet_v2, resize

    def compute() -> dict[str, Floats]:
        network = mobilenet_v2.MobileNetV2Features(weights)
        parts = _told(extractor.slices(len(pictures), _BATCH), len(pictures), name)
        batches = (batch for part in parts for batch in network.tokens(pictures[part]))
        found = compress.principal_tokens(batches, _KEPT)
        return {"tokens": found.tokens, "kept": np.array([found.kept], dtype=np.float32)}

    arrays = derived_arrays(
        name,
        compute,
        sources=[weights],
        code=[_this_module(), compress, extractor, mobilenet_v2, resize],
        parameters={
            **_versions(),
            "dimension": _KEPT,
            "pictures": hashlib.sha256(np.ascontiguousarray(pictures).data).hexdigest(),
        },
    )
    leading = arrays["tokens"][..., :dimension]
    length = float(np.square(leading).sum(axis=2).mean(dtype=np.float64))
    return leading * np.float32(np.sqrt(dimension / length))


def transformer_tokens(
    name: str,
    count: int,
    read: Callable[[slice], Sequence[Pixels]],
    *,
    weights: Path,
    files: Sequence[Path],
    reader: ModuleType,
    size: int,
    pool: int,
    last_block: bool = False,
) -> TransformerTokens:
    """Return patch tokens and class tokens of pictures, kept in the cache in half precision.

    They are computed on a GPU where there is one: a minute or so for 6,000 pictures with a
    ViT-B/16, where a core of a processor takes half an hour and more.

    Args:
        name: the set, the name of its folder in the cache.
        count: number of pictures.
        read: reads the pictures of a slice, each uint8 [height, width, 3]; called only if needed.
        weights: the transformer's checkpoint.
        files: what ``read`` reads.
        reader: the module that reads them.
        size: height and width the pictures are resized to.
        pool: squares of ``pool`` x ``pool`` patch tokens are averaged, to save memory.
        last_block: whether the last block and the tokens that enter it are wanted too.

    Raises:
        InputError: a picture that cannot be read, a bad checkpoint or size, or squares that do not
            fill the rows of tokens.
    """
    from podium.features import extractor, pictures, resize, vit

    def compute() -> dict[str, npt.NDArray[Any]]:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        network = vit.VitTokens(weights, size=size, device=device, batch=_BATCH)
        side, width = pooled_side(network.grid, pool), network.dimension
        patches = np.empty((count, side**2, width), dtype=np.float16)
        classes = np.empty((count, width), dtype=np.float16)
        entering = np.empty((count if last_block else 0, 1 + side**2, width), dtype=np.float16)

        def averaged(tokens: Floats) -> Floats:
            squares = tokens.reshape(-1, side, pool, side, pool, width)
            mean: Floats = squares.mean(axis=(2, 4)).reshape(len(tokens), -1, width)
            return mean

        for part in _told(extractor.slices(count, _BATCH), count, name):
            images = [resize.resized(picture[None], size) for picture in read(part)]
            [(_, tokens)] = network.tokens(np.concatenate(images))
            patches[part] = averaged(tokens.patches)
            classes[part] = tokens.classes
            if last_block:
                entering[part, :1] = tokens.entering[:, :1]
                entering[part, 1:] = averaged(tokens.entering[:, 1:])
        found = {"patches": patches, "classes": classes}
        if last_block:
            return {**found, "entering": entering, "block": network.last_block()}
        return found

    found = derived_arrays(
        name,
        compute,
        sources=[weights, *files],
        code=[_this_module(), extractor, pictures, resize, vit, reader],
        parameters={**_versions(), "size": size, "pool": pool, "last_block": last_block},
    )
    return TransformerTokens(
        found["patches"],
        found["classes"],
        found.get("entering"),
        found.get("block"),
        found["patches"].shape[-1] // vit.HEAD,
    )


def pooled_side(grid: int, pool: int) -> int:
    """Return the rows of tokens that are left of ``grid``.

    Raises:
        InputError: squares that do not fill the rows.
    """
    if pool < 1 or grid % pool:
        raise InputError(
            "squares must fill the rows of tokens",
            where="pool",
            expected=f"a divisor of {grid}",
            found=str(pool),
        )
    return grid // pool


def _this_module() -> ModuleType:
    """Return this module: how tokens are averaged and put together is part of what they are."""
    return sys.modules[__name__]


def _versions() -> dict[str, str]:
    """Return the versions of what resizes pictures and runs the network."""
    return {name: metadata.version(name) for name in ("pillow", "torch")}


def _told(parts: Iterable[slice], count: int, name: str) -> Iterator[slice]:
    """Pass slices on, and say ten times how far it is."""
    told = 0
    for part in parts:
        yield part
        if part.stop * _STEPS // count > told:
            told = part.stop * _STEPS // count
            print(f"{name}: {part.stop} of {count} pictures", file=sys.stderr, flush=True)
