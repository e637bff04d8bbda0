"""Build and score a problem directly, in a child process, and note what the task does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec
import numpy as np

from podium.check.digests import differing, instance_digests
from podium.check.samples import sample_predictions
from podium.check.scores import score_faults, score_twice
from podium.check.states import read_states, set_states, touched, touched_on_import
from podium.contracts import Array, Instance, InvalidPredictionError, Recipe
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.plan.spec import Location
from podium.registry.code import load_function
from podium.runner.child import Worker
from podium.runner.context import RunBuildContext
from podium.runner.faults import reason_of
from podium.runner.validate import array_faults, named_lengths
from podium.seeding import generator

T = TypeVar("T")
SEED, OTHER_SEED = 0, 1
_TELLING = 4
"""Numbers an array must hold before its standing elsewhere too is no coincidence."""


class TaskNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a task did with one problem.

    ``build``: ways in which what it built breaks the contract; the rest is empty then.
    ``differs``: arrays that differ between two builds under one seed. ``seed_matters``: whether
    another seed gives other data. ``touched``: global random states changed. ``leaked``: hidden
    arrays that a method can see. ``scores``: faults of the scorer on predictions that fit the
    contract. ``score_differs``: metrics that differ between two scorings of one prediction.
    ``changed``: arrays that scoring changed. ``refused``: whether the scorer refused every one of
    them as no answer, and so was not tried.
    """

    build: tuple[str, ...] = ()
    differs: tuple[str, ...] = ()
    seed_matters: bool = True
    touched: tuple[str, ...] = ()
    leaked: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    score_differs: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    refused: bool = False


def observe_problem(
    at: dict[str, Any], problem: str, tier: str, *, worker: Worker
) -> dict[str, Any]:
    """Build a problem of a task under two seeds and score made-up predictions.

    Arguments and result are JSON; ``at`` is the task's ``Location``.
    """
    location = msgspec.convert(at, Location)
    task = toml.load(Path(location.folder) / "task.toml", TaskSpec)
    builtins: dict[str, Any] = msgspec.to_builtins(
        _Probe(task, location, problem, tier, worker).notes()
    )
    return builtins


class _Probe:
    def __init__(
        self, task: TaskSpec, at: Location, problem: str, tier: str, worker: Worker
    ) -> None:
        self.task, self.problem, self.tier, self.worker = task, task.problem(problem), tier, worker
        self.build_function = load_function(at, f"{task.module}:build")
        self.score_function = load_function(at, f"{task.module}:score")
        self.files = tuple(f for f in task.files if f.name in self.problem.files)
        self.folder = Path(at.folder)
        self.touched: set[str] = set()

    def notes(self) -> TaskNotes:
        """Build, compare, then score."""
        first = self._build(SEED, states=1)
        faults = self._contract_faults(first)
        if faults or not isinstance(first, Instance):
            return TaskNotes(build=tuple(faults))
        again, other = self._build(SEED, states=2), self._build(OTHER_SEED, states=1)
        faults = self._contract_faults(again) + self._contract_faults(other)
        if faults or not isinstance(again, Instance) or not isinstance(other, Instance):
            return TaskNotes(build=tuple(faults))
        whole = instance_digests(first)
        differs = differing(whole, instance_digests(again))
        scored = self._score_samples(again)
        self.touched.update(touched_on_import(self.folder))
        return msgspec.structs.replace(
            scored,
            differs=tuple(differs),
            seed_matters=bool(differing(whole, instance_digests(other))),
            touched=tuple(sorted(self.touched)),
            leaked=tuple(leaks(first)),
        )

    def _recipe(self, seed: int) -> Recipe:
        return Recipe(
            task=self.task.id,
            problem=self.problem.id,
            tier=self.tier,
            params=MappingProxyType(self.problem.params),
            seed=seed,
        )

    def _build(self, seed: int, *, states: int) -> object:
        self.worker.phase("build")
        recipe = self._recipe(seed)
        context = RunBuildContext(recipe, self.files)
        return self._watched(states, lambda: self.build_function(recipe, context))

    def _watched(self, states: int, call: Callable[[], T], *, repeat: bool = True) -> T:
        """Call with known global states; repeat it if a library was imported and may have drawn."""
        set_states(states)
        before, loaded = read_states(), len(sys.modules)
        result = call()
        changed = touched(before, read_states())
        if repeat and changed and len(sys.modules) > loaded:
            return self._watched(states, call, repeat=False)
        self.touched.update(changed)
        return result

    def _contract_faults(self, built: object) -> list[str]:
        if not isinstance(built, Instance):
            return [f"build returned {type(built).__name__}, expected an Instance"]
        faults = array_faults(self.task.arrays.public, built.public, None)
        for name, array in built.hidden.items():
            if not isinstance(array, np.ndarray):
                faults.append(f"hidden {name}: {type(array).__name__}, expected a numpy.ndarray")
        return faults

    def _score_samples(self, instance: Instance) -> TaskNotes:
        """Note what the scorer makes of each sample."""
        self.worker.phase("score")
        lengths = named_lengths(self.task.arrays.public, instance.public)
        rng = generator(SEED, "check", self.task.id, self.problem.id)
        samples = sample_predictions(self.task.arrays.prediction, lengths, rng)
        faults: list[str] = []
        differs: set[str] = set()
        changed: set[str] = set()
        refused = 0
        for kind, sample in samples.items():
            # Whatever else the scorer raises is a fault of this sample; the others are still tried.
            try:
                seen = score_twice(self.score_function, sample, instance, self._recipe(SEED))
            except InvalidPredictionError:
                refused += 1  # a made-up prediction may well be no answer
                continue
            except Exception as error:
                faults.append(f"{kind} prediction: score raised {reason_of(error)}")
                continue
            differs.update(seen.differs)
            changed.update(seen.changed)
            self.touched.update(seen.touched)
            faults += [
                f"{kind} prediction: {fault}"
                for fault in score_faults(self.task.metrics, seen.scores)
            ]
        return TaskNotes(
            scores=tuple(faults),
            score_differs=tuple(sorted(differs)),
            changed=tuple(sorted(changed)),
            refused=refused == len(samples),
        )


def leaks(instance: Instance) -> list[str]:
    """Return the hidden arrays that stand among the public ones, under any name.

    Compared are the values in order, whatever the shape and the type of number, also along the
    other axis; arrays of fewer than four numbers or of one value alone are left out.
    """
    found = [
        f"hidden {n} is public under its own name"
        for n in instance.hidden.keys() & instance.public.keys()
    ]
    for name, hidden in instance.hidden.items():
        if hidden.size < _TELLING or (hidden == hidden.flat[0]).all():
            continue
        for other, public in instance.public.items():
            if other != name and _same_values(hidden, public):
                found.append(f"hidden {name} has the values of public {other}")
    return sorted(found)


def _same_values(left: Array, right: Array) -> bool:
    if left.size != right.size or (left.dtype.kind == "U") != (right.dtype.kind == "U"):
        return False
    return any(np.array_equal(left.ravel(order), right.ravel()) for order in ("C", "F"))
