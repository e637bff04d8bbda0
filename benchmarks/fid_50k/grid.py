"""A sheet of samples to look at."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Images = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

SIDE = 8
"""Rows and columns of pictures."""

_SMALLEST = 32
"""Smaller pictures are enlarged to about this side, pixel by pixel."""


def sample_grid(images: Images, labels: Ints) -> Images:
    """Return 8 x 8 pictures evenly spread over the samples, by class, row by row.

    Args:
        images: uint8 [n, height, width, channels], channels 1 or 3; only the chosen ones are read.
        labels: classes int64 [n].

    Returns:
        uint8 [height of the sheet, width of the sheet, 3]; white where there are fewer than 64.
    """
    order = np.argsort(labels, kind="stable")
    count = min(SIDE * SIDE, order.size)
    chosen = order[np.linspace(0, order.size - 1, count).round().astype(np.int64)]
    height, width = images.shape[1:3]
    sheet = np.full((SIDE * SIDE, height, width, 3), 255, dtype=np.uint8)
    sheet[:count] = images[chosen]  # grey pictures fill the three channels
    joined = (
        sheet.reshape(SIDE, SIDE, height, width, 3)
        .transpose(0, 2, 1, 3, 4)
        .reshape(SIDE * height, SIDE * width, 3)
    )
    zoom = max(1, _SMALLEST // max(height, width))
    return joined.repeat(zoom, axis=0).repeat(zoom, axis=1)
