"""File names for records: short, plain ASCII, and different for different runs."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)$", re.IGNORECASE)


def slug(text: str, limit: int) -> str:
    """Return ``text`` as at most ``limit`` characters of ``a-z A-Z 0-9 . _ -``.

    Accents are dropped and everything else becomes ``-``; two texts may share a slug.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _UNSAFE.sub("-", plain)[:limit].strip("-._")


def folder_name(task: str) -> str:
    """Return the folder of a task: its id, or a slug and a digest where that is no safe name."""
    name = slug(task, 64)
    if name and name == task and not _RESERVED.match(name):
        return name
    return f"{name or 'task'}-{_digest(task)}"


def record_name(problem: str, entry: str, seed: int, key: str) -> str:
    """Return the file name of a record without its suffix, under 110 bytes."""
    parts = [slug(problem, 32), slug(entry, 40), f"s{slug(str(seed), 12)}"]
    return "-".join([*(p for p in parts if p), _digest(key)])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
