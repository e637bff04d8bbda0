"""Where Podium keeps what can be made or fetched again."""

from __future__ import annotations

import os
from pathlib import Path

from podium.errors import MissingError
from podium.paths import expanded


def cache_folder() -> Path:
    """Return Podium's cache: ``PODIUM_CACHE``, else ``podium`` in the XDG cache folder.

    Raises:
        InputError: ``PODIUM_CACHE`` names a home folder that does not exist.
        MissingError: neither variable is set, and the account has no home folder.
    """
    own = os.environ.get("PODIUM_CACHE")
    if own:
        return expanded(own, where="PODIUM_CACHE")
    xdg = os.environ.get("XDG_CACHE_HOME")
    if xdg:
        return Path(xdg) / "podium"
    try:
        return Path.home() / ".cache" / "podium"
    except RuntimeError:
        raise MissingError(
            "there is no folder for Podium's cache",
            expected="a home folder, or the variable PODIUM_CACHE",
            found="HOME is not set, and this account has no home folder",
            fix="set PODIUM_CACHE to a folder you may write to",
        ) from None
