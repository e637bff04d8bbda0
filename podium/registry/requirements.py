"""Whether what an entry requires is installed here."""

from __future__ import annotations

import importlib.metadata
import importlib.util


def is_installed(name: str) -> bool:
    """Tell whether ``name`` is there, as a module or as a distribution; nothing is imported.

    Of a dotted name the parent packages are imported.
    """
    try:
        if importlib.util.find_spec(name) is not None:
            return True
    except (ImportError, ValueError):
        pass  # not the name of a module, or its parent package is missing
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
