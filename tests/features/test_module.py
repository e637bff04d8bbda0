"""Networks of one's own as feature maps, and maps by their names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from podium.errors import InputError, MissingError
from podium.features.choice import chosen_features
from podium.features.extractor import Features, Images
from podium.features.module import ModuleFeatures
from podium.features.resize import resized

GIVEN: dict[str, Any] = {
    "name": "net",
    "dimension": 12,
    "size": 8,
    "mean": (0.5, 0.4, 0.3),
    "std": (0.2, 0.3, 0.4),
}


class Turned(nn.Module):
    """A module that takes BGR, made of one that takes RGB."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x.flip(1))
        return result


def net(seed: int = 0) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    layers = nn.Sequential(nn.Conv2d(3, 12, 3), nn.Dropout(0.5), nn.AdaptiveAvgPool2d(1))
    for parameter in layers.parameters():
        nn.init.normal_(parameter, generator=generator)
    return layers


def noise(count: int = 5, side: int = 11) -> Images:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def test_pictures_are_resized_and_normalised_and_the_module_does_not_train() -> None:
    module = net().train()
    features: Features = ModuleFeatures(module, **GIVEN, batch=2)
    pixels = resized(noise(), 8) / 255.0
    pixels = (pixels - np.array(GIVEN["mean"])) / np.array(GIVEN["std"])
    with torch.no_grad():
        expected = net().eval()(torch.tensor(pixels, dtype=torch.float32).permute(0, 3, 1, 2))
    np.testing.assert_allclose(features(noise()), expected.flatten(1).numpy(), atol=1e-4)
    assert features(noise(0)).shape == (0, 12)
    assert features.name.startswith("net-")
    assert features.name.endswith("-pil-bicubic8-rgb")


def test_channels_are_turned_back_for_a_module_that_takes_bgr() -> None:
    rgb = ModuleFeatures(net(), **GIVEN)
    turned = {**GIVEN, "mean": GIVEN["mean"][::-1], "std": GIVEN["std"][::-1]}
    bgr = ModuleFeatures(Turned(net()), **turned, channels="bgr")
    np.testing.assert_allclose(bgr(noise()), rgb(noise()), rtol=1e-5, atol=1e-5)
    wrong = ModuleFeatures(net(), **turned, channels="bgr")
    assert np.abs(wrong(noise()) - rgb(noise())).max() > 0.1
    assert len({rgb.name, bgr.name, wrong.name}) == 3


def test_the_name_changes_with_all_that_changes_numbers() -> None:
    base = ModuleFeatures(net(), **GIVEN).name
    assert ModuleFeatures(net(), **GIVEN, batch=1).name == base
    others = [
        ModuleFeatures(net(1), **GIVEN),
        ModuleFeatures(net(), **{**GIVEN, "size": 9}),
        ModuleFeatures(net(), **{**GIVEN, "mean": (0.5, 0.4, 0.31)}),
        ModuleFeatures(net(), **{**GIVEN, "name": "other"}),
        ModuleFeatures(net(), **GIVEN, channels="bgr"),
    ]
    assert len({base, *(o.name for o in others)}) == 6


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": "a b"}, "name"),
        ({"name": ""}, "name"),
        ({"dimension": 0}, "dimension"),
        ({"size": 0}, "size"),
        ({"mean": (0.5,)}, "mean"),
        ({"std": (0.0, 1.0, 1.0)}, "std"),
        ({"std": (np.nan, 1.0, 1.0)}, "std"),
        ({"channels": "gbr"}, "channels"),
    ],
)
def test_bad_arguments_are_named(change: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        ModuleFeatures(net(), **{**GIVEN, **change})


def test_another_dimension_than_said_is_named() -> None:
    with pytest.raises(InputError, match=r"(?s)expected: a tensor of shape \[5, 13\].*\[5, 12"):
        ModuleFeatures(net(), **{**GIVEN, "dimension": 13})(noise())


def test_a_function_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [p for p in __import__("sys").path if p])
    (tmp_path / "mine_for_score.py").write_text(
        "from torch import nn\n"
        "from podium.features.module import ModuleFeatures\n"
        "def made():\n"
        "    return ModuleFeatures(nn.AdaptiveAvgPool2d(1), name='mean', dimension=3, size=4,\n"
        "                          mean=[0, 0, 0], std=[1, 1, 1])\n"
        "def broken():\n"
        "    return 1 / 0\n"
        "def nothing():\n"
        "    pass\n"
    )
    features = chosen_features("mine_for_score:made")
    np.testing.assert_allclose(
        features(noise()), resized(noise(), 4).mean(axis=(1, 2)) / 255, atol=1e-6
    )
    with pytest.raises(InputError, match=r"(?s)mine_for_score:broken.*ZeroDivisionError"):
        chosen_features("mine_for_score:broken")
    with pytest.raises(InputError, match="this is no feature map"):
        chosen_features("mine_for_score:nothing")
    with pytest.raises(InputError, match="AttributeError"):
        chosen_features("mine_for_score:absent")
    with pytest.raises(InputError, match="ModuleNotFoundError"):
        chosen_features("no_such_module_here:made")


@pytest.mark.parametrize(
    "text", ["", "incepton", "open-clip:", "open-clip:ViT-B-32", "a b:c", ":f"]
)
def test_unknown_maps_are_named(text: str) -> None:
    with pytest.raises(InputError, match=r"(?s)unknown feature map.*inception, mobilenet"):
        chosen_features(text)


def test_weights_are_for_maps_that_take_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="takes no --weights"):
        chosen_features("a.b:c", weights=tmp_path)


def test_mobilenet_by_name(mobilenet_weights: Path) -> None:
    features = chosen_features("mobilenet", weights=mobilenet_weights)
    assert features.name == "mobilenet_v2-imagenet1k_v1-pool-pil-bicubic224"
    assert features.dimension == 1280


def test_open_clip_says_what_is_missing(tmp_path: Path) -> None:
    weights = tmp_path / "a.safetensors"
    try:
        chosen_features(f"open-clip:no-such-model:{weights}")
    except MissingError as missing:
        assert "open_clip cannot be imported" in str(missing)
        assert "pip install open-clip-torch" in str(missing)
    except InputError as error:  # open_clip is here
        assert "no such file of weights" in str(error)
    else:
        pytest.fail("no model, no file, no error")
