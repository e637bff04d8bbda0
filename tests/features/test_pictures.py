"""Picture files of every kind, and those that are none."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from podium.errors import InputError
from podium.features.pictures import read_picture


def saved(path: Path, picture: Image.Image, **options: Any) -> Path:
    picture.save(path, **options)
    return path


def colours(width: int = 6, height: int = 4) -> Image.Image:
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))


def test_rgb_comes_back_as_it_is(tmp_path: Path) -> None:
    for suffix in ("png", "bmp", "tif", "ppm"):
        read = read_picture(saved(tmp_path / f"a.{suffix}", colours()))
        np.testing.assert_array_equal(read, np.asarray(colours()))
        assert read.shape == (4, 6, 3)


def test_grey_palette_and_one_pixel(tmp_path: Path) -> None:
    grey = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(3, 4))
    read = read_picture(saved(tmp_path / "grey.png", grey))
    np.testing.assert_array_equal(read, np.repeat(np.asarray(grey)[..., None], 3, axis=2))
    flat = Image.new("RGB", (5, 2), (10, 200, 30))
    palette = read_picture(saved(tmp_path / "palette.gif", flat.quantize(4)))
    assert np.unique(palette.reshape(-1, 3), axis=0).tolist() == [[10, 200, 30]]
    assert read_picture(saved(tmp_path / "dot.png", colours(1, 1))).shape == (1, 1, 3)


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    clear = Image.new("RGBA", (3, 2), (255, 0, 0, 0))
    assert (read_picture(saved(tmp_path / "clear.png", clear)) == 255).all()
    half = Image.new("LA", (3, 2), (0, 128))
    assert read_picture(saved(tmp_path / "half.png", half))[0, 0].tolist() == [127, 127, 127]
    palette = Image.new("P", (3, 2), 1)
    palette.putpalette([0, 0, 0, 9, 9, 9])
    assert (read_picture(saved(tmp_path / "p.png", palette, transparency=1)) == 255).all()


def test_pictures_are_turned_as_their_camera_says(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned a quarter to the right
    path = saved(tmp_path / "turned.png", colours(6, 4), exif=exif)
    np.testing.assert_array_equal(read_picture(path), np.rot90(np.asarray(colours(6, 4)), -1))


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    colours(64, 64).save(file, "PNG")
    whole = file.getvalue()
    damaged = whole[:200] + bytes(40) + whole[240:]
    for name, content in {
        "empty.png": b"",
        "text.jpg": b"no picture",
        "cut.png": whole[: len(whole) // 2],
        "damaged.png": damaged,
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: this picture cannot be read"):
            read_picture(path)
    deep = Image.fromarray(np.full((4, 4), 40_000, dtype=np.uint16))
    with pytest.raises(InputError, match="more than 8 bits"):
        read_picture(saved(tmp_path / "deep.png", deep))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(InputError, match="4096 pixels"):
        read_picture(saved(tmp_path / "large.png", colours(64, 64)))
    with pytest.raises(InputError, match=r"none\.png"):
        read_picture(tmp_path / "none.png")
