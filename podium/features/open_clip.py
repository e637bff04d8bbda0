"""Image towers of open_clip, with weights from a local file."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from podium.errors import InputError, MissingError
from podium.features.module import ModuleFeatures
from podium.paths import expanded


class _Tower(nn.Module):
    """The image tower alone; its outputs are not normalised, as distances between sets need."""

    def __init__(self, visual: nn.Module) -> None:
        super().__init__()
        self.visual = visual

    def forward(self, pixels: Tensor) -> Tensor:
        features: Tensor = self.visual(pixels)
        return features


def open_clip_features(
    model: str, weights: Path | str, *, device: str = "cpu", batch: int = 64
) -> ModuleFeatures:
    """Return the image tower of an open_clip model as a feature map.

    Pictures are resized to the model's size by ``podium.features.resize.RULE`` (sides each on their
    own, nothing is cut off) and normalised by the model's own mean and deviation.

    Args:
        model: a name that ``open_clip.list_models()`` gives, for instance ``ViT-B-32``.
        weights: a local file, ``.safetensors`` or a state dict; nothing is downloaded.
        device: where to compute.
        batch: pictures at a time.

    Raises:
        InputError: no such model or file, or weights of another model.
        MissingError: open_clip cannot be imported here.
    """
    library = _library()
    path = expanded(weights, where="--features")
    if not path.is_file():
        raise InputError(
            "there is no such file of weights",
            where=str(weights),
            expected="a local file, .safetensors or a state dict",
            fix="download the weights of the model, and name the file",
        )
    if model not in library.list_models():
        raise InputError(
            "open_clip knows no such model",
            where=model,
            expected="one of open_clip.list_models(), such as ViT-B-32",
        )
    try:
        built = library.create_model(model, pretrained=str(path), weights_only=True)
    except Exception as error:  # open_clip and torch raise many kinds for files of another model
        raise InputError(
            f"these are not weights of {model}",
            where=str(weights),
            found=" ".join(f"{type(error).__name__}: {error}".split())[:300],
        ) from error
    return _features(built, f"open_clip-{model}", device, batch)


def _features(built: Any, name: str, device: str, batch: int) -> ModuleFeatures:
    visual = built.visual
    size = visual.image_size
    side = int(size[0] if isinstance(size, list | tuple) else size)
    with torch.no_grad():
        dimension = int(visual.eval()(torch.zeros(1, 3, side, side)).shape[1])
    return ModuleFeatures(
        _Tower(visual),
        name=name,
        dimension=dimension,
        size=side,
        mean=visual.image_mean,
        std=visual.image_std,
        device=device,
        batch=batch,
    )


def _library() -> Any:
    try:
        return importlib.import_module("open_clip")
    except (ImportError, RuntimeError, AttributeError, OSError) as error:
        # torchvision, which open_clip needs, fails in many ways beside a torch it was not built for
        raise MissingError(
            "open_clip cannot be imported",
            where="--features open-clip",
            found=" ".join(f"{type(error).__name__}: {error}".split())[:300],
            fix="pip install open-clip-torch, with a torchvision that fits this torch "
            f"({torch.__version__})",
        ) from error
