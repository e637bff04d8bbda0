"""The verbs that write what other programs read.

Annotations are not postponed here: typer would compile each of them at every start.
"""

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.options import EPILOG, Json, Names, folder_path, split

export_app = typer.Typer(
    help="Write tasks for other programs.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@export_app.command("lm-eval-tasks", epilog=EPILOG)
def lm_eval_tasks(
    folder: Annotated[
        Path, typer.Argument(parser=folder_path, metavar="DIR", help="Where to write them.")
    ],
    tier: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    problems: Annotated[
        Names, typer.Option("--problems", "--problem", help="Only these problems: a,b,c.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write judge_correlation as tasks of lm-eval.

    lm-eval run --include_path DIR --tasks podium_judge_... runs them, without Podium.
    """
    from podium.cli.export import export_lm_eval_tasks

    raise typer.Exit(
        export_lm_eval_tasks(folder, tier=tier, problems=split(problems), as_json=as_json)
    )
