"""The verbs and their options. Bodies import what they need, so that ``--help`` stays light.

Annotations are not postponed here: typer would compile each of them at every start.
"""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from podium.cli.options import EPILOG, Json, Names, StoreOption, folder_path, split
from podium.cli.verbs_export import export_app
from podium.cli.verbs_records import claims, compare, reproduce, show
from podium.errors import InputError

app = typer.Typer(
    name="podium",
    help="Benchmarks and leaderboards for papers' claims: run, rank, compare, check.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class NewGroup(TyperGroup):
    """``podium new``, which points to ``podium new method`` where a name stands in its place."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names."""
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            words = shlex.join(["podium", "new", "method", *args])
            task = "" if "--task" in words else " --task TASK"
            raise InputError(
                "what is to be made is missing",
                where=f"podium new {args[0]}",
                expected=f"one of {', '.join(self.commands)}",
                found=repr(args[0]),
                fix=f"{words}{task}",
            )
        return super().resolve_command(ctx, args)


new_app = typer.Typer(
    cls=NewGroup,
    help="Write the folder of a new method.",
    epilog=EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(new_app, name="new")


def _version(wanted: bool) -> None:
    if wanted:
        from podium import __version__

        print(f"podium {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Benchmarks and leaderboards for papers' claims: run, rank, compare, check."""


@app.command("list", epilog=EPILOG)
def list_(
    task: Annotated[str | None, typer.Option("--task", help="Only this task.")] = None,
    as_json: Json = False,
) -> None:
    """List tasks, problems, entries and suites."""
    from podium.cli.listing import list_all

    list_all(task=task, as_json=as_json)


@app.command(epilog=EPILOG)
def info(
    name: Annotated[str, typer.Argument(help="A task, an entry or a suite.")],
    as_json: Json = False,
) -> None:
    """Show all about a task, an entry or a suite."""
    from podium.cli.listing import info as show_info

    show_info(name, as_json=as_json)


@app.command(epilog=EPILOG)
def run(
    tasks: Annotated[Names, typer.Argument(help="Tasks to run.", metavar="[TASK]...")] = None,
    suite: Annotated[str | None, typer.Option(help="Run a suite (podium list).")] = None,
    tier: Annotated[str | None, typer.Option(help="smoke, small (default) or full.")] = None,
    entries: Annotated[Names, typer.Option(help="Only these entries: a,b,c.")] = None,
    problems: Annotated[
        Names, typer.Option("--problems", "--problem", help="Only these problems: a,b,c.")
    ] = None,
    seeds: Annotated[
        str | None, typer.Option(help="A count (3: seeds 0, 1, 2), a range 0-4, a list 0,2,7.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Runs at once; by default cores / threads.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=1024, help="Threads of each run.")] = 1,
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    time_limit: Annotated[
        str | None, typer.Option(help="Wall clock of one run: 90s, 5m, 1h; else the task's.")
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(help="Memory of one run: 2GiB, 500MB; else the task's.")
    ] = None,
    store: StoreOption = None,
    entry: Annotated[
        list[Path] | None,
        typer.Option(
            "--entry",
            parser=folder_path,
            metavar="PATH",
            help="Run the method in this folder; with --entries, beside those.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change an argument: key=value or entry.key=value."),
    ] = None,
    lm: Annotated[
        str | None,
        typer.Option(
            "--lm", metavar="KIND", help="Run a model of lm-eval: hf, vllm, … (docs/lm.md)."
        ),
    ] = None,
    lm_args: Annotated[
        str | None, typer.Option("--lm-args", help="Its arguments: pretrained=NAME,…")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Run finished runs again.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say for each run why it runs; run nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run entries and rank them.

    Finished runs are skipped: the same command resumes.
    """
    from podium.cli.run import Options
    from podium.cli.run import run as run_all

    options = Options(
        tasks=tuple(tasks or ()),
        suite=suite,
        tier=tier,
        entries=split(entries),
        problems=split(problems),
        seeds=seeds,
        jobs=jobs,
        threads=threads,
        device=device,
        time_limit=time_limit,
        memory_limit=memory_limit,
        store=store,
        added=tuple(entry or ()),
        assignments=tuple(assignments or ()),
        lm=lm,
        lm_args=lm_args,
        force=force,
        explain=explain,
        as_json=as_json,
    )
    raise typer.Exit(run_all(options))


for verb in (show, compare, claims):
    app.command(epilog=EPILOG)(verb)


@app.command(epilog=EPILOG)
def check(
    target: Annotated[str, typer.Argument(help="A method's folder, an entry or a task.")],
    as_json: Json = False,
) -> None:
    """Check a method or a task.

    Contract, limits, randomness, honest scores.
    """
    from podium.cli.check import check as check_target

    raise typer.Exit(check_target(target, as_json=as_json))


@new_app.command("method", epilog=EPILOG)
def new_method(
    name: Annotated[str, typer.Argument(help="The method's name, such as my-method.")],
    task: Annotated[str, typer.Option("--task", help="The task it solves.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder", parser=folder_path, metavar="PATH", help="Where to write it; else ./NAME."
        ),
    ] = None,
) -> None:
    """Write a method's folder that passes podium check at once."""
    from podium.cli.new import new_method as write_method

    write_method(name, task=task, folder=folder)


@app.command(epilog=EPILOG)
def doctor(store: StoreOption = None, as_json: Json = False) -> None:
    """Say what this machine has and lacks."""
    from podium.cli.doctor import doctor as examine

    raise typer.Exit(examine(store=store, as_json=as_json))


@app.command(epilog=EPILOG)
def score(
    task: Annotated[str, typer.Argument(help="fid_50k.")],
    samples: Annotated[str, typer.Option(help="Generated pictures: folder, .zip or ADM .npz.")],
    reference: Annotated[str, typer.Option(help="Real pictures: folder, .zip or ADM .npz.")],
    features: Annotated[str, typer.Option(help="inception, mobilenet, … (docs/score.md).")],
    device: Annotated[str, typer.Option(help="cpu, cuda or cuda:N.")] = "cpu",
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Pictures at a time.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Draws the subsets of KID.")] = 0,
    weights: Annotated[Path | None, typer.Option(help="File of the features' weights.")] = None,
    as_json: Json = False,
) -> None:
    """Score your generated images: FID, KID, precision, recall, density, coverage."""
    from podium.cli.score import score as score_pictures

    score_pictures(
        task,
        samples=samples,
        reference=reference,
        features=features,
        device=device,
        batch=batch,
        seed=seed,
        weights=weights,
        as_json=as_json,
    )


app.command(epilog=EPILOG)(reproduce)
app.add_typer(export_app, name="export")
