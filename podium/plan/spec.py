"""One run, described so that any process can carry it out."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.declarations.task import FileSpec


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """Where a task's or an entry's code lies.

    ``package``: dotted name of an installed folder package (``podium.methods.info_shap``), or
    ``None`` for a folder loaded by its path. ``folder``: its absolute path.
    """

    package: str | None
    folder: str


class RunSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a worker needs for one run; JSON-serialisable.

    ``key`` and ``key_parts``: see ``podium.plan.keys``. ``entry`` is the label (id and overrides).
    ``config`` is the whole effective configuration passed to the method as keywords.
    ``files``: what the method reads beside the problem.
    ``time_limit`` in seconds of wall clock and ``memory_limit`` in bytes of resident size;
    ``None`` means unlimited.
    """

    key: str
    key_parts: dict[str, str]
    task: str
    task_version: int
    task_at: Location
    problem: str
    params: dict[str, Any]
    tier: str
    entry: str
    entry_id: str
    entry_at: Location
    kind: str
    origin: str
    function: str
    preload: tuple[str, ...]
    requires: tuple[str, ...]
    extra: str | None
    config: dict[str, Any]
    overrides: dict[str, Any]
    seed: int
    device: str = "cpu"
    threads: int = 1
    time_limit: float | None = None
    memory_limit: int | None = None
    argv: tuple[str, ...] = ()
    files: tuple[FileSpec, ...] = ()
