"""Any network of your own as a feature map."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.features.extractor import Floats, Images, check_images, slices
from podium.features.resize import RULE, resized


class ModuleFeatures:
    r"""A module's outputs for pictures that are resized and normalised.

    .. math:: f(x) = m\big((r(x) / 255 - \mathrm{mean}) / \mathrm{std}\big)

    with r ``podium.features.resize.RULE``. The module is put into evaluation mode.

    Args:
        module: takes float32 [n, 3, size, size], returns [n, dimension] (more axes are flattened).
        name: what it is; the whole name holds the digest of its weights, ``mean`` and ``std`` too.
        dimension: length of a picture's vector.
        size: height and width that the module takes.
        mean: of each channel, in the order of ``channels``, on the scale [0, 1].
        std: the same.
        channels: the order of the channels the module was trained on. Pictures are always handed
            in as RGB: for ``bgr`` (OpenCV, Caffe) they are turned before the module sees them.
        device: where to compute.
        batch: pictures at a time.

    Raises:
        InputError: a bad argument.
    """

    def __init__(
        self,
        module: nn.Module,
        *,
        name: str,
        dimension: int,
        size: int,
        mean: Sequence[float],
        std: Sequence[float],
        channels: Literal["rgb", "bgr"] = "rgb",
        device: str = "cpu",
        batch: int = 64,
    ) -> None:
        _check(name, dimension, size, mean, std, channels)
        self._name = f"{name}-{_digest(module, mean, std)}-{RULE}{size}-{channels}"
        self._dimension = dimension
        self._size = size
        self._turned = channels == "bgr"
        self._device = device
        self._batch = batch
        self._module = module.eval().to(device)
        self._mean = torch.tensor(mean, dtype=torch.float32, device=device).view(1, 3, 1, 1)
        self._std = torch.tensor(std, dtype=torch.float32, device=device).view(1, 3, 1, 1)

    @property
    def name(self) -> str:
        """Network, digest of weights and normalisation, resize rule, channels, as one word."""
        return self._name

    @property
    def dimension(self) -> int:
        """Length of a picture's vector."""
        return self._dimension

    @torch.no_grad()
    def __call__(self, images: Images) -> Floats:
        """Return float32 [n, dimension] for RGB pictures uint8 [n, height, width, 3].

        Raises:
            InputError: not a stack of RGB pictures, or the module gives another shape than it said.
        """
        check_images(images)
        result = np.empty((len(images), self._dimension), dtype=np.float32)
        for part in slices(len(images), self._batch):
            pixels = torch.tensor(resized(images[part], self._size)).to(self._device)
            pixels = (pixels.flip(3) if self._turned else pixels).permute(0, 3, 1, 2)
            given = self._module((pixels / 255.0 - self._mean) / self._std)
            count = part.stop - part.start
            shape = list(given.shape) if isinstance(given, Tensor) else None
            if shape is None or shape[:1] != [count] or given.numel() != count * self._dimension:
                raise InputError(
                    "the module gives something else than it said",
                    where=self._name,
                    expected=f"a tensor of shape [{count}, {self._dimension}]",
                    found=type(given).__name__ if shape is None else f"shape {shape}",
                    fix="correct dimension, or the module",
                )
            result[part] = given.flatten(1).float().cpu().numpy()
        return result


def _check(
    name: str,
    dimension: int,
    size: int,
    mean: Sequence[float],
    std: Sequence[float],
    channels: str,
) -> None:
    wrong = None
    if not re.fullmatch(r"[A-Za-z0-9_.+]+(-[A-Za-z0-9_.+]+)*", name):
        wrong = ("name", "letters, digits, and _ . + -", repr(name))
    elif dimension < 1 or size < 1:
        wrong = ("dimension and size", "1 or more", f"{dimension} and {size}")
    elif len(mean) != 3 or len(std) != 3 or not np.isfinite([*mean, *std]).all() or min(std) <= 0:
        wrong = ("mean and std", "3 numbers each, std above 0", f"{[*mean]} and {[*std]}")
    elif channels not in ("rgb", "bgr"):
        wrong = ("channels", "rgb or bgr", repr(channels))
    if wrong is not None:
        where, expected, found = wrong
        raise InputError("bad feature map", where=where, expected=expected, found=found)


def _digest(module: nn.Module, mean: Sequence[float], std: Sequence[float]) -> str:
    """Return 12 hexadecimal digits that stand for weights and normalisation."""
    digest = hashlib.sha256(np.array([*mean, *std], dtype=np.float64).tobytes())
    for name, value in sorted(module.state_dict().items()):
        digest.update(f"{name} {value.dtype} {list(value.shape)} ".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy())
    return digest.hexdigest()[:12]
