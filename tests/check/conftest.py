"""A tiny task and entries of it, written as folders and read as any other."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from podium.declarations import toml
from podium.declarations.entry import EntryFile
from podium.declarations.task import TaskSpec
from podium.plan.spec import Location
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry

TASK_TOML = """
id = "echo"
version = 1
title = "Echo"
summary = "Say again what was heard."

[[arrays.public]]
name = "x"
dtype = "float64"
shape = ["n"]

[[arrays.prediction]]
name = "y"
dtype = "float64"
shape = ["n"]

[[metrics]]
name = "error"
title = "Error"
direction = "lower"
range = [0.0, 1.0]
primary = true

[limits.smoke]
seconds = 4
memory_gib = 0.5

[[problems]]
id = "short"
title = "Short"
tiers = ["smoke"]
"""

TASK_CODE = """
import numpy as np
from podium.contracts import Instance, Undefined

def build(recipe, context):
    x = context.rng("x").normal(size=6)
    return Instance(public={"x": x}, hidden={"truth": 2 * x})

def score(prediction, instance, recipe):
    error = np.abs(prediction["y"] - instance.hidden["truth"])
    return {"error": float(np.mean(error / (1.0 + error)))}
"""

ENTRY_TOML = """
id = "{id}"
kind = "{kind}"
title = "Title"
summary = "Summary."
tasks = ["echo"]
"""

METHOD = """
def run(problem, context, *, scale: float = 1.0):
    return {"y": scale * problem.public["x"] + context.rng("noise").normal(size=6)}
"""

TaskMaker = Callable[..., Task]
EntryMaker = Callable[..., Entry]


def registry_of(tasks: Iterable[Task], entries: Iterable[Entry] = ()) -> Registry:
    """Return a registry of these and nothing else."""
    return Registry(
        tasks={t.id: t for t in tasks},
        entries={e.id: e for e in entries},
        suites={},
        broken=(),
    )


@pytest.fixture(scope="session")
def make_registry() -> Callable[..., Registry]:
    return registry_of


@pytest.fixture(scope="session")
def make_task(tmp_path_factory: pytest.TempPathFactory) -> TaskMaker:
    """Write the task ``echo``; ``replaced`` are pieces of its TOML to put others in place of."""

    def make(
        code: str = TASK_CODE,
        *,
        replaced: dict[str, str] | None = None,
        added: str = "",
        card: str | None = "What it is.",
    ) -> Task:
        folder = tmp_path_factory.mktemp("task")
        text = TASK_TOML + textwrap.dedent(added)
        for old, new in (replaced or {}).items():
            assert old in text
            text = text.replace(old, new)
        (folder / "task.toml").write_text(text, encoding="utf-8")
        (folder / "task.py").write_text(textwrap.dedent(code), encoding="utf-8")
        if card is not None:
            (folder / "card.md").write_text(card, encoding="utf-8")
        spec = toml.load(folder / "task.toml", TaskSpec)
        return Task(spec=spec, at=Location(package=None, folder=str(folder)), origin="test")

    return make


@pytest.fixture(scope="session")
def make_entry(tmp_path_factory: pytest.TempPathFactory) -> EntryMaker:
    """Write an entry of the task ``echo``."""

    def make(
        id: str = "good",
        code: str = METHOD,
        *,
        added: str = "",
        kind: str = "baseline",
        tasks: str | None = None,
    ) -> Entry:
        folder: Path = tmp_path_factory.mktemp("entries") / id
        folder.mkdir()
        text = ENTRY_TOML.format(id=id, kind=kind) + textwrap.dedent(added)
        if tasks is not None:
            text = text.replace('["echo"]', tasks)
        (folder / "entry.toml").write_text(text, encoding="utf-8")
        (folder / "method.py").write_text(textwrap.dedent(code), encoding="utf-8")
        (spec,) = toml.load(folder / "entry.toml", EntryFile).entries()
        return Entry(spec=spec, at=Location(package=None, folder=str(folder)), origin="test")

    return make
