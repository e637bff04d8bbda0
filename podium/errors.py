"""Errors meant for people: what and where, what was expected, what was found, what to do."""

from __future__ import annotations

EXIT_OK = 0
EXIT_RUN_FAILED = 1
EXIT_BAD_INPUT = 2
EXIT_ENVIRONMENT = 3

FIX = "; fix: "
"""What stands between a fault and its fix in the one line that a record keeps."""


class PodiumError(Exception):
    """A fault a person can act on; shown as its message, never as a traceback."""

    exit_code = EXIT_BAD_INPUT

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        fix: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.found = found
        self.fix = fix
        parts = [f"{where}: {what}" if where else what]
        for label, text in (("expected", expected), ("found", found), ("fix", fix)):
            if text is not None:
                parts.append(f"  {label}: {text}")
        super().__init__("\n".join(parts))


class InputError(PodiumError):
    """Bad input: a wrong argument, an unknown name, a faulty declaration (exit code 2)."""


class MissingError(PodiumError):
    """The machine lacks something: a package, a file, a writable folder (exit code 3)."""

    exit_code = EXIT_ENVIRONMENT
