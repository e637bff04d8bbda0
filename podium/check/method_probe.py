"""Call a method directly, in a child process, and note what it does beside predicting."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from podium.check.digests import differing, digests
from podium.check.scores import score_faults, score_twice
from podium.check.states import read_states, set_states, touched, touched_on_import
from podium.contracts import Arrays, Instance, Prediction, Problem, Recipe
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.plan.config import config_of
from podium.plan.spec import RunSpec
from podium.registry.code import load_function
from podium.runner.child import Worker
from podium.runner.context import RunBuildContext, RunContext
from podium.runner.measure import limit_torch_threads
from podium.runner.processes import children
from podium.runner.validate import read_only, with_declared_integers
from podium.store.record import Record
from podium.store.store import Store

OTHER_SEED = 1
"""Added to a run's seed to get another one."""

_GRACE = 0.5
"""Seconds given to processes that are ending on their own."""


class MethodNotes(msgspec.Struct, frozen=True, kw_only=True):
    """What a method did when called again: under the seed of the run, then under another.

    ``differs``: arrays that differ between the run and a repetition under one seed.
    ``differs_again``: those that differ between two repetitions with equal global random states;
    looked at only where ``differs`` has some.
    ``seed_matters``: whether another run seed, on the same data, gives another prediction; ``None``
    where it was not tried.
    ``touched``: global random states that a call changed. ``changed``: public arrays it changed.
    ``left``: command lines of processes still alive after it. ``scores``: what is wrong with how
    its prediction is scored.
    """

    differs: tuple[str, ...]
    differs_again: tuple[str, ...]
    seed_matters: bool | None
    touched: tuple[str, ...]
    changed: tuple[str, ...]
    left: tuple[str, ...]
    scores: tuple[str, ...]


def observe_method(
    spec: dict[str, Any], record: dict[str, Any], store: str, other_seed: bool, *, worker: Worker
) -> dict[str, Any]:
    """Call a method again on the problem of a finished run; arguments and result are JSON.

    ``spec`` and ``record``: those of the run. ``store``: the folder that holds its prediction.
    ``other_seed``: whether to call it under another seed too.
    """
    run = msgspec.convert(spec, RunSpec)
    task = toml.load(Path(run.task_at.folder) / "task.toml", TaskSpec)
    probe = _Probe(run, task, worker)
    first = digests(Store(store).prediction(msgspec.convert(record, Record)))
    again = probe.call(run.seed, states=1)
    differs = differing(first, digests(again))
    differs_again: list[str] = []
    if differs:
        differs_again = differing(digests(again), digests(probe.call(run.seed, states=1)))
    seed_matters = None
    if other_seed:
        other = probe.call(run.seed + OTHER_SEED, states=2)
        seed_matters = bool(differing(digests(again), digests(other)))
    left, scores = _left_behind(), probe.score(again)
    probe.touched.update(touched_on_import(Path(run.entry_at.folder)))
    notes = MethodNotes(
        differs=tuple(differs),
        differs_again=tuple(differs_again),
        seed_matters=seed_matters,
        touched=tuple(sorted(probe.touched)),
        changed=tuple(sorted(probe.changed)),
        left=tuple(left),
        scores=tuple(scores),
    )
    builtins: dict[str, Any] = msgspec.to_builtins(notes)
    return builtins


class _Probe:
    """A problem built once, of which every call of the method gets a copy of its own."""

    def __init__(self, run: RunSpec, task: TaskSpec, worker: Worker) -> None:
        self.run, self.task, self.worker = run, task, worker
        self.touched: set[str] = set()
        self.changed: set[str] = set()
        self._calls = 0
        worker.phase("build")
        limit_torch_threads(run.threads)
        self.recipe = Recipe(
            task=run.task,
            problem=run.problem,
            tier=run.tier,
            params=MappingProxyType(run.params),
            seed=run.seed,
        )
        names = task.problem(run.problem).files
        building = RunBuildContext(self.recipe, tuple(f for f in task.files if f.name in names))
        build = load_function(run.task_at, f"{task.module}:build")
        self.instance: Instance = build(self.recipe, building)
        self.method = load_function(run.entry_at, run.function)
        self.config = config_of(run)

    def call(self, seed: int, *, states: int, repeat: bool = True) -> Prediction:
        """Call the method with a run seed, after setting the global random states.

        A library may draw as it is imported: a call that changed a state and imported something is
        repeated, and the repetition counts.
        """
        folder = self.worker.folder / f"call{self._calls}"
        self._calls += 1
        scratch, emitted = folder / "scratch", folder / "emitted"
        scratch.mkdir(parents=True)
        emitted.mkdir()
        context = RunContext(msgspec.structs.replace(self.run, seed=seed), scratch, emitted)
        public = _copied(self.instance.public)
        problem = Problem(
            task=self.run.task,
            id=self.run.problem,
            tier=self.run.tier,
            public=MappingProxyType({name: read_only(array) for name, array in public.items()}),
        )
        self.worker.phase("method")
        set_states(states)
        before, loaded = read_states(), len(sys.modules)
        context.start_clock()
        returned = self.method(problem, context, **self.config)
        states_changed = touched(before, read_states())
        if repeat and states_changed and len(sys.modules) > loaded:
            return self.call(seed, states=states, repeat=False)
        self.touched.update(states_changed)
        self.changed.update(differing(digests(self.instance.public), digests(public)))
        return self._arrays(returned, context.emitted())

    def _arrays(self, returned: object, emitted: Arrays) -> Prediction:
        """Return what a call predicted; the run before it fitted the contract, so must this."""
        given = {**(returned if isinstance(returned, Mapping) else {}), **emitted}
        named: dict[str, np.ndarray[Any, Any]] = {}
        for name, array in with_declared_integers(self.task.arrays.prediction, given).items():
            if not isinstance(array, np.ndarray):
                raise InputError(
                    "a second call under other conditions did not return arrays",
                    expected=f"{name!r}: a numpy.ndarray, as in the first call",
                    found=type(array).__name__,
                )
            named[name] = array
        return named

    def score(self, prediction: Prediction) -> list[str]:
        """Score a prediction and return what is wrong with the scores."""
        self.worker.phase("score")
        score = load_function(self.run.task_at, f"{self.task.module}:score")
        seen = score_twice(score, prediction, self.instance, self.recipe)
        return [
            *score_faults(self.task.metrics, seen.scores),
            *(f"metric {name} differs when scored again" for name in seen.differs),
            *(f"scoring changed {name} in place" for name in seen.changed),
            *(f"scoring changed the global state of {name}" for name in seen.touched),
        ]


def _copied(arrays: Arrays) -> dict[str, np.ndarray[Any, Any]]:
    # In the same memory order: it decides the last bits of a product.
    return {name: array.copy(order="K") for name, array in arrays.items()}


def _left_behind() -> list[str]:
    """Return the command lines of the processes that outlived the calls.

    This process adopts what its descendants leave, so its children are all there are.
    """
    give_up = time.monotonic() + _GRACE
    while True:
        left = [line for pid in children(os.getpid()) if (line := _command(pid))]
        if not left or time.monotonic() > give_up:
            return left
        time.sleep(0.02)


def _command(pid: int) -> str:
    """Return the command line of a process; empty for one that has ended."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return b" ".join(words).decode("utf-8", "replace").strip()[:200]
