"""Picture files of every kind: what becomes RGB, and what is refused."""

from __future__ import annotations

import contextlib
import io
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from PIL import Image

from podium.errors import InputError
from podium.features.extractor import Images
from podium.images.decode import decode


def colours(width: int = 6, height: int = 4) -> Images:
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def coded(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def read(content: bytes) -> Images:
    return decode(io.BytesIO(content), "a.png")


def png_16_bit(colour: int, channels: int) -> bytes:
    """A 2 x 2 PNG of 16 bits a channel, which Pillow opens as one of 8."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    rows = 2 * (b"\0" + bytes(4 * channels))
    head = struct.pack(">IIBBBBB", 2, 2, 16, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def test_lossless_rgb_comes_back_as_it_is() -> None:
    for kind in ("PNG", "BMP", "TIFF", "PPM"):
        np.testing.assert_array_equal(read(coded(Image.fromarray(colours()), kind)), colours())
    lossless = read(coded(Image.fromarray(colours()), "WEBP", lossless=True))
    np.testing.assert_array_equal(lossless, colours())


def test_grey_palette_cmyk_and_one_bit_become_rgb() -> None:
    grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
    three = np.repeat(grey[..., None], 3, axis=2)
    np.testing.assert_array_equal(read(coded(Image.fromarray(grey))), three)
    flat = Image.new("RGB", (5, 2), (10, 200, 30)).quantize(4)
    for kind in ("PNG", "GIF"):
        assert np.unique(read(coded(flat, kind)).reshape(-1, 3), axis=0).tolist() == [[10, 200, 30]]
    assert read(coded(Image.new("CMYK", (2, 2)), "TIFF")).tolist() == [[[255] * 3] * 2] * 2
    assert read(coded(Image.new("1", (2, 2), 1))).tolist() == [[[255] * 3] * 2] * 2


def test_one_pixel_is_a_picture() -> None:
    assert read(coded(Image.new("RGB", (1, 1), (1, 2, 3)))).tolist() == [[[1, 2, 3]]]


def test_an_opaque_alpha_channel_is_dropped() -> None:
    opaque = Image.fromarray(colours()).convert("RGBA")
    np.testing.assert_array_equal(read(coded(opaque)), colours())


def test_what_is_transparent_is_refused() -> None:
    palette = Image.new("P", (3, 2), 1)
    palette.putpalette([0, 0, 0, 9, 9, 9])
    cases = [
        coded(Image.new("RGBA", (3, 2), (255, 0, 0, 254))),
        coded(Image.new("LA", (3, 2), (0, 128))),
        coded(palette, transparency=1),
    ]
    for content in cases:
        with pytest.raises(InputError, match=r"(?s)a\.png.*transparent parts.*lay it on a colour"):
            read(content)


def test_deep_colours_are_refused_where_pillow_would_cut_them() -> None:
    deep = {
        "grey": coded(Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16))),
        "float": coded(Image.new("F", (2, 2)), "TIFF"),
        "rgb": png_16_bit(2, 3),
        "grey and alpha": png_16_bit(4, 2),
        "rgb and alpha": png_16_bit(6, 4),
        "ppm": b"P6 2 2 65535\n" + bytes(24),
        "pgm": b"P5 2 2 65535\n" + bytes(8),
    }
    assert Image.open(io.BytesIO(deep["rgb"])).mode == "RGB"  # hence the check of the raw mode
    for name, content in deep.items():
        with pytest.raises(InputError, match="more than 8 bits a channel"):
            print(name, read(content).shape)


def test_what_is_damaged_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = coded(Image.fromarray(colours(64, 64)))
    jpeg = coded(Image.fromarray(colours(64, 64)), "JPEG")
    for content in (
        b"",
        b"no picture",
        whole[: len(whole) // 2],
        whole[:200] + bytes(40) + whole[240:],
        jpeg[: len(jpeg) // 2],
    ):
        with pytest.raises(InputError, match=r"a\.png: this picture cannot be read"):
            read(content)
    frames = [Image.fromarray(colours() // (i + 1)) for i in range(3)]
    moving = coded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(InputError, match="an animation of 3 frames"):
        read(moving)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(InputError, match="4096 pixels"):
        read(whole)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of torn EXIF data
def test_any_cut_or_flipped_byte_gives_a_picture_or_an_error() -> None:
    rng = np.random.default_rng(1)
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"):
        whole = coded(Image.fromarray(colours(16, 16)), kind)
        for _ in range(60):
            content = bytearray(whole)
            content[int(rng.integers(len(whole)))] = int(rng.integers(256))
            cut = int(rng.integers(1, len(whole) + 1))
            with contextlib.suppress(InputError):
                assert read(bytes(content[:cut])).shape[2] == 3
