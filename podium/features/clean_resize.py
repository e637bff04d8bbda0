"""Resize pictures as clean-fid's mode ``clean`` does: bicubic, antialiased, not rounded."""

from __future__ import annotations

import numpy as np
from PIL import Image

from podium.features.extractor import Floats, Images

RULE = "clean"
"""Pillow's bicubic filter on each channel in single precision, cut to [0, 255], never rounded to
whole numbers.

Source: Parmar, Zhang, Zhu, On Aliased Resizing and Surprising Subtleties in GAN Evaluation
(CVPR 2022), section 3; ``make_resizer("PIL", False, "bicubic", ...)`` of clean-fid.
"""


def clean_resized(images: Images, size: int) -> Floats:
    """Return pictures, uint8 [n, height, width, 3], as float32 [n, size, size, 3] in [0, 255]."""
    result = np.empty((len(images), size, size, 3), dtype=np.float32)
    for image, target in zip(images, result, strict=True):
        for channel in range(3):
            plane = Image.fromarray(image[:, :, channel].astype(np.float32))
            scaled = plane.resize((size, size), Image.Resampling.BICUBIC)
            target[:, :, channel] = np.asarray(scaled)
    return result.clip(0.0, 255.0, out=result)
