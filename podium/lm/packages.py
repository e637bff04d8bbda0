"""Packages of the ``lm`` extra, imported when a model is asked for and not before."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from typing import Any

from podium.errors import MissingError


def package(name: str) -> Any:
    """Import a module of transformers, lm-eval or datasets.

    Raises:
        MissingError: it is not installed.
    """
    _hide_broken_torchvision()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        raise MissingError(
            f"{missing} is not installed, which language models need",
            fix='pip install "podium[lm]"',
        ) from error


def _hide_broken_torchvision() -> None:
    """Let transformers do without a torchvision that does not fit the installed torch.

    transformers asks only whether it is installed, and then fails at every model; none of ours
    looks at pictures.
    """
    if "torchvision" in sys.modules or importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError, AttributeError, OSError):
        for module in [m for m in sys.modules if m.partition(".")[0] == "torchvision"]:
            del sys.modules[module]
        sys.modules["torchvision"] = None  # type: ignore[assignment]  # the import system's "no"


@contextlib.contextmanager
def offline() -> Iterator[None]:
    """Keep the libraries of Hugging Face from asking the Hub while they are first imported.

    They read the variables once, at import: a process that has loaded a local model stays offline.
    """
    names = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
