"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from podium.errors import MissingError

STALE_SECONDS = 3600.0
"""A temporary file this old belongs to a writer that died: writing one takes far less."""


def write_atomically(
    path: Path, fill: Callable[[BinaryIO], None], *, sync_name: bool = True
) -> None:
    """Write ``path`` through a temporary file in its folder, synced and renamed.

    A reader sees the old file or the new one, also after a power cut. ``fill`` gets the open
    temporary file. Without ``sync_name`` the new name lasts only once the folder is synced, as it
    is with the next file that goes into it.

    Raises:
        MissingError: the folder cannot be made or written, or the disk is full. What was there
            before is untouched.
    """
    with unwritable(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.parent / f".{secrets.token_hex(8)}.tmp"
        try:
            with temporary.open("xb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        if sync_name:
            _sync_folder(path.parent)


def check_writable(folder: Path) -> None:
    """Make ``folder`` where it is missing, and prove that a file can be written to it.

    Raises:
        MissingError: it cannot.
    """
    with unwritable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{secrets.token_hex(8)}.tmp"
        try:
            probe.write_bytes(b"podium")
        finally:
            probe.unlink(missing_ok=True)


def remove_stale(folder: Path) -> None:
    """Remove temporary files that writers left behind when they died."""
    oldest = time.time() - STALE_SECONDS
    for path in folder.glob(".*.tmp"):
        # Another process may have renamed or removed it in the meantime.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()


@contextlib.contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """Turn an operating-system error into one that says what to do."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        raise MissingError(
            "the disk is full: the record was not written"
            if full
            else "the results store cannot be written",
            where=str(path),
            expected="a folder on a disk with room" if full else "a folder you may write to",
            found=error.strerror or str(error),
            fix="free some space, or choose another folder with --store"
            if full
            else "choose another folder with --store or PODIUM_STORE",
        ) from error


def _sync_folder(folder: Path) -> None:
    """Make the rename itself last."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
