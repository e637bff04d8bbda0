"""Image towers of open_clip: through a stand-in, and through the library where it can be had."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from podium.errors import InputError, MissingError
from podium.features.extractor import Images
from podium.features.open_clip import open_clip_features
from podium.features.resize import resized

TINY = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "head_width": 32, "patch_size": 8},
    "text_cfg": {"context_length": 16, "vocab_size": 128, "width": 32, "heads": 2, "layers": 1},
}


def noise() -> Images:
    return np.random.default_rng(0).integers(0, 256, (5, 20, 30, 3), dtype=np.uint8)


def normalised(images: Images, mean: Any, std: Any) -> Tensor:
    pixels = (resized(images, 32) / 255.0 - np.array(mean)) / np.array(std)
    return torch.tensor(pixels, dtype=torch.float32).permute(0, 3, 1, 2)


class Visual(nn.Module):
    """What open_clip calls an image tower."""

    image_size = (32, 32)
    image_mean = (0.48, 0.46, 0.41)
    image_std = (0.27, 0.26, 0.28)

    def forward(self, x: Tensor) -> Tensor:
        return x.mean(dim=(2, 3))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Put a stand-in for the library in its place; return what it is asked to load."""
    asked: list[tuple[str, str]] = []

    def create_model(name: str, pretrained: str, weights_only: bool) -> Any:
        assert weights_only
        asked.append((name, pretrained))
        if Path(pretrained).stat().st_size == 0:
            raise RuntimeError("Missing key(s) in state_dict")
        return types.SimpleNamespace(visual=Visual())

    module: Any = types.ModuleType("open_clip")
    module.list_models = lambda: ["tiny"]
    module.create_model = create_model
    monkeypatch.setitem(sys.modules, "open_clip", module)
    return asked


def test_the_tower_gets_its_own_size_and_normalisation(
    library: list[tuple[str, str]], tmp_path: Path
) -> None:
    weights = tmp_path / "w.safetensors"
    weights.write_bytes(b"x")
    features = open_clip_features("tiny", weights, batch=2)
    expected = normalised(noise(), Visual.image_mean, Visual.image_std).mean(dim=(2, 3))
    np.testing.assert_allclose(features(noise()), expected.numpy(), atol=1e-5)
    assert features.dimension == 3
    assert features.name.startswith("open_clip-tiny-")
    assert library == [("tiny", str(weights))]


@pytest.mark.usefixtures("library")
def test_nothing_is_downloaded_and_faults_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"openai: there is no such file of weights"):
        open_clip_features("tiny", "openai")  # a tag that the library would fetch
    empty = tmp_path / "empty.pt"
    empty.touch()
    with pytest.raises(InputError, match="knows no such model"):
        open_clip_features("huge", empty)
    with pytest.raises(InputError, match=r"(?s)not weights of tiny.*Missing key"):
        open_clip_features("tiny", empty)


def test_a_library_that_fails_to_import_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "open_clip.py").write_text("raise RuntimeError('operator torchvision::nms')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "open_clip", raising=False)
    with pytest.raises(MissingError, match=r"(?s)torchvision::nms.*pip install open-clip-torch"):
        open_clip_features("tiny", tmp_path / "w.pt")


def test_with_the_library_itself(tmp_path: Path) -> None:
    try:
        import_library: Any = __import__("open_clip")
    except (ImportError, RuntimeError, AttributeError, OSError) as error:
        pytest.skip(f"open_clip cannot be imported: {error}")
    (tmp_path / "podium-tiny.json").write_text(json.dumps(TINY))
    import_library.add_model_config(tmp_path / "podium-tiny.json")
    model = import_library.create_model("podium-tiny").eval()
    torch.save(model.state_dict(), tmp_path / "w.pt")
    features = open_clip_features("podium-tiny", tmp_path / "w.pt", batch=2)
    with torch.no_grad():
        visual = model.visual
        expected = model.encode_image(normalised(noise(), visual.image_mean, visual.image_std))
    np.testing.assert_allclose(features(noise()), expected.numpy(), atol=1e-5)
    with pytest.raises(InputError, match="not weights of RN50"):
        open_clip_features("RN50", tmp_path / "w.pt")
