"""``podium export``: problems in the form of other programs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from podium.cli.output import print_json
from podium.contracts import Instance, Recipe
from podium.declarations.task import TIERS, ProblemSpec
from podium.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError, MissingError
from podium.paths import expanded
from podium.registry.code import load_function
from podium.registry.model import Task
from podium.registry.registry import load_registry, unknown_name
from podium.runner.context import RunBuildContext

TASK = "judge_correlation"


def export_lm_eval_tasks(folder: Path, *, tier: str, problems: Sequence[str], as_json: bool) -> int:
    """Write the problems of a tier as lm-eval tasks; return the exit code.

    A problem whose data cannot be had is named on standard error, and the others are written.

    Raises:
        InputError: an unknown tier or problem, or a folder with files of another origin.
        MissingError: the folder cannot be written.
    """
    from podium.lm.export import write_task

    folder = expanded(folder, where="DIR")
    task = load_registry().task(TASK)
    written: dict[str, str] = {}
    missing: dict[str, str] = {}
    for problem in _chosen(task, tier, problems):
        try:
            instance = _built(task, problem, tier)
        except MissingError as fault:
            missing[problem.id] = str(fault)
            continue
        title = f"{task.spec.title}, {problem.title}"
        written[problem.id] = write_task(folder, problem.id, title, task.spec.version, instance)
    for name, why in missing.items():
        print(f"podium: {name} is left out: {why}", file=sys.stderr)
    if as_json:
        print_json({"folder": str(folder), "tasks": written, "left_out": sorted(missing)})
    elif written:
        print(f"{folder}: {', '.join(written.values())}")
        print(f"lm-eval run --include_path {folder} --tasks {','.join(written.values())} --model …")
    return EXIT_ENVIRONMENT if missing else EXIT_OK


def _chosen(task: Task, tier: str, names: Sequence[str]) -> list[ProblemSpec]:
    if tier not in TIERS:
        raise unknown_name("tier", tier, TIERS)
    available = task.spec.in_tier(tier)
    known = {problem.id: problem for problem in available}
    for name in names:
        if name not in known:
            raise unknown_name(f"problem of {task.id}, tier {tier}", name, known)
    if not available:
        raise InputError(f"task {task.id!r} has no problem in tier {tier!r}")
    return [problem for problem in available if not names or problem.id in names]


def _built(task: Task, problem: ProblemSpec, tier: str) -> Instance:
    """Build a problem as a run with seed 0 does; its items are the same for every seed."""
    recipe = Recipe(
        task=task.id,
        problem=problem.id,
        tier=tier,
        params=MappingProxyType(problem.params),
        seed=0,
    )
    files = tuple(f for f in task.spec.files if f.name in problem.files)
    build = load_function(task.at, f"{task.spec.module}:build")
    instance = build(recipe, RunBuildContext(recipe, files))
    assert isinstance(instance, Instance)
    return instance
