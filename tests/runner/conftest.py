"""Tiny tasks and entries, written as folders."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.declarations.task import ArraySpec, ArraysSpec, MetricSpec, ProblemSpec, TaskSpec
from podium.plan.spec import Location, RunSpec
from podium.runner.local import Event, run_all
from podium.store.record import Provenance, Record
from podium.store.store import Store

TASK = """
import numpy as np
from podium.contracts import Instance, Undefined

def build(recipe, context):
    x = context.rng("x").normal(size=recipe.params.get("n", 5))
    return Instance(public={"x": x}, hidden={"y": 2 * x})

def score(prediction, instance, recipe):
    error = float(np.mean((prediction["y"] - instance.hidden["y"]) ** 2))
    return {"error": error}
"""

DOUBLE = """
def run(problem, context, *, factor: float = 2.0):
    return {"y": factor * problem.public["x"]}
"""

PROVENANCE = Provenance(
    podium="0",
    commit=None,
    dirty=None,
    python="3",
    platform="Linux",
    packages={},
    processor="",
    gpu=None,
    threads=1,
    argv=(),
)


TaskFactory = Callable[..., TaskSpec]


@pytest.fixture
def make_task() -> TaskFactory:
    """Return the contract of the tiny task, with changes."""
    return tiny_task


@pytest.fixture
def origin() -> Provenance:
    """Return a provenance that costs nothing to work out."""
    return PROVENANCE


def tiny_task(**changes: Any) -> TaskSpec:
    fields: dict[str, Any] = {
        "id": "tiny",
        "version": 1,
        "title": "Tiny",
        "summary": "Double it.",
        "arrays": ArraysSpec(
            public=(ArraySpec(name="x", dtype="float64", shape=("n",)),),
            prediction=(ArraySpec(name="y", dtype="float64", shape=("n",)),),
        ),
        "metrics": (
            MetricSpec(
                name="error",
                title="Error",
                direction="lower",
                range=(0.0, float("inf")),
                primary=True,
            ),
        ),
        "problems": (ProblemSpec(id="a", title="A", tiers=("smoke",)),),
    }
    return TaskSpec(**{**fields, **changes})


SpecFactory = Callable[..., RunSpec]


@pytest.fixture
def make_spec(tmp_path: Path) -> SpecFactory:
    """Write a task and an entry, and return the spec of a run."""
    count = 0

    def make(
        method: str = DOUBLE,
        *,
        task: str = TASK,
        files: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> RunSpec:
        nonlocal count
        count += 1
        task_at, entry_at = tmp_path / f"task{count}", tmp_path / f"entry{count}"
        task_at.mkdir()
        entry_at.mkdir()
        (task_at / "task.py").write_text(textwrap.dedent(task), encoding="utf-8")
        (entry_at / "method.py").write_text(textwrap.dedent(method), encoding="utf-8")
        for name, text in (files or {}).items():
            (entry_at / name).write_text(textwrap.dedent(text), encoding="utf-8")
        fields: dict[str, Any] = {
            "key": f"key{count}",
            "key_parts": {"seed": "0"},
            "task": "tiny",
            "task_version": 1,
            "task_at": Location(package=None, folder=str(task_at)),
            "problem": "a",
            "params": {},
            "tier": "smoke",
            "entry": f"entry{count}",
            "entry_id": f"entry{count}",
            "entry_at": Location(package=None, folder=str(entry_at)),
            "kind": "baseline",
            "origin": "test",
            "function": "method:run",
            "preload": (),
            "requires": (),
            "extra": None,
            "config": {},
            "overrides": {},
            "seed": 0,
        }
        return RunSpec(**{**fields, **changes})

    return make


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def run_them(
    store: Store, make_task: Callable[..., TaskSpec], origin: Provenance
) -> Callable[..., list[Record]]:
    def go(
        *specs: RunSpec, jobs: int = 2, on_event: Callable[[Event], None] | None = None
    ) -> list[Record]:
        records = run_all(
            specs, {"tiny": make_task()}, store, jobs=jobs, on_event=on_event, provenance=origin
        )
        assert {r.key: r for r in store.records()} == {r.key: r for r in records}
        return records

    return go
