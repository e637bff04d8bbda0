"""Processor cores for running jobs, shared fairly by every Podium command of this user."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path


class Cores:
    """Cores that a job was given; ``release`` gives them back, and so does the process's end."""

    def __init__(self, locks: dict[int, int]) -> None:
        self._locks = locks

    @property
    def numbers(self) -> set[int]:
        """The numbers of the cores."""
        return set(self._locks)

    def release(self) -> None:
        """Give the cores back."""
        for descriptor in self._locks.values():
            os.close(descriptor)
        self._locks = {}


def take_cores(count: int) -> Cores:
    """Return ``count`` cores that no other job holds, or none where there are not so many.

    A job held to its cores cannot use more threads than it was given, whatever library it uses,
    and its seconds can be compared with those of other jobs. Where more jobs run than there are
    cores, pinning would only hinder the scheduler: such a job gets no cores of its own.
    """
    locks: dict[int, int] = {}
    folder = Path(tempfile.gettempdir()) / f"podium-cores-{os.getuid()}"
    # A folder that cannot be used leaves jobs where they are without one: on all cores.
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.lstat().st_uid != os.getuid():
            return Cores({})  # somebody else's
        for core in sorted(os.sched_getaffinity(0)):
            if len(locks) == count:
                break
            descriptor = os.open(folder / str(core), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                continue
            locks[core] = descriptor
    found = Cores(locks)
    if len(locks) < count:
        found.release()
    return found


def pin(pid: int, cores: Cores) -> None:
    """Hold a process, and all it starts from now on, to its cores."""
    if cores.numbers:
        with contextlib.suppress(ProcessLookupError):  # it died: its supervisor will notice
            os.sched_setaffinity(pid, cores.numbers)
