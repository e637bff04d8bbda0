"""The verbs and their options. Bodies import what they need, so that ``--help`` stays light."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

EPILOG = (
    "Exit codes: 0 ok, 1 a run failed (or a check, or a claim's rerun, did not hold), "
    "2 bad input, 3 the machine lacks something."
)
app = typer.Typer(
    name="podium",
    help="Benchmarks and leaderboards for papers' claims.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
new_app = typer.Typer(
    help="Write a new folder that passes podium check at once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(new_app, name="new")

Json = Annotated[bool, typer.Option("--json", help="Print JSON (shapes: docs/json.md).")]
StoreOption = Annotated[
    Optional[Path],  # noqa: UP045 - typer resolves it at run time
    typer.Option("--store", help="Folder of records; else PODIUM_STORE, else ./results."),
]
Only = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--only", help="Read only these records: local or bundled."),
]
