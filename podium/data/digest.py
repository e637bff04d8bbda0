"""Digests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

# Digests of files already read by this process; a changed size or time makes a new key.
_digests: dict[tuple[str, int, int, int], str] = {}


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; read once per process while it is unchanged."""
    stat = path.stat()
    key = (str(path.resolve()), stat.st_ino, stat.st_size, stat.st_mtime_ns)
    if key not in _digests:
        with path.open("rb") as stream:
            _digests[key] = hashlib.file_digest(stream, "sha256").hexdigest()
    return _digests[key]
