"""Where the local store is."""

from __future__ import annotations

import os
from pathlib import Path

DEFAULT_STORE = Path("results")
STORE_VARIABLE = "PODIUM_STORE"


def store_folder(given: Path | None) -> Path:
    """Return the store to write: the one given, else ``PODIUM_STORE``, else ``./results``."""
    if given is not None:
        return given.expanduser()
    variable = os.environ.get(STORE_VARIABLE)
    return Path(variable).expanduser() if variable else DEFAULT_STORE
