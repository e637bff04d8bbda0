"""The Inception network of FID: what is fed to it, and which files are loaded at all."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from podium.errors import InputError, MissingError
from podium.features.clean_resize import clean_resized
from podium.features.extractor import Features, Images
from podium.features.inception import InceptionFeatures
from podium.features.weights import INCEPTION, MOBILENET_V2, weights_file


class Layers(nn.Module):
    """2,048 pixels: rows and columns of the middle of the first channel."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, 0, :32, :64].flatten(1)


class Network(nn.Module):
    """Like NVIDIA's file: the layers, behind a resizing that clean-fid goes round."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = Layers()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result * 0.0


def noise(count: int, side: int = 20) -> Images:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def standing_in(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small TorchScript file and its digest."""
    path = tmp_path_factory.mktemp("weights") / "small.pt"
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        scripted = torch.jit.script(Network())
    file = io.BytesIO()
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.save(scripted, file)
    path.write_bytes(file.getvalue())
    return path, hashlib.sha256(file.getvalue()).hexdigest()


def test_the_layers_see_clean_pictures_between_minus_one_and_one(
    standing_in: tuple[Path, str],
) -> None:
    path, digest = standing_in
    extractor: Features = InceptionFeatures(path, sha256=digest, batch=2)
    images = noise(3)
    found = extractor(images)
    expected = (clean_resized(images, 299)[:, :32, :64, 0] - 128.0) / 128.0
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected.reshape(3, 2048), atol=1e-6)
    assert extractor.dimension == 2048
    assert extractor(images[:0]).shape == (0, 2048)
    with pytest.raises(InputError, match="not a stack of RGB pictures"):
        extractor(images[..., :1])


def test_only_the_published_file_is_called_by_its_name(standing_in: tuple[Path, str]) -> None:
    path, digest = standing_in
    extractor = InceptionFeatures(path, sha256=digest)
    assert not extractor.published
    assert extractor.name == f"inception-{digest[:12]}-pool3-clean299"
    with pytest.raises(InputError, match=r"(?s)not the Inception network.*f58cb9b6.*fix: download"):
        InceptionFeatures(path)


def test_nothing_of_another_digest_is_loaded(
    standing_in: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object, **__: object) -> None:
        pytest.fail("loaded")

    monkeypatch.setattr(torch.jit, "load", load)
    with pytest.raises(InputError, match="it is not loaded"):
        InceptionFeatures(standing_in[0])


def test_files_that_hold_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    path.write_bytes(b"weights")
    with pytest.raises(InputError, match="no TorchScript network"):
        InceptionFeatures(path, sha256=hashlib.sha256(b"weights").hexdigest())
    with pytest.raises(InputError, match=r"none\.pt: this file cannot be read"):
        InceptionFeatures(tmp_path / "none.pt")


def test_weights_are_looked_for_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    with pytest.raises(MissingError) as missing:
        weights_file(INCEPTION)
    for part in ("inception-2015-12-05.pt", INCEPTION.sha256, "$PODIUM_DATA/inception/"):
        assert part in str(missing.value)
    with pytest.raises(MissingError, match="no such file of weights"):
        weights_file(INCEPTION, tmp_path / "none.pt")
    other = tmp_path / "other.pt"
    other.write_bytes(b"x")
    with pytest.raises(InputError, match="does not hold the published weights"):
        weights_file(MOBILENET_V2, other)


def test_mobilenet_is_the_file_that_tasks_declare() -> None:
    import podium.benchmarks.gcd_accuracy
    from podium.declarations import toml
    from podium.declarations.task import TaskSpec

    task = Path(podium.benchmarks.gcd_accuracy.__path__[0]) / "task.toml"
    assert MOBILENET_V2 in toml.load(task, TaskSpec).files


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_agrees_with_clean_fid_on_one_file(standing_in: tuple[Path, str], tmp_path: Path) -> None:
    theirs = pytest.importorskip("cleanfid.inception_torchscript", exc_type=ImportError)
    resize = pytest.importorskip("cleanfid.resize", exc_type=ImportError).build_resizer("clean")
    path, digest = standing_in
    (tmp_path / "inception-2015-12-05.pt").symlink_to(path)
    network = theirs.InceptionV3W(str(tmp_path), download=False, resize_inside=False)
    images = noise(3, 35)
    pixels = np.stack([resize(image) for image in images]).transpose(0, 3, 1, 2)
    with torch.no_grad():
        expected = network(torch.from_numpy(pixels)).numpy()
    found = InceptionFeatures(path, sha256=digest)(images)
    np.testing.assert_array_equal(found, expected)


def test_the_published_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    try:
        path = weights_file(INCEPTION)
    except MissingError as missing:
        pytest.skip(f"no Inception weights here: {missing}")
    theirs = pytest.importorskip("cleanfid.inception_torchscript", exc_type=ImportError)
    if path.name != "inception-2015-12-05.pt":
        pytest.skip("clean-fid wants the file under its own name")
    network = theirs.InceptionV3W(str(path.parent), download=False)
    images = noise(4, 50)
    with torch.no_grad():
        expected = network(torch.from_numpy(clean_resized(images, 299)).permute(0, 3, 1, 2))
    extractor = InceptionFeatures(path)
    assert extractor.published
    np.testing.assert_allclose(extractor(images), expected.numpy(), atol=1e-4)
