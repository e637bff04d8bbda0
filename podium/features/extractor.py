"""What every image encoder offers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Images = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]


class Features(Protocol):
    """A frozen map from pictures to vectors.

    Distances are comparable only between vectors of equal ``name``: it says network, weights,
    layer, and how pictures are resized.
    """

    @property
    def name(self) -> str:
        """Network, weights, layer and resize rule, as one word."""
        ...

    @property
    def dimension(self) -> int:
        """Length of a picture's vector."""
        ...

    def __call__(self, images: Images) -> Floats:
        """Return float32 [n, dimension] for RGB pictures, uint8 [n, height, width, 3], n >= 0."""
        ...


def check_images(images: Images) -> None:
    """Refuse what is no stack of RGB pictures.

    Raises:
        InputError: not uint8 of shape [n, height, width, 3] with height and width above 0.
    """
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3:
        raise InputError(
            "not a stack of RGB pictures",
            where="images",
            expected="uint8 of shape [n, height, width, 3]",
            found=f"{images.dtype} of shape {list(images.shape)}",
        )
    if 0 in images.shape[1:3]:
        raise InputError(
            "the pictures have no pixels",
            where="images",
            expected="a height and a width of at least 1",
            found=f"shape {list(images.shape)}",
        )


def slices(count: int, batch: int) -> Iterator[slice]:
    """Yield consecutive slices of ``batch`` items, the last one of what remains."""
    for start in range(0, count, batch):
        yield slice(start, min(start + batch, count))
