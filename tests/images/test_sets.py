"""Folders, zip files and ADM ``.npz`` files, the good ones and the bad ones."""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from podium.errors import InputError
from podium.features.extractor import Images
from podium.images import archive, zip_safety
from podium.images.sets import ArraySet, PictureSet, open_set


def stack(count: int = 7, side: int = 5) -> Images:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def png(image: Images) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()


def folder(path: Path, images: Images) -> Path:
    path.mkdir()
    for index, image in enumerate(images):
        (path / f"{index:03}.png").write_bytes(png(image))
    return path


def zipped(path: Path, images: Images, **extra: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for index, image in enumerate(images):
            made.writestr(f"class/{index:03}.png", png(image))
        for name, content in extra.items():
            made.writestr(name, content)
    return path


def npy_header(text: str) -> bytes:
    padded = text + " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded.encode()


def npz_of(path: Path, content: bytes, compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as made:
        made.writestr("arr_0.npy", content)
    return path


def everything(pictures: PictureSet, size: int = 3) -> list[Images]:
    return [image for batch in pictures.batches(size) for image in batch]


def test_every_container_gives_the_same_pictures(tmp_path: Path) -> None:
    images = stack()
    np.savez(tmp_path / "stored.npz", images, np.arange(7))
    np.savez_compressed(tmp_path / "packed.npz", images)
    sets = [
        ArraySet(images),
        open_set(folder(tmp_path / "folder", images)),
        open_set(zipped(tmp_path / "a.zip", images)),
        open_set(tmp_path / "stored.npz"),
        open_set(tmp_path / "packed.npz"),
    ]
    for pictures in sets:
        assert pictures.count == 7
        for size in (1, 3, 100):
            found = list(pictures.batches(size))
            assert [len(batch) for batch in found[:-1]] == [size] * (len(found) - 1)
            np.testing.assert_array_equal(np.stack(everything(pictures, size)), images)


def test_stored_arrays_are_mapped_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", stack())
    first = next(iter(open_set(tmp_path / "a.npz").batches(2)))[0]
    base: object = first
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_other_files_are_counted_hidden_ones_left_out(tmp_path: Path) -> None:
    path = folder(tmp_path / "f", stack(2))
    (path / "labels.txt").write_text("0 1")
    (path / ".DS_Store").write_bytes(b"x")
    (path / ".hidden").mkdir()
    (path / ".hidden" / "a.png").write_bytes(png(stack()[0]))
    (path / "deep" / "er").mkdir(parents=True)
    (path / "deep" / "er" / "A.PNG").write_bytes(png(stack()[5]))
    found = open_set(path)
    assert (found.count, found.ignored) == (3, 1)
    np.testing.assert_array_equal(everything(found)[2], stack()[5])
    extra = {"__MACOSX/000.png": b"x", ".x.png": b"x", "read.me": b"x"}
    packed = open_set(zipped(tmp_path / "a.zip", stack(2), **extra))
    assert (packed.count, packed.ignored) == (2, 1)


def test_mixed_sizes_are_kept(tmp_path: Path) -> None:
    path = folder(tmp_path / "f", stack(2))
    (path / "002.png").write_bytes(png(stack(1, 1)[0]))
    (path / "003.png").write_bytes(png(stack(1, 9)[0]))
    assert [i.shape[0] for i in everything(open_set(path))] == [5, 5, 1, 9]


def test_nothing_to_read(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"(?s)empty: there are no pictures.*no files.*fix"):
        open_set(tmp_path / "empty")
    (tmp_path / "empty" / "a.txt").write_text("x")
    with pytest.raises(InputError, match="1 other files"):
        open_set(tmp_path / "empty")
    with pytest.raises(InputError, match="there are no pictures"):
        open_set(zipped(tmp_path / "e.zip", stack(0)))
    with pytest.raises(InputError, match=r"(?s)--samples .*none: no pictures.*no such file"):
        open_set(tmp_path / "none", where="--samples")
    with pytest.raises(InputError, match="empty text"):
        open_set("", where="--samples")
    (tmp_path / "a.tar").write_bytes(b"x")
    with pytest.raises(InputError, match=r"'\.tar'"):
        open_set(tmp_path / "a.tar")
    with pytest.raises(InputError, match="no pictures"):
        open_set("x" * 5000)
    with pytest.raises(InputError, match="there are no pictures"):
        ArraySet(stack(0))


def test_a_bad_file_of_a_folder_is_named(tmp_path: Path) -> None:
    path = folder(tmp_path / "f", stack(2))
    (path / "001.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"001\.png: this picture cannot be read"):
        everything(open_set(path))
    (path / "001.png").unlink()
    (path / "001.png").symlink_to(path / "gone.png")
    with pytest.raises(InputError, match=r"001\.png: this is no file"):
        everything(open_set(path))
    (path / "001.png").unlink()
    os.mkfifo(path / "001.png")
    with pytest.raises(InputError, match=r"001\.png: this is no file"):
        everything(open_set(path))


def test_a_bad_member_of_a_zip_is_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", stack(2), **{"z.png": b"no picture"})
    with pytest.raises(InputError, match=r"a\.zip: z\.png: this picture cannot be read"):
        everything(open_set(path))
    content = bytearray(zipped(tmp_path / "b.zip", stack(2)).read_bytes())
    content[content.index(b"IDAT") + 8] ^= 255
    (tmp_path / "b.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"b\.zip: class/000\.png: this archive cannot be read"):
        everything(open_set(tmp_path / "b.zip"))


@pytest.mark.parametrize("suffix", ["zip", "npz"])
def test_what_is_no_archive(tmp_path: Path, suffix: str) -> None:
    whole = zipped(tmp_path / "whole.zip", stack()).read_bytes()
    for content in (b"", b"no zip", whole[: len(whole) // 2]):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(content)
        with pytest.raises(InputError, match="this archive cannot be read"):
            open_set(path)


@pytest.mark.parametrize(
    "name", ["../a.png", "x/../../a.png", "/etc/a.png", "..\\a.png", "C:/a.png", "C:\\a.png"]
)
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="leads out of the archive"):
        open_set(zipped(tmp_path / "a.zip", stack(1), **{name: png(stack()[0])}))
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.zip"]


def test_a_member_without_a_name_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a", png(stack()[0]))
    content = (tmp_path / "a.zip").read_bytes()
    start, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entry = bytearray(content[start:end].replace(b"a", b"", 1))
    entry[28:30] = bytes(2)
    tail = bytearray(content[end:])
    tail[12:16] = struct.pack("<I", len(entry))
    (tmp_path / "a.zip").write_bytes(content[:start] + bytes(entry) + bytes(tail))
    with pytest.raises(InputError, match="it has no name"):
        open_set(tmp_path / "a.zip")


def test_links_and_encrypted_members_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "link.zip", "w") as made:
        link = zipfile.ZipInfo("a.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="a link, not a file"):
        open_set(tmp_path / "link.zip")
    content = bytearray(zipped(tmp_path / "locked.zip", stack(1)).read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.zip").write_bytes(content)
    with pytest.raises(InputError, match="encrypted"):
        open_set(tmp_path / "locked.zip")


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_unusual_methods_are_refused(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as made:
        made.writestr("a.png", png(stack()[0]))
    with pytest.raises(InputError, match=f"packed by method {method}"):
        open_set(tmp_path / "a.zip")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a.png", png(stack()[0]))
        made.writestr("a.png", png(stack()[1]))
    with pytest.raises(InputError, match="there twice"):
        open_set(tmp_path / "a.zip")


def test_bombs_are_refused_before_anything_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("a.bmp", bytes(2**22))
    with pytest.raises(InputError, match=r"(?s)a\.bmp: this archive is refused.*may be an attack"):
        open_set(tmp_path / "a.zip")
    head = npy_header("{'descr': '|u1', 'fortran_order': False, 'shape': (64, 256, 256, 3)}")
    bomb = npz_of(tmp_path / "a.npz", head + bytes(64 * 256 * 256 * 3), zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="may be an attack"):
        open_set(bomb)
    plain = zipped(tmp_path / "b.zip", stack(3))
    monkeypatch.setattr(archive, "_LARGEST", 10)
    with pytest.raises(InputError, match="too large"):
        open_set(plain)
    monkeypatch.setattr(zip_safety, "TOTAL", 100)
    with pytest.raises(InputError, match="bytes when unpacked"):
        open_set(plain)


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """Many entries of the directory that point to one member: a bomb without nesting."""
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as made:
        made.writestr("a.png", rng.bytes(5000))
    content = (tmp_path / "a.zip").read_bytes()
    start, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(entry.replace(b"a.png", f"{i}.png".encode()) for i in range(9))
    tail = bytearray(content[end:])
    tail[8:10] = tail[10:12] = struct.pack("<H", 9)
    tail[12:16] = struct.pack("<I", len(entries))
    (tmp_path / "a.zip").write_bytes(content[:start] + entries + bytes(tail))
    with pytest.raises(InputError, match=r"overlap|Overlap|cannot be read"):
        everything(open_set(tmp_path / "a.zip"))


def test_arrays_that_are_no_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    wrong: list[np.typing.NDArray[Any]] = [
        np.zeros((3, 4, 4, 3), dtype=np.float32),
        np.zeros((3, 4, 4, 3), dtype=np.int8),
        np.zeros((3, 4, 4), dtype=np.uint8),
        np.zeros((3, 4, 4, 1), dtype=np.uint8),
        np.zeros((3, 3, 4, 4), dtype=np.uint8),
        np.zeros((0, 4, 4, 3), dtype=np.uint8),
        np.zeros((2, 0, 4, 3), dtype=np.uint8),
        np.zeros((), dtype=np.uint8),
        np.asfortranarray(stack()),
        np.array([object()]),
    ]
    for array in wrong:
        np.savez(path, array)
        with pytest.raises(InputError, match=r"(?s)arr_0 does not hold pictures.*fix: numpy.savez"):
            open_set(path)
    np.savez(path, images=stack(), labels=np.arange(7))
    with pytest.raises(InputError, match=r"(?s)there is no arr_0.*found: images, labels"):
        open_set(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_headers_that_lie(tmp_path: Path, compression: int) -> None:
    body = stack(4).tobytes()
    for shape in ("(5, 5, 5, 3)", "(3, 5, 5, 3)", f"({2**40}, {2**20}, {2**20}, 3)"):
        head = npy_header(f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}")
        path = npz_of(tmp_path / "a.npz", head + body, compression)
        with pytest.raises(InputError, match="header of arr_0 does not fit"):
            open_set(path)
    deep = ("(" * 5000, "-" * 5000 + "1")
    for text in ("{'descr': '|u1'}", "(", "__import__('os').abort()", "x" * 20_000, *deep):
        with pytest.raises(InputError, match="arr_0 is no array"):
            open_set(npz_of(tmp_path / "a.npz", npy_header(text) + body, compression))
    with pytest.raises(InputError, match="arr_0 is no array"):
        open_set(npz_of(tmp_path / "a.npz", b"no array", compression))


def test_directories_that_lie(tmp_path: Path) -> None:
    """The zip's own directory promises more than the file holds."""
    images = np.random.default_rng(0).integers(0, 256, (400, 9, 9, 3), dtype=np.uint8)
    np.savez_compressed(tmp_path / "a.npz", images)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[2000:2600] = bytes(600)
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"arr_0\.npy: this archive cannot be read"):
        everything(open_set(tmp_path / "a.npz"))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", np.array([{"x": Path("/")}], dtype=object))
    with pytest.raises(InputError, match=r"(?s)does not hold pictures.*object"):
        open_set(tmp_path / "a.npz")


def test_any_damage_gives_pictures_or_an_error(tmp_path: Path) -> None:
    images = stack(4, 6)
    np.savez(tmp_path / "stored.npz", images)
    np.savez_compressed(tmp_path / "packed.npz", images)
    zipped(tmp_path / "a.zip", images)
    rng = np.random.default_rng(2)
    refused = 0
    for name in ("stored.npz", "packed.npz", "a.zip"):
        whole = (tmp_path / name).read_bytes()
        for trial in range(250):
            content = bytearray(whole)
            for _ in range(int(rng.integers(1, 4))):
                content[int(rng.integers(len(whole)))] = int(rng.integers(256))
            cut = int(rng.integers(1, len(whole))) if trial % 5 == 0 else len(whole)
            path = tmp_path / f"damaged{Path(name).suffix}"
            path.write_bytes(content[:cut])
            try:
                found = everything(open_set(path))
            except InputError as error:
                refused += 1
                assert path.name in str(error)
            else:
                assert all(image.shape[2] == 3 for image in found)
    assert refused > 100
