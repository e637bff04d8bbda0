"""Processes as /proc shows them, and the few Linux calls Python has no name for."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
from pathlib import Path
from typing import Any

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def die_with_parent(number: int, parent: int) -> bool:
    """Ask for a signal when the parent dies; return whether it still is ``parent``."""
    _prctl(_PR_SET_PDEATHSIG, number)
    return os.getppid() == parent


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def children(pid: int) -> list[int]:
    """Return the children of a process; empty if it is gone."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                text = (task / "children").read_bytes()
                found += [int(word) for word in text.split()]
    return found


def tree(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    found = [pid]
    for known in found:
        found += [child for child in children(known) if child not in found]
    return found


def start_time(pid: int) -> int | None:
    """Return when a process began, in clock ticks; ``None`` if it is gone or a zombie.

    Tells a process from a later one with its number.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(b")")[2].split()
    # Nobody may ever wait for an orphan in a container without an init process.
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def resident_bytes(pids: list[int], limit: int | None = None) -> int:
    """Return the resident size of processes together.

    Pages shared after a fork count once in each. Where that takes the sum past ``limit``, the
    proportional size, which counts a shared page once, decides; it is slower to ask for.
    """
    total = sum(_resident(pid) for pid in pids)
    if limit is None or total <= limit or len(pids) == 1:
        return total
    return sum(_proportional(pid) for pid in pids)


def kill(pid: int) -> None:
    """Send SIGKILL; nothing happens if the process is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * _PAGE
    except (FileNotFoundError, ProcessLookupError):
        return 0


def _proportional(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass
    return _resident(pid)


@functools.cache
def _libc() -> Any:
    import ctypes

    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc().prctl(option, value, 0, 0, 0) != 0:
        raise OSError(f"prctl({option}) failed")
