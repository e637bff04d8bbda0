"""Options that several verbs share, and how their values are read.

Annotations are not postponed here: typer would compile each of them at every start.
"""

import re
from pathlib import Path
from typing import Annotated

import typer

EPILOG = (
    "Exit codes: 0 ok; 1 a run, a check or a reproduction failed; 2 bad input; "
    "3 the machine lacks something (a package, a file, a writable folder)."
)


def folder_path(text: str) -> Path:
    """Read a folder; an empty text, such as a variable that is not set, is not the current one."""
    if not text:
        raise typer.BadParameter("a folder cannot be an empty text")
    return Path(text)


Json = Annotated[bool, typer.Option("--json", help="Print JSON; shapes: docs/json.md.")]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        parser=folder_path,
        metavar="PATH",
        help="Folder of records; else PODIUM_STORE, else ./results.",
    ),
]
Only = Annotated[
    str | None, typer.Option("--only", help="Read only these records: local or bundled.")
]
Names = list[str] | None


def split(values: Names) -> tuple[str, ...]:
    """Read a repeatable option whose values may also be separated by commas.

    A comma inside brackets belongs to a name, as in ``method[lags=(1, 2)]``.
    """
    parts = (part.strip() for value in values or () for part in re.split(r",(?![^\[]*\])", value))
    return tuple(part for part in parts if part)
