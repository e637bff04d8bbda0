"""MobileNetV2: its shape, its published weights, and the features taken from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from podium.errors import InputError
from podium.features.extractor import Features, Images
from podium.features.mobilenet_v2 import (
    MobileNetV2,
    MobileNetV2Features,
    load_mobilenet_v2,
)

# torchvision 0.29.1, mobilenet_v2 with IMAGENET1K_V1, on the picture below.
GOLDEN = {0: 0.85818, 1: 6.98994, 2: -2.50580, 3: -1.79793, 4: 1.17140, 556: 10.50884, 971: 9.69561}


@pytest.fixture(scope="module")
def random_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = torch.Generator().manual_seed(0)
    model = MobileNetV2()
    state = model.state_dict()
    for name, tensor in state.items():
        if name.endswith(("running_var", "running_mean")):
            tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.5)
        elif tensor.is_floating_point():
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.2)
    path = tmp_path_factory.mktemp("weights") / "random.pth"
    torch.save(state, path)
    return path


def pattern() -> Images:
    y, x = np.mgrid[:224, :224]
    planes = [(x * y) % 256, (x + 2 * y) % 256, x ^ y]
    return np.stack(planes, axis=-1).astype(np.uint8)[None]


def noise(count: int, side: int = 32) -> Images:
    rng = np.random.default_rng(1)
    return rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def test_the_architecture_has_the_published_size() -> None:
    model = MobileNetV2()
    # Sandler et al. give 3.4 M; torchvision's documentation 3,504,872.
    assert sum(p.numel() for p in model.parameters()) == 3_504_872
    assert len(model.state_dict()) == 314
    assert sum(isinstance(m, nn.Conv2d) for m in model.modules()) == 52


def test_every_feature_map_halves_where_the_paper_says() -> None:
    sides, x = [], torch.zeros(1, 3, 224, 224)
    with torch.no_grad():
        for layer in MobileNetV2().eval().features:
            x = layer(x)
            sides.append((x.shape[2], x.shape[1]))
    changes = [b for a, b in zip([(224, 3), *sides], sides, strict=False) if a[0] != b[0]]
    assert changes == [(112, 32), (56, 24), (28, 32), (14, 64), (7, 160)]
    assert sides[-1] == (7, 1280)


def test_logits_of_the_published_weights(mobilenet_weights: Path) -> None:
    model = load_mobilenet_v2(mobilenet_weights)
    pixels = torch.from_numpy(pattern()).permute(0, 3, 1, 2) / 255
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
    with torch.no_grad():
        logits = model((pixels - mean) / deviation)[0]
    for index, value in GOLDEN.items():
        assert logits[index].item() == pytest.approx(value, abs=2e-4)
    assert int(logits.argmax()) == 556


def test_features_are_the_network_before_its_classifier(mobilenet_weights: Path) -> None:
    features = MobileNetV2Features(mobilenet_weights)(pattern())
    classifier = load_mobilenet_v2(mobilenet_weights).classifier
    with torch.no_grad():
        logits = classifier(torch.from_numpy(features))[0]
    for index, value in GOLDEN.items():
        assert logits[index].item() == pytest.approx(value, abs=1e-3)


def test_features_equal_the_plain_network(random_weights: Path) -> None:
    images = np.repeat(np.repeat(noise(2, 28), 8, axis=1), 8, axis=2)  # 224: not resized
    mean = np.array([0.485, 0.456, 0.406], dtype=np.float32)
    deviation = np.array([0.229, 0.224, 0.225], dtype=np.float32)
    normalised = torch.from_numpy((images / np.float32(255) - mean) / deviation)
    with torch.no_grad():
        maps = load_mobilenet_v2(random_weights).features(normalised.permute(0, 3, 1, 2))
    extractor = MobileNetV2Features(random_weights)
    [(place, tokens)] = extractor.tokens(images)
    assert place == slice(0, 2)
    expected = maps.permute(0, 2, 3, 1).reshape(2, 49, 1280).numpy()
    np.testing.assert_allclose(tokens, expected, atol=2e-4)
    np.testing.assert_allclose(extractor(images), expected.mean(axis=1), atol=2e-4)


def test_batches_change_nothing(random_weights: Path) -> None:
    images = noise(5)
    whole: Features = MobileNetV2Features(random_weights, batch=8)
    parts = MobileNetV2Features(random_weights, batch=2)
    result = whole(images)
    assert result.dtype == np.float32
    assert result.shape == (5, whole.dimension)
    np.testing.assert_allclose(parts(images), result, atol=1e-5)
    assert [place for place, _ in parts.tokens(images)] == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert whole.name == parts.name
    assert "bicubic224" in whole.name
    assert whole(images[:0]).shape == (0, 1280)


def test_pictures_of_any_shape_give_7_by_7_tokens(random_weights: Path) -> None:
    extractor = MobileNetV2Features(random_weights)
    for shape in ((1, 1), (40, 300)):
        [(_, tokens)] = extractor.tokens(np.zeros((1, *shape, 3), dtype=np.uint8))
        assert tokens.shape == (1, 49, 1280)
        assert 0.0 <= tokens.min() <= tokens.max() <= 6.0


def test_what_is_no_picture_is_named(random_weights: Path) -> None:
    extractor = MobileNetV2Features(random_weights)
    wrongs: list[Any] = [noise(2).astype(np.float32), noise(2)[0], noise(2)[..., :1]]
    for wrong in wrongs:
        with pytest.raises(InputError, match="not a stack of RGB pictures"):
            extractor(wrong)
    with pytest.raises(InputError, match="no pixels"):
        extractor(np.zeros((1, 0, 4, 3), dtype=np.uint8))


def test_other_weights_are_refused(tmp_path: Path, random_weights: Path) -> None:
    text = tmp_path / "text.pth"
    text.write_text("weights")
    with pytest.raises(InputError, match=r"text\.pth: not the weights of MobileNetV2"):
        load_mobilenet_v2(text)
    fewer = torch.load(random_weights, weights_only=True)
    fewer.pop("classifier.1.bias")
    torch.save(fewer, tmp_path / "fewer.pth")
    with pytest.raises(InputError, match=r"classifier\.1\.bias"):
        load_mobilenet_v2(tmp_path / "fewer.pth")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "object.pth"
    torch.save({"features": Path("/")}, path)
    with pytest.raises(InputError, match="not the weights"):
        load_mobilenet_v2(path)


@pytest.mark.gpu
def test_features_on_a_gpu(random_weights: Path) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    images = noise(3)
    ours = MobileNetV2Features(random_weights, device="cuda")(images)
    np.testing.assert_allclose(ours, MobileNetV2Features(random_weights)(images), atol=5e-3)
