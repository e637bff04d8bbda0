"""Read picture files as 8-bit RGB, or say what is wrong with them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from podium.errors import InputError
from podium.features.extractor import Images

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Names of files that are taken for pictures end so, in any case of letters."""

_DEEP = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")


def on_white(picture: Image.Image) -> Images:
    """Return a picture as uint8 [height, width, 3]; what is transparent is laid on white."""
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return np.asarray(picture.convert("RGB"))


def read_picture(path: Path) -> Images:
    """Return a picture file as uint8 [height, width, 3].

    It is turned as its EXIF data say; what is transparent is laid on white; of an animation the
    first frame is taken.

    Raises:
        InputError: the file is damaged, cut, no picture, holds more than 8 bits a channel, or is
            so large that it may be an attack.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as opened:
                if opened.mode in _DEEP:
                    raise ValueError(f"mode {opened.mode}: more than 8 bits a channel")
                return on_white(ImageOps.exif_transpose(opened))
    except (
        OSError,
        ValueError,
        SyntaxError,  # Pillow's own, for damaged PNG files
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise InputError(
            "this picture cannot be read",
            where=str(path),
            expected="a picture of 8 bits a channel",
            found=" ".join(str(error).split()) or type(error).__name__,
            fix="replace or remove the file",
        ) from error
