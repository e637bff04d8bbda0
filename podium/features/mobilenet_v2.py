"""MobileNetV2 as a frozen encoder: a token map, and its mean."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from podium.errors import InputError
from podium.features.extractor import Floats, Images, check_images, slices
from podium.features.resize import RULE, resized

SIZE = 224
"""Height and width of the pictures the published weights were trained on."""

GRID = 7
"""Rows and columns of the last feature map at that size: a token stands for 32 x 32 pixels."""

WIDTH = 1280
"""Channels of the last feature map."""

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)

# Rows of Sandler et al. (2018), table 2: expansion, channels, repeats, stride of the first.
_STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class MobileNetV2(nn.Module):
    """The network, at width 1, with the parameter names of the published ImageNet weights.

    Source: Sandler et al., MobileNetV2: Inverted Residuals and Linear Bottlenecks (CVPR 2018),
    table 2 and section 3.
    """

    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        channels = 32
        layers: list[nn.Module] = [_convolution(3, channels, kernel=3, stride=2)]
        for expansion, width, repeats, stride in _STAGES:
            for k in range(repeats):
                layers.append(_Block(channels, width, expansion, stride if k == 0 else 1))
                channels = width
        layers.append(_convolution(channels, WIDTH))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(WIDTH, classes))

    def forward(self, images: Tensor) -> Tensor:
        """Return logits [n, classes] of normalised pictures [n, 3, height, width]."""
        logits: Tensor = self.classifier(self.features(images).mean(dim=(2, 3)))
        return logits


class _Block(nn.Module):
    """Expand, filter each channel, project; with a shortcut where the shapes allow it."""

    def __init__(self, channels: int, width: int, expansion: int, stride: int) -> None:
        super().__init__()
        inner = channels * expansion
        layers = [_convolution(channels, inner)] if expansion > 1 else []
        self.conv = nn.Sequential(
            *layers,
            _convolution(inner, inner, kernel=3, stride=stride, groups=inner),
            nn.Conv2d(inner, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut = stride == 1 and channels == width

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x)
        return x + y if self.shortcut else y


def _convolution(
    channels: int, width: int, *, kernel: int = 1, stride: int = 1, groups: int = 1
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU6(inplace=True),
    )


def load_mobilenet_v2(weights: Path) -> MobileNetV2:
    """Return the network with weights read from a file, for evaluation. Nothing is unpickled.

    Raises:
        InputError: the file does not hold exactly these weights.
    """
    model = MobileNetV2()
    try:
        state = torch.load(weights, map_location="cpu", weights_only=True)
        model.load_state_dict(state)
    except Exception as error:  # torch raises many kinds for files that are none of its own
        raise InputError(
            "not the weights of MobileNetV2",
            where=str(weights),
            expected=f"a state dict of {len(model.state_dict())} tensors",
            found=" ".join(str(error).split())[:300],
        ) from error
    return model.eval()


def _folded(model: nn.Module) -> nn.Module:
    """Put each batch normalisation into the convolution before it: a third of the time less."""
    for child in model.children():
        _folded(child)
    names = list(model._modules) if isinstance(model, nn.Sequential) else []
    for first, second in pairwise(names):
        convolution, norm = model.get_submodule(first), model.get_submodule(second)
        if isinstance(convolution, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
            model.set_submodule(first, fuse_conv_bn_eval(convolution, norm))
            model.set_submodule(second, nn.Identity())
    return model


class MobileNetV2Features:
    """The last feature map of MobileNetV2, as tokens or as their mean.

    Pictures are resized to 224 x 224 by ``podium.features.resize.RULE`` and normalised by the mean
    and deviation of ImageNet's channels.

    Args:
        weights: a file with the published ImageNet weights.
        device: where to compute.
        batch: pictures at a time; on a processor's core more than 16 gain nothing.
    """

    def __init__(self, weights: Path, *, device: str = "cpu", batch: int = 16) -> None:
        self._model = _folded(load_mobilenet_v2(weights).features).to(device)
        self._device = device
        self._batch = batch
        self._mean = torch.tensor(_MEAN, device=device).view(1, 3, 1, 1)
        self._deviation = torch.tensor(_DEVIATION, device=device).view(1, 3, 1, 1)

    @property
    def name(self) -> str:
        """Network, weights, layer and resize rule, as one word."""
        return f"mobilenet_v2-imagenet1k_v1-pool-{RULE}{SIZE}"

    @property
    def dimension(self) -> int:
        """Length of a picture's vector."""
        return WIDTH

    def __call__(self, images: Images) -> Floats:
        """Return the mean token, float32 [n, 1280], of RGB pictures uint8 [n, height, width, 3].

        Raises:
            InputError: not a stack of RGB pictures.
        """
        check_images(images)
        result = np.empty((len(images), WIDTH), dtype=np.float32)
        for part, tokens in self.tokens(images):
            result[part] = tokens.mean(axis=1)
        return result

    def tokens(self, images: Images) -> Iterator[tuple[slice, Floats]]:
        """Yield the tokens of one batch after another: its place, and float32 [n, 49, 1280].

        The 7 x 7 tokens stand row by row; all values lie in [0, 6].

        Raises:
            InputError: not a stack of RGB pictures.
        """
        check_images(images)
        for part in slices(len(images), self._batch):
            yield part, self._map(resized(images[part], SIZE))

    @torch.no_grad()
    def _map(self, images: Images) -> Floats:
        pixels = torch.from_numpy(images).to(self._device).permute(0, 3, 1, 2)
        normalised = (pixels / 255.0 - self._mean) / self._deviation
        maps = self._model(normalised.contiguous(memory_format=torch.channels_last))
        tokens: Floats = maps.flatten(2).transpose(1, 2).contiguous().cpu().numpy()
        return tokens
