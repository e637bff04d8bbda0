"""Inception-v3 of FID: NVIDIA's TorchScript file, used as clean-fid's mode ``clean`` does."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.features.clean_resize import RULE, clean_resized
from podium.features.extractor import Floats, Images, check_images, slices
from podium.features.weights import INCEPTION

SIZE = 299
"""Height and width of the pictures that the network takes."""

WIDTH = 2048
"""Channels of the last pooling layer."""


class InceptionFeatures:
    r"""The last pooling layer of the Inception network that FID is defined by.

    .. math:: f(x) = \mathrm{pool}_3\big((r(x) - 128) / 128\big)

    where r resizes to 299 x 299 by ``podium.features.clean_resize.RULE``. The file is TorchScript,
    which is code: it is loaded only if its content has the digest.

    Source: Heusel et al., GANs Trained by a Two Time-Scale Update Rule (NeurIPS 2017), section 2;
    Parmar, Zhang, Zhu (CVPR 2022).

    Args:
        weights: the file ``inception-2015-12-05.pt``.
        sha256: the digest it must have. With another one than the published, the name says so.
        device: where to compute.
        batch: pictures at a time.

    Raises:
        InputError: the file cannot be read, has another digest, or holds another kind of network.
    """

    def __init__(
        self,
        weights: Path,
        *,
        sha256: str = INCEPTION.sha256,
        device: str = "cpu",
        batch: int = 16,
    ) -> None:
        self._layers = _layers(weights, sha256).to(device)
        self._sha256 = sha256
        self._device = device
        self._batch = batch

    @property
    def published(self) -> bool:
        """Whether this is the network of FID, so that the distance may be called FID."""
        return self._sha256 == INCEPTION.sha256

    @property
    def name(self) -> str:
        """Network, weights, layer and resize rule, as one word."""
        weights = "2015-12-05" if self.published else self._sha256[:12]
        return f"inception-{weights}-pool3-{RULE}{SIZE}"

    @property
    def dimension(self) -> int:
        """Length of a picture's vector."""
        return WIDTH

    @torch.no_grad()
    def __call__(self, images: Images) -> Floats:
        """Return float32 [n, 2048] for RGB pictures uint8 [n, height, width, 3].

        Raises:
            InputError: not a stack of RGB pictures.
        """
        check_images(images)
        result = np.empty((len(images), WIDTH), dtype=np.float32)
        for part in slices(len(images), self._batch):
            pixels = torch.from_numpy(clean_resized(images[part], SIZE)).to(self._device)
            features: Tensor = self._layers((pixels.permute(0, 3, 1, 2) - 128.0) / 128.0)
            result[part] = features.flatten(1).cpu().numpy()
        return result


def _layers(weights: Path, sha256: str) -> nn.Module:
    """Load the network's layers, without the resizing in front of them."""
    try:
        content = weights.read_bytes()
    except OSError as error:
        raise InputError(
            "this file cannot be read", where=str(weights), found=error.strerror or str(error)
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise InputError(
            "this is not the Inception network of FID, and it is not loaded",
            where=str(weights),
            expected=f"SHA-256 {sha256}",
            found=f"SHA-256 {found}",
            fix=f"download {INCEPTION.url}",
        )
    load: Callable[..., Any] = torch.jit.load
    try:
        with warnings.catch_warnings():
            # TorchScript is deprecated as a format to write; this file has no other.
            warnings.simplefilter("ignore", DeprecationWarning)
            network = load(io.BytesIO(content), map_location="cpu")
        layers: nn.Module = network.eval().layers
    except (RuntimeError, AttributeError) as error:
        raise InputError(
            "no TorchScript network with layers",
            where=str(weights),
            found=" ".join(str(error).split())[:300],
        ) from error
    return layers
