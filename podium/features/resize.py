"""Resize pictures, the same way for every encoder."""

from __future__ import annotations

import numpy as np
from PIL import Image

from podium.features.extractor import Images

RULE = "pil-bicubic"
"""Pillow's bicubic filter on 8-bit channels. It is antialiased: scaling down, its support grows
with the factor; scaling up, it interpolates. The sides are scaled each on its own, nothing is cut
off."""


def resized(images: Images, size: int) -> Images:
    """Return pictures, uint8 [n, height, width, 3], as uint8 [n, size, size, 3] by ``RULE``."""
    if images.shape[1:3] == (size, size):
        return images
    result = np.empty((len(images), size, size, 3), dtype=np.uint8)
    for image, target in zip(images, result, strict=True):
        scaled = Image.fromarray(image).resize((size, size), Image.Resampling.BICUBIC)
        target[:] = np.asarray(scaled)
    return result
