"""A feature map by its name on the command line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

from podium.errors import InputError, MissingError
from podium.features.extractor import Features

FORMS = "inception, mobilenet, open-clip:MODEL:WEIGHTS_FILE, or package.module:function"


def chosen_features(
    text: str,
    *,
    weights: Path | None = None,
    device: str = "cpu",
    batch: int = 64,
    say: Callable[[str], None] | None = None,
) -> Features:
    """Return the feature map that ``text`` names.

    Args:
        text: ``inception``, ``mobilenet``, ``open-clip:MODEL:WEIGHTS_FILE``, or
            ``package.module:function``, a function without arguments that returns the map; it is
            looked for in the current folder first.
        weights: the file of the first two, where it is not to be looked for.
        device: where to compute; a function chooses its own.
        batch: pictures at a time.
        say: hears of files that are fetched.

    Raises:
        InputError: no such map, or one that is not what it should be.
        MissingError: weights or a package are missing.
    """
    from podium.features.weights import INCEPTION, MOBILENET_V2, weights_file

    if text == "inception":
        from podium.features.inception import InceptionFeatures

        path = weights_file(INCEPTION, weights, say=say)
        return InceptionFeatures(path, device=device, batch=batch)
    if text == "mobilenet":
        from podium.features.mobilenet_v2 import MobileNetV2Features

        path = weights_file(MOBILENET_V2, weights, say=say)
        return MobileNetV2Features(
            path, device=device, batch=min(batch, 16) if device == "cpu" else batch
        )
    if weights is not None:
        raise InputError(
            "this feature map takes no --weights",
            where=f"--features {text}",
            expected="--weights with inception or mobilenet alone",
        )
    kind, _, rest = text.partition(":")
    if kind == "open-clip":
        from podium.features.open_clip import open_clip_features

        model, _, file = rest.partition(":")
        if not model or not file:
            raise _unknown(text)
        return open_clip_features(model, file, device=device, batch=batch)
    if not rest or not all(part.isidentifier() for part in [*kind.split("."), rest]):
        raise _unknown(text)
    return _of_function(kind, rest)


def _unknown(text: str) -> InputError:
    return InputError("unknown feature map", where=f"--features {text}", expected=FORMS)


def _of_function(module: str, function: str) -> Features:
    where = f"--features {module}:{function}"
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        made = getattr(importlib.import_module(module), function)()
    except (InputError, MissingError):
        raise
    except Exception as error:  # the user's own code
        raise InputError(
            "this function gives no feature map",
            where=where,
            expected="a function without arguments that returns a map (podium.features.extractor)",
            found=" ".join(f"{type(error).__name__}: {error}".split())[:300],
        ) from error
    name, dimension = getattr(made, "name", None), getattr(made, "dimension", None)
    right = isinstance(name, str) and name and isinstance(dimension, int) and dimension > 0
    if not right or not callable(made):
        raise InputError(
            "this is no feature map",
            where=where,
            expected="name (text), dimension (1 or more), a call on uint8 [n, height, width, 3]",
            found=f"{type(made).__name__} with name {name!r}, dimension {dimension!r}",
            fix="return a podium.features.module.ModuleFeatures",
        )
    result: Features = made
    return result
