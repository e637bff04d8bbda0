"""Paths that people give: with ``~``, which may lead nowhere."""

from __future__ import annotations

from pathlib import Path

from podium.errors import InputError


def expanded(path: Path | str, *, where: str) -> Path:
    """Return a path with its ``~`` or ``~name`` replaced by that home folder.

    Raises:
        InputError: there is no such home folder; ``where`` names the option or variable.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(
            "this home folder does not exist",
            where=where,
            expected="a path, or ~ or ~NAME for the home folder of an account of this machine",
            found=str(path),
            fix="write the path out, or ./~NAME for a folder that is named so",
        ) from None
