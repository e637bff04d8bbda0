"""Keep what a run prints away from the terminal."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

OUTPUT = "output.txt"
"""The file in a run's folder that holds what the run printed."""


@contextlib.contextmanager
def output_to(path: Path) -> Iterator[None]:
    """Send standard output and error to a file, also those of C code and of child processes."""
    flush_output()
    saved = [os.dup(1), os.dup(2)]
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        # sys.stdout may not be descriptor 1: a test runner or a notebook puts its own there.
        with (
            os.fdopen(descriptor, "w", encoding="utf-8", errors="replace", buffering=1) as text,
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
        ):
            yield
    finally:
        for target, original in zip((1, 2), saved, strict=True):
            os.dup2(original, target)
            os.close(original)


def flush_output() -> None:
    """Pass on what Python holds back of the two output streams."""
    for stream in (sys.stdout, sys.stderr):
        # Either may be closed or missing: by a program that embeds Podium, or by a method.
        with contextlib.suppress(ValueError, AttributeError, OSError):
            stream.flush()
