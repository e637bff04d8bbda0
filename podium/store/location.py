"""Where the local store is."""

from __future__ import annotations

import os
from pathlib import Path

from podium.paths import expanded

DEFAULT_STORE = Path("results")
STORE_VARIABLE = "PODIUM_STORE"


def store_folder(given: Path | None) -> Path:
    """Return the store to write: the one given, else ``PODIUM_STORE``, else ``./results``."""
    if given is not None:
        return expanded(given, where="--store")
    variable = os.environ.get(STORE_VARIABLE)
    return expanded(variable, where=STORE_VARIABLE) if variable else DEFAULT_STORE
