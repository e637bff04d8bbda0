"""A task, an entry, and a declaration that could not be read, as the registry holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from podium.declarations.entry import EntrySpec
from podium.declarations.task import TaskSpec
from podium.plan.spec import Location

TASK_FILE, ENTRY_FILE = "task.toml", "entry.toml"
"""The declaration in the folder of a task, and in that of an entry."""


@dataclass(frozen=True)
class Task:
    """A declared task; its Python module is imported only by ``podium.registry.code``."""

    spec: TaskSpec
    at: Location
    origin: str

    @property
    def id(self) -> str:
        """The task's id."""
        return self.spec.id


@dataclass(frozen=True)
class Entry:
    """A declared entry; ``origin`` names the distribution or folder it comes from."""

    spec: EntrySpec
    at: Location
    origin: str

    @property
    def id(self) -> str:
        """The entry's id."""
        return self.spec.id


@dataclass(frozen=True)
class Broken:
    """A declaration that could not be read: where it lies and what is wrong."""

    kind: Literal["task", "entry"]
    name: str
    origin: str
    file: str
    line: int | None
    reason: str
