"""A folder of one's own pictures as a problem."""

from __future__ import annotations

import io
import json
import tarfile
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import podium.benchmarks.gcd_accuracy
from podium.benchmarks.gcd_accuracy import folder, images, task, tokens
from podium.contracts import Arrays, Instance, Recipe
from podium.data.digest import sha256_of
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import FileSpec, TaskSpec
from podium.discovery.samples import read_samples
from podium.errors import InputError, MissingError
from podium.features.vit import VisionTransformer, last_block
from podium.runner.validate import array_faults
from podium.seeding import generator

SPEC = toml.load(Path(podium.benchmarks.gcd_accuracy.__path__[0]) / "task.toml", TaskSpec)
BIRDS = ("crow", "finch", "gull", "owl", "wren")


class FolderContext:
    """What ``build`` is given, with the folders under PODIUM_DATA and other files."""

    def __init__(self, seed: int, files: tuple[FileSpec, ...] = ()) -> None:
        self.files = Resolver(files)
        self._seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self._seed, name)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with five classes of four small pictures and a tiny transformer."""
    root = tmp_path / "data"
    rng = np.random.default_rng(0)
    for name in BIRDS:
        place = root / "image_folder" / name
        place.mkdir(parents=True)
        for k in range(4):
            pixels = rng.integers(0, 256, (20 + k, 24, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(place / f"{k}.png")
    (root / "dino_vitb16").mkdir()
    model = VisionTransformer(64, 2, 16, 2)
    draws = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data += torch.randn(parameter.shape, generator=draws) * 0.1
    torch.save(model.state_dict(), root / "dino_vitb16" / "tiny.pth")
    monkeypatch.setenv("PODIUM_DATA", str(root))
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    return root


def made_folder(problem: str = "image-folder", seed: int = 0, **changes: Any) -> Instance:
    params = {**SPEC.problem(problem).params, "size": 32, **changes}
    recipe = Recipe("gcd_accuracy", problem, "full", params, seed)
    return task.build(recipe, FolderContext(seed))


def split_file(data: Path, content: Any) -> Path:
    path = data / "image_folder" / "split.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_without_a_split_the_first_half_is_old(data: Path) -> None:
    found = folder.read_set(data / "image_folder")
    assert (found.classes, found.old) == (list(BIRDS), 2)
    assert found.labels.tolist() == [k for k in range(5) for _ in range(4)]
    assert [f"{f.parent.name}/{f.name}" for f in found.files[:5]] == [
        *(f"crow/{k}.png" for k in range(4)),
        "finch/0.png",
    ]
    assert folder.read_set(data / "image_folder", old=4).old == 4


@pytest.mark.parametrize(
    "split",
    [
        {"known_classes": ["wren", "gull"], "unknown_classes": ["owl", "crow"]},
        {"known_classes": [4, 2], "unknown_classes": {"Easy": [3], "Hard": [0]}, "pairs": {}},
    ],
)
def test_a_split_names_or_numbers_its_classes(data: Path, split: dict[str, Any]) -> None:
    split_file(data, split)
    found = folder.read_set(data / "image_folder", split=True)
    assert (found.classes, found.old) == (["gull", "wren", "crow", "owl"], 2)
    assert [f.parent.name for f in found.files[::4]] == found.classes
    assert found.labels.max() == 3


def test_without_unknown_classes_all_others_are_new(data: Path) -> None:
    split_file(data, {"known_classes": ["owl"]})
    found = folder.read_set(data / "image_folder")
    assert (found.classes, found.old) == (["owl", "crow", "finch", "gull", "wren"], 1)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ("no json", "not a split"),
        ({"unknown_classes": [1]}, "known_classes"),
        ({"known_classes": ["dodo"]}, "dodo"),
        ({"known_classes": [5]}, "0 to 4"),
        ({"known_classes": [-1]}, "0 to 4"),
        ({"known_classes": [0, 0]}, "more than once: crow"),
        ({"known_classes": [0], "unknown_classes": ["crow"]}, "more than once: crow"),
        ({"known_classes": []}, "0 old"),
        ({"known_classes": [0], "unknown_classes": []}, "0 new"),
    ],
)
def test_a_split_that_does_not_fit_is_named(data: Path, split: Any, message: str) -> None:
    split_file(data, split)
    with pytest.raises(InputError, match=message) as caught:
        folder.read_set(data / "image_folder")
    assert "split.json" in str(caught.value)


def test_a_set_that_needs_a_split_is_skipped_without(data: Path) -> None:
    with pytest.raises(MissingError, match="Semantic Shift Benchmark"):
        folder.read_set(data / "image_folder", split=True)


def test_what_is_no_picture_of_a_class_is_named(data: Path) -> None:
    place = data / "image_folder"
    (place / "crow" / "notes.txt").write_text("")
    (place / "loose.png").write_text("")
    (place / ".DS_Store").write_text("")
    (place / "crow" / ".hidden").write_text("")
    (place / "empty").mkdir()
    with pytest.raises(InputError, match=r"crow/notes\.txt, loose\.png$|crow/notes\.txt, loose"):
        folder.read_set(place)
    (place / "crow" / "notes.txt").unlink()
    (place / "loose.png").unlink()
    assert folder.read_set(place).classes == list(BIRDS)


def test_one_class_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "a.png").write_bytes(b"")
    with pytest.raises(InputError, match="two classes at least"):
        folder.read_set(tmp_path)


@pytest.mark.usefixtures("data")
def test_a_folder_as_a_problem() -> None:
    built = made_folder()
    public = built.public
    assert public["labelled_tokens"].shape == (4, 4, 64)
    assert public["labelled_class_tokens"].shape == (4, 64)
    assert public["unlabelled_tokens"].shape == (16, 4, 64)
    assert public["unlabelled_class_tokens"].dtype == np.float32
    assert public["grid"].tolist() == [2, 2]
    assert public["classes"].tolist() == [5]
    assert np.bincount(public["labels"]).tolist() == [2, 2]
    assert np.bincount(built.hidden["truth"]).tolist() == [2, 2, 4, 4, 4]
    scores = task.score(
        {"clusters": built.hidden["truth"]},
        built,
        Recipe("gcd_accuracy", "image-folder", "full", SPEC.problem("image-folder").params, 0),
    )
    assert scores["accuracy_all"] == scores["accuracy_old"] == scores["accuracy_new"] == 1.0
    # Patch tokens and class token come from the same picture, whatever the order.
    first, second = pairs_of(public), pairs_of(made_folder(seed=1).public)
    shared = first.keys() & second.keys()
    assert 8 < len(shared) < 16
    assert all(first[t] == second[t] for t in shared)


def pairs_of(public: Arrays) -> dict[bytes, bytes]:
    rows = zip(public["unlabelled_tokens"], public["unlabelled_class_tokens"], strict=True)
    return {patches.tobytes(): token.tobytes() for patches, token in rows}


@pytest.mark.usefixtures("data")
def test_the_last_block_and_what_enters_it() -> None:
    frozen, built = made_folder().public, made_folder("image-folder-last-block").public
    assert array_faults(SPEC.arrays.public, built, None) == []
    assert not [name for name in frozen if "block" in name or "entering" in name]
    for name, values in frozen.items():
        np.testing.assert_array_equal(values, built[name])
    samples = read_samples(built)
    assert read_samples(frozen).block is None
    assert samples.block is not None
    assert samples.block.labelled.shape == (4, 5, 64)
    block = last_block(samples.block.weights, samples.block.heads, 64)
    with torch.no_grad():
        after = block(torch.tensor(samples.block.unlabelled, dtype=torch.float32)).numpy()
    # Both sides are kept in half precision.
    np.testing.assert_allclose(after[:, 0], built["unlabelled_class_tokens"], atol=0.02)
    np.testing.assert_allclose(after[:, 1:], samples.unlabelled, atol=0.02)


@pytest.mark.usefixtures("data")
def test_squares_of_entering_tokens_are_averaged_beside_the_class_token() -> None:
    name = "unlabelled_entering_tokens"
    whole, pooled = (made_folder("image-folder-last-block", pool=p).public[name] for p in (1, 2))
    assert pooled.shape == (16, 2, 64)
    np.testing.assert_array_equal(pooled[:, 0], whole[:, 0])
    mean = whole[:, 1:].astype(np.float32).mean(axis=1)
    np.testing.assert_allclose(pooled[:, 1], mean, atol=4e-3)


@pytest.mark.usefixtures("data")
def test_pictures_and_weights_are_both_recorded() -> None:
    context = FolderContext(0)
    params = {**SPEC.problem("image-folder").params, "size": 32}
    task.build(Recipe("gcd_accuracy", "image-folder", "full", params, 0), context)
    assert [d.name for d in context.files.used] == ["image_folder/", "dino_vitb16/"]


@pytest.mark.parametrize("change", ["code", "pillow", "torch"])
def test_tokens_depend_on_this_code_and_the_libraries(
    change: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data.exists()
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))

    def make() -> int:
        made_folder()
        return len(list((tmp_path / "cache").glob("derived/*/*.npz")))

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


@pytest.mark.usefixtures("data")
def test_squares_of_tokens_are_averaged() -> None:
    whole, pooled = made_folder().public, made_folder(pool=2).public
    assert pooled["unlabelled_tokens"].shape == (16, 1, 64)
    assert pooled["grid"].tolist() == [1, 1]
    mean = whole["unlabelled_tokens"].mean(axis=1, keepdims=True)
    np.testing.assert_allclose(pooled["unlabelled_tokens"], mean, atol=4e-3)
    for pool in (0, 3):
        with pytest.raises(InputError, match="a divisor of 2"):
            made_folder(pool=pool)


def test_what_is_missing_is_named(data: Path) -> None:
    (data / "dino_vitb16" / "second.pth").write_bytes(b"")
    with pytest.raises(InputError, match="one checkpoint"):
        made_folder()
    (data / "dino_vitb16" / "second.pth").unlink()
    (data / "dino_vitb16" / "tiny.pth").unlink()
    with pytest.raises(MissingError, match=r"\$PODIUM_DATA/dino_vitb16"):
        made_folder()
    with pytest.raises(MissingError, match=r"\$PODIUM_DATA/cub_200"):
        made_folder("cub-200")


def test_declared_numbers_of_classes_are_checked(data: Path) -> None:
    with pytest.raises(InputError, match="5 classes, 2 of them old"):
        made_folder(classes=6)
    split_file(data, {"known_classes": [0]})
    with pytest.raises(InputError, match="200 classes, 100 of them old"):
        made_folder("cub-200", folder="image_folder")
    (data / "image_folder" / "split.json").unlink()
    assert made_folder(classes=5, old=3).public["labels"].max() == 2


def test_a_damaged_picture_is_named(data: Path) -> None:
    (data / "image_folder" / "owl" / "2.png").write_bytes(b"\x89PNG")
    with pytest.raises(InputError, match=r"owl/2\.png: this picture cannot be read"):
        made_folder()


def cifar_archive(path: Path, rows: list[bytes], member: str = "train.bin") -> Path:
    content = b"".join(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as bundle:
        info = tarfile.TarInfo(f"cifar-100-binary/{member}")
        info.size = len(content)
        bundle.addfile(info, io.BytesIO(content))
    return path


def cifar_row(fine: int, red: int, seed: int = 0) -> bytes:
    blue = np.random.default_rng(seed).integers(0, 256, 1024, dtype=np.uint8).tobytes()
    return bytes([7, fine]) + bytes([red]) * 1024 + bytes(1024) + blue


def test_cifar_rows(tmp_path: Path) -> None:
    rows = [cifar_row(99, 200), cifar_row(0, 3)]
    pixels, labels = images.read_cifar100(cifar_archive(tmp_path / "a.tar.gz", rows))
    assert labels.tolist() == [99, 0]
    assert pixels.shape == (2, 32, 32, 3)
    assert (pixels[0, ..., 0] == 200).all()
    assert (pixels[..., 1] == 0).all()
    assert pixels[0, 0, :, 2].tobytes() == rows[0][2 + 2048 : 2 + 2048 + 32]


def test_what_is_no_cifar_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(InputError, match="not the archive"):
        images.read_cifar100(tmp_path / "text")
    with pytest.raises(InputError, match=r"train\.bin"):
        images.read_cifar100(cifar_archive(tmp_path / "a", [cifar_row(1, 1)], "test.bin"))
    for rows in ([], [cifar_row(1, 1)[:-1]]):
        with pytest.raises(InputError, match="rows of 3074 bytes"):
            images.read_cifar100(cifar_archive(tmp_path / "b", rows))


def test_cifar_as_a_problem(data: Path) -> None:
    rows = [cifar_row(k, 60 * k, seed=n) for k in range(4) for n in range(3)]
    path = cifar_archive(data / "cifar_100" / "cifar-100-binary.tar.gz", rows)
    spec = FileSpec(name="cifar_100/cifar-100-binary.tar.gz", sha256=sha256_of(path))
    params = {**SPEC.problem("cifar-100").params, "size": 32, "classes": 4, "old": 2}
    context = FolderContext(0, (spec,))
    built = task.build(Recipe("gcd_accuracy", "cifar-100", "full", params, 0), context)
    assert built.public["unlabelled_tokens"].shape == (8, 1, 64)
    assert built.public["unlabelled_class_tokens"].shape == (8, 64)
    assert np.bincount(built.hidden["truth"]).tolist() == [1, 1, 3, 3]
    assert [d.name for d in context.files.used] == [spec.name, "dino_vitb16/"]
