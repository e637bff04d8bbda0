"""The field's own implementations, where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest


class _Open(type):
    """The type of a class that has every name, each of them another such class."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Open(name, (), {})


class _Stand(ModuleType):
    """A module that has every name, each of them a class that has every name."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(_Open("torchvision", (), {}), name)


class _Finder(MetaPathFinder, Loader):
    """Lend stand-ins for torchvision and its modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        mine = fullname.partition(".")[0] == "torchvision"
        return ModuleSpec(fullname, self, is_package=True) if mine else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Stand(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        del module


def _forget_torchvision() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]


@contextmanager
def _importable_torchvision() -> Iterator[None]:
    """Lend a stand-in for torchvision where it cannot be imported.

    clean-fid and torchmetrics import torchvision as they are imported, although nothing that is
    compared with here uses it, and torchvision fails where its compiled operators were built for
    another build of torch. The stand-in goes as soon as the import is over.
    """
    try:
        importlib.import_module("torchvision")
    except (ImportError, RuntimeError):
        _forget_torchvision()
        finder = _Finder()
        sys.meta_path.insert(0, finder)
        try:
            yield
        finally:
            sys.meta_path.remove(finder)
            _forget_torchvision()
    else:
        yield


@pytest.fixture(scope="session")
def peer() -> Callable[[str], Any]:
    """Import a module of clean-fid or torchmetrics by name, or skip where it is not installed."""

    def load(name: str) -> Any:
        top = name.partition(".")[0]
        if importlib.util.find_spec(top) is None:
            pytest.skip(f"{top} is not installed")
        with _importable_torchvision():
            return importlib.import_module(name)

    return load
