"""Tokens of pictures from a frozen network, computed once and kept in the cache."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.data.derived import derived_arrays
from podium.features.extractor import Floats

Pixels = npt.NDArray[np.uint8]

GRID = 7
"""Rows and columns of tokens of a picture."""

_STEPS = 10


def mobilenet_tokens(name: str, pictures: Pixels, *, weights: Path, dimension: int) -> Floats:
    """Return the 7 x 7 tokens of pictures: principal components of MobileNetV2's last feature map.

    The components are those of all tokens of all pictures; no label is used. It takes about 20 ms
    of one core a picture the first time, and says on standard error how far it is.

    Args:
        name: the problem, the name of its folder in the cache.
        pictures: uint8 [samples, height, width, 3].
        weights: the network's published ImageNet weights.
        dimension: number of components.

    Returns:
        float32 [samples, 49, dimension], their mean squared length ``dimension``.
    """
    from podium.features import compress, extractor, mobilenet_v2, resize

    def compute() -> dict[str, Floats]:
        batches = mobilenet_v2.MobileNetV2Features(weights).tokens(pictures)
        found = compress.principal_tokens(_told(batches, len(pictures), name), dimension)
        return {"tokens": found.tokens, "kept": np.array([found.kept], dtype=np.float32)}

    arrays = derived_arrays(
        name,
        compute,
        sources=[weights],
        code=[compress, extractor, mobilenet_v2, resize],
        parameters={
            "dimension": dimension,
            "pictures": hashlib.sha256(np.ascontiguousarray(pictures).data).hexdigest(),
        },
    )
    return arrays["tokens"]


def _told(
    batches: Iterable[tuple[slice, Floats]], count: int, name: str
) -> Iterator[tuple[slice, Floats]]:
    """Pass batches on, and say ten times how far it is."""
    told = 0
    for part, tokens in batches:
        yield part, tokens
        if part.stop * _STEPS // count > told:
            told = part.stop * _STEPS // count
            print(f"{name}: {part.stop} of {count} pictures", file=sys.stderr, flush=True)
