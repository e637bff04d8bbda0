"""One picture file as 8-bit RGB, as the field's FID tools read it, or what is wrong with it."""

from __future__ import annotations

import re
import warnings
from typing import BinaryIO

import numpy as np
from PIL import Image, ImageFile

from podium.errors import InputError
from podium.features.extractor import Images

_DEEP_MODES = ("I", "F", "I;16", "I;16L", "I;16B", "I;16N")

# Pillow cuts 16-bit colours to 8 bits without a word; only the raw mode of the file tells.
# (``BGR;16`` is another thing: 5, 6 and 5 bits.)
_DEEP_RAW = re.compile(r"(?!BGR)\w+;(12|16|32)")


def decode(stream: BinaryIO, where: str) -> Images:
    """Return a picture file as uint8 [height, width, 3].

    Grey, palette and CMYK pictures become RGB; EXIF's turn is not applied, as clean-fid does not.

    Raises:
        InputError: the file is damaged, cut, no picture, an animation, holds more than 8 bits a
            channel, has transparent parts (their colour is not the picture's), or is so large that
            it may be an attack.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(stream) as opened:
                _check_depth(opened)
                frames = getattr(opened, "n_frames", 1)
                if frames > 1:
                    raise ValueError(f"an animation of {frames} frames")
                _check_opaque(opened)
                return np.asarray(opened.convert("RGB"))
    except (
        OSError,
        ValueError,
        SyntaxError,  # Pillow's own, for damaged PNG files
        EOFError,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    ) as error:
        raise InputError(
            "this picture cannot be read",
            where=where,
            expected="one picture of 8 bits a channel without transparent parts",
            found=" ".join(str(error).split()) or type(error).__name__,
            fix="convert, replace or remove the file"
            + (": lay it on a colour first" if isinstance(error, _TransparentError) else ""),
        ) from error


class _TransparentError(ValueError):
    pass


def _check_depth(picture: ImageFile.ImageFile) -> None:
    if picture.mode in _DEEP_MODES:
        raise ValueError(f"mode {picture.mode}: more than 8 bits a channel")
    for tile in picture.tile:
        given = tile.args if isinstance(tile.args, tuple) else (tile.args,)
        raw = given[0] if given and isinstance(given[0], str) else ""
        deep_ppm = tile.codec_name == "ppm" and isinstance(given[-1], int) and given[-1] > 255
        if deep_ppm or _DEEP_RAW.match(raw):
            raise ValueError(f"{raw} in the file: more than 8 bits a channel")


def _check_opaque(picture: Image.Image) -> None:
    """Refuse what shows the background: which colour that is changes the score."""
    if picture.has_transparency_data:
        low, _ = picture.convert("RGBA").getchannel("A").getextrema()
        if isinstance(low, int | float) and low < 255:
            raise _TransparentError("transparent parts")
