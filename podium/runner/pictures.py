"""The picture that a task draws of a prediction: checked, and written as PNG."""

from __future__ import annotations

import io

import numpy as np

from podium.contracts import Array

LARGEST = 4096
"""Pixels that a side of a picture may have."""


def picture_fault(drawn: object) -> str | None:
    """Say what is wrong with a picture; ``None`` where it is uint8 [height, width, 3]."""
    expected = f"expected uint8 [height, width, 3], each side 1 to {LARGEST}"
    if not isinstance(drawn, np.ndarray):
        return f"it returned {type(drawn).__name__}, {expected}"
    sides = drawn.shape[:2]
    right = drawn.ndim == 3 and drawn.shape[2] == 3 and min(sides) >= 1 and max(sides) <= LARGEST
    if drawn.dtype != np.uint8 or not right:
        return f"it returned {drawn.dtype} of shape {list(drawn.shape)}, {expected}"
    return None


def as_png(drawn: Array) -> bytes:
    """Return a picture, uint8 [height, width, 3], as the content of a PNG file."""
    from PIL import Image  # not at the start of every run

    file = io.BytesIO()
    Image.fromarray(drawn).save(file, format="PNG")
    return file.getvalue()
