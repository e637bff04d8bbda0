"""A job, its limits, and the ways in which it can end without a result."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal

FaultKind = Literal["raised", "timeout", "out_of_memory", "crashed", "killed"]


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds of wall clock, bytes resident; ``None`` is no limit."""

    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class Warmth:
    """What a fork server has ready: imported modules, and its number of threads."""

    preload: tuple[str, ...] = ()
    threads: int = 1


class JobError(Exception):
    """A job that ended without a result.

    ``kind``: ``raised`` (an exception of its own), ``timeout``, ``out_of_memory``, ``crashed`` (a
    signal or an exit of its own making) or ``killed`` (from outside, more often than it is tried).
    ``detail``: the end of its traceback or stack and of what it printed. ``peak_bytes``: as the
    watchdog saw it.
    """

    def __init__(
        self,
        kind: FaultKind,
        reason: str,
        *,
        detail: str | None = None,
        seconds: float = 0.0,
        peak_bytes: int = 0,
        attempts: int = 1,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.detail = detail
        self.seconds = seconds
        self.peak_bytes = peak_bytes
        self.attempts = attempts


Listener = Callable[[str, Any], None]
"""Called with ``started`` (the attempt), ``phase`` (its name), ``progress`` (done, total, note) and
``retried`` (the attempt to come, why)."""


@dataclass
class Job:
    """A function named ``module:name`` with JSON arguments, to be run in a process of its own."""

    target: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    warmth: Warmth
    limits: Limits
    retries: int
    wants_worker: bool = False
    listen: Listener | None = None
    attempt: int = 1
    order: int = 0
    future: Future[Any] = field(default_factory=Future)

    def tell(self, event: str, value: object) -> None:
        """Pass an event on to whoever listens."""
        if self.listen is not None:
            self.listen(event, value)
