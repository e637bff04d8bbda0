"""What every task must hold to, checked on its smoke problems."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from podium.check.finding import Finding, Place, gathered
from podium.check.isolated import Probe, call_probes, smoke_limits, why_not
from podium.check.task_probe import TaskNotes
from podium.declarations.task import ProblemSpec
from podium.errors import MissingError
from podium.registry.model import Task
from podium.registry.registry import Registry

TASK_CHECKS = (
    "card",
    "controls",
    "claims",
    "files",
    "smoke",
    "build",
    "determinism",
    "seed",
    "global_state",
    "hidden",
    "scorer",
    "scorer_determinism",
    "scorer_inputs",
)
"""The names of the checks of a task, in the order in which they are reported."""

REFUSED = "the scorer refused every made-up prediction; the check of an entry scores a real one"


@dataclass(frozen=True)
class ObservedProblem:
    """What was seen of one smoke problem: the probe's notes, or why there are none."""

    where: str
    has_files: bool
    notes: TaskNotes | None = None
    fault: str | None = None
    missing: str | None = None


def check_task(task: Task, registry: Registry, *, jobs: int | None = None) -> list[Finding]:
    """Check one task; see ``check_tasks``."""
    return check_tasks([task], registry, jobs=jobs)[task.id]


def check_tasks(
    tasks: Sequence[Task], registry: Registry, *, jobs: int | None = None
) -> dict[str, list[Finding]]:
    """Return the findings for each task, in the order of ``TASK_CHECKS``.

    Every smoke problem is built and scored in a process of its own, under the tier's limits.
    ``jobs`` processes run at a time; by default one a core.
    """
    problems = [(task, problem) for task in tasks for problem in task.spec.in_tier("smoke")]
    probes = [
        Probe(
            target="podium.check.task_probe:observe_problem",
            arguments=(msgspec.to_builtins(task.at), problem.id, "smoke"),
            limits=smoke_limits(task.spec),
        )
        for task, problem in problems
    ]
    answers = call_probes(probes, jobs=jobs or len(os.sched_getaffinity(0)))
    observed: dict[str, list[ObservedProblem]] = {task.id: [] for task in tasks}
    for (task, problem), answer in zip(problems, answers, strict=True):
        observed[task.id].append(_seen(task, problem, answer))
    return {task.id: _judge(task, registry, observed[task.id]) for task in tasks}


def _seen(task: Task, problem: ProblemSpec, answer: dict[str, Any] | Exception) -> ObservedProblem:
    seen = ObservedProblem(where=f"{task.id}/{problem.id}", has_files=bool(problem.files))
    if isinstance(answer, MissingError):
        return replace(seen, missing=str(answer))
    if isinstance(answer, Exception):
        return replace(seen, fault=why_not(answer))
    return replace(seen, notes=msgspec.convert(answer, TaskNotes))


def _judge(task: Task, registry: Registry, observed: Sequence[ObservedProblem]) -> list[Finding]:
    return [
        card(task),
        controls(task, registry),
        *claims(task, registry),
        *files(task),
        smoke(task),
        *build(observed),
        *determinism(observed),
        *seed(observed),
        *global_state(observed),
        *hidden(observed),
        *scorer(observed),
        *scorer_determinism(observed),
        *scorer_inputs(observed),
    ]


def card(task: Task) -> Finding:
    """The task's folder has a ``card.md`` that says something."""
    file = Path(task.at.folder) / "card.md"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        return Finding(
            name="card",
            state="failed",
            message=f"{file}: {reason}",
            fix="write card.md: what is measured and why, sources, what differs from the paper",
        )
    if not text.strip():
        return Finding(name="card", state="failed", message=f"{file} is empty", fix="write it")
    return Finding(name="card", state="ok", message=f"{len(text.split())} words")


def controls(task: Task, registry: Registry) -> Finding:
    """At least one entry is a control: a score means nothing without what nothing is worth."""
    found = [e.id for e in registry.entries_for(task.id) if e.spec.kind == "control"]
    if found:
        return Finding(name="controls", state="ok", message=", ".join(found))
    return Finding(
        name="controls",
        state="failed",
        message=f"no entry of kind control is of task {task.id}",
        fix='add one that knows nothing, with kind = "control" in its entry.toml',
    )


def claims(task: Task, registry: Registry) -> list[Finding]:
    """Every claim compares entries of this task; its problems and metric exist already by shape."""
    entries = {e.id for e in registry.entries_for(task.id)}
    places = [
        Place(
            where=claim.id,
            faults=tuple(
                f"no entry {name!r} of this task"
                for name in dict.fromkeys(claim.entries)
                if name not in entries
            ),
        )
        for claim in task.spec.claims
    ]
    if not places:
        return [Finding(name="claims", state="ok", message="none are made")]
    return gathered("claims", places, fix="add the entry, or correct its id in task.toml")


