"""Where Podium keeps what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return Podium's cache: ``PODIUM_CACHE``, else ``podium`` in the XDG cache folder."""
    own = os.environ.get("PODIUM_CACHE")
    if own:
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "podium"
