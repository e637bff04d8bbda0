"""The command line."""

from __future__ import annotations

import io
import os
import sys


def main() -> None:
    """Run ``podium``; faults are shown as messages, and the exit code says which kind it was."""
    _fill_streams()
    _escape_what_the_encoding_lacks()
    from podium.cli.app import app
    from podium.errors import EXIT_ENVIRONMENT, EXIT_RUN_FAILED, PodiumError

    try:
        try:
            app(standalone_mode=True)
        finally:
            sys.stdout.flush()
    except PodiumError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output went away (`podium list | head`): not a fault of ours.
        _discard_output()
        sys.exit(EXIT_RUN_FAILED)
    except OSError as error:
        if error.filename is not None:
            raise
        # Files that Podium opens have a name and messages of their own; this is the output.
        _discard_output()
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(EXIT_ENVIRONMENT)


def _fill_streams() -> None:
    """Put the null device where a standard stream was closed by the caller (``podium ... >&-``).

    Python has ``None`` there, and the next file opened would take the stream's number.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _escape_what_the_encoding_lacks() -> None:
    """Print what the terminal's encoding has no letter for as an escape, in place of failing.

    Names of entries and of folders may hold any letter, or bytes that are none.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Let what is still to be flushed at exit go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
