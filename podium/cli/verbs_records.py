"""The verbs that read records: show, compare, claims, reproduce.

Annotations are not postponed here: typer would compile each of them at every start.
"""

from pathlib import Path
from typing import Annotated

import typer

from podium.cli.options import Json, Names, Only, StoreOption, folder_path, split


def show(
    task: Annotated[str, typer.Argument(help="The task.")],
    tier: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    problems: Annotated[
        Names, typer.Option("--problems", "--problem", help="Only these problems count: a,b,c.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Rank by this metric.")] = None,
    entries: Annotated[Names, typer.Option(help="Show only these rows: a,b,c.")] = None,
    failures: Annotated[
        bool, typer.Option("--failures", help="Print failed runs and their tracebacks' ends.")
    ] = False,
    only: Only = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Show a task's ranked table.

    Local records are merged over those that come with Podium.
    """
    from podium.cli.show import show as show_task

    show_task(
        task,
        tier=tier,
        problems=split(problems),
        metric=metric,
        entries=split(entries),
        failures=failures,
        only=only,
        store=store,
        as_json=as_json,
    )


def compare(
    task: Annotated[str, typer.Argument(help="The task.")],
    left: Annotated[str, typer.Argument(help="One entry.")],
    right: Annotated[str, typer.Argument(help="Another entry.")],
    tier: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    problems: Annotated[
        Names, typer.Option("--problems", "--problem", help="Only these problems: a,b,c.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Compare by this metric.")] = None,
    by: Annotated[str, typer.Option(help="difference or ratio.")] = "difference",
    only: Only = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Compare two entries, pair by pair."""
    from podium.cli.compare import compare as compare_entries

    compare_entries(
        task,
        left,
        right,
        tier=tier,
        problems=split(problems),
        metric=metric,
        by=by,
        only=only,
        store=store,
        as_json=as_json,
    )


def claims(
    task: Annotated[str | None, typer.Argument(help="The task; all by default.")] = None,
    only: Only = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Say which claims of the papers hold."""
    from podium.cli.claims import claims as show_claims

    show_claims(task, only=only, store=store, as_json=as_json)


def reproduce(
    task: Annotated[str, typer.Argument(help="The task.")],
    tier: Annotated[str, typer.Option(help="smoke, small or full.")] = "small",
    entries: Annotated[Names, typer.Option(help="Only these entries: a,b,c.")] = None,
    problems: Annotated[
        Names, typer.Option("--problems", "--problem", help="Only these problems: a,b,c.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="A count (3: seeds 0, 1, 2), a range 0-4, a list 0,2,7.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; by default one a core.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    entry: Annotated[
        list[Path] | None,
        typer.Option(
            "--entry",
            parser=folder_path,
            metavar="PATH",
            help="A method that was added by its folder.",
        ),
    ] = None,
    only: Only = None,
    store: StoreOption = None,
    as_json: Json = False,
) -> None:
    """Run records again and compare.

    Scores must agree within the task's tolerance.
    """
    from podium.cli.reproduce import reproduce as run_again

    code = run_again(
        task,
        tier=tier,
        entries=split(entries),
        problems=split(problems),
        seeds=seeds,
        jobs=jobs,
        device=device,
        added=tuple(entry or ()),
        only=only,
        store=store,
        as_json=as_json,
    )
    raise typer.Exit(code)