def files(task: Task) -> list[Finding]:
    """Every declared file can be had from somewhere and says under which licence.

    A licence or source stands with the file, or with every problem that uses the file.
    """
    places = []
    for file in task.spec.files:
        users = [p for p in task.spec.problems if file.name in p.files]
        faults = []
        if not users:
            faults.append("no problem uses it")
        if not file.licence and not (users and all(p.licence for p in users)):
            faults.append("no licence")
        if not (file.url or file.package) and not (users and all(p.source for p in users)):
            faults.append("no source")
        places.append(Place(where=file.name, faults=tuple(faults)))
    if not places:
        return [Finding(name="files", state="ok", message="none are needed")]
    held = [p for p in places if not p.faults]
    findings = gathered(
        "files",
        [p for p in places if p.faults],
        fix="give the file a url or package and a licence in task.toml",
    )
    if held:
        message = f"{len(held)} files with a source and a licence"
        findings.insert(0, Finding(name="files", state="ok", message=message))
    return findings


def smoke(task: Task) -> Finding:
    """There is a smoke problem: without one nothing can be checked in seconds."""
    found = [p.id for p in task.spec.in_tier("smoke")]
    if found:
        return Finding(name="smoke", state="ok", message=", ".join(found))
    return Finding(
        name="smoke",
        state="failed",
        message=f"no problem of {task.id} is in tier smoke",
        fix='add a tiny problem with tiers = ["smoke"]',
    )


def build(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Every smoke problem builds, within the limits, as its contract says."""
    places = []
    for o in observed:
        if o.fault is not None:
            places.append(Place(where=o.where, faults=(o.fault,)))
        elif o.notes is not None and o.notes.build:
            places.append(Place(where=o.where, faults=o.notes.build))
        else:
            places.append(Place(where=o.where, skipped=o.missing))
    return gathered("build", places, fix="mend build() or the arrays declared in task.toml")


def determinism(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """One seed gives the same data, bit by bit, whatever the global random states are."""
    fix = "draw every random number from context.rng(name)"
    places = [
        _place(o, lambda n: [f"{name} differs under one seed" for name in n.differs])
        for o in observed
    ]
    return gathered("determinism", places, fix=fix)


def seed(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Another seed gives other data, except where a problem is read from files."""
    places = []
    for o in observed:
        place = _place(o, lambda n: [] if n.seed_matters else ["another seed gives the same data"])
        if place.faults and o.has_files:
            place = Place(where=o.where)
        places.append(place)
    return gathered("seed", places, fix="draw the data from context.rng(name)")


def global_state(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Neither building nor scoring changes a global random state."""
    fix = "draw from context.rng(name); seed nothing global"
    places = [
        _place(o, lambda n: [f"the global state of {name} was changed" for name in n.touched])
        for o in observed
    ]
    return gathered("global_state", places, fix=fix)


def hidden(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """No hidden array is public too, under its own name or another."""
    fix = "keep the answer out of Instance.public; the scorer is given both parts anyway"
    return gathered("hidden", [_place(o, lambda n: list(n.leaked)) for o in observed], fix=fix)


def scorer(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Any prediction that fits the contract gets every metric: in range, or with a reason."""
    fix = "return every declared metric in its range, or podium.contracts.Undefined(reason)"
    return gathered("scorer", [_scored(o, lambda n: list(n.scores)) for o in observed], fix=fix)


def scorer_determinism(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Scoring a prediction twice gives the same numbers."""
    fix = "draw from podium.seeding.generator(recipe.seed, ...), not from global state or a clock"
    places = [
        _scored(o, lambda n: [f"{m} differs for one prediction" for m in n.score_differs])
        for o in observed
    ]
    return gathered("scorer_determinism", places, fix=fix)


def scorer_inputs(observed: Sequence[ObservedProblem]) -> list[Finding]:
    """Scoring changes neither the prediction nor the problem."""
    fix = "copy an array before changing it"
    places = [
        _scored(o, lambda n: [f"{name} was changed in place" for name in n.changed])
        for o in observed
    ]
    return gathered("scorer_inputs", places, fix=fix)


def _place(o: ObservedProblem, faults: Callable[[TaskNotes], list[str]]) -> Place:
    if o.notes is None or o.notes.build:
        return Place(where=o.where, skipped="the problem could not be built")
    return Place(where=o.where, faults=tuple(faults(o.notes)))


def _scored(o: ObservedProblem, faults: Callable[[TaskNotes], list[str]]) -> Place:
    if o.notes is not None and o.notes.refused:
        return Place(where=o.where, skipped=REFUSED)
    return _place(o, faults)
