"""The shape of ``benchmarks/suites.toml``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from podium.declarations.task import Name, Strict, TaskId, Text, Tier, unique


class SuiteTask(Strict, frozen=True, kw_only=True):
    """What a suite takes of one task; an empty list means all of them."""

    task: TaskId
    problems: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()


class SuiteSpec(Strict, frozen=True, kw_only=True):
    """A named, versioned list of tasks."""

    id: Name
    version: Annotated[int, Meta(ge=1)]
    title: Text
    tier: Tier = "small"
    seeds: Annotated[int, Meta(ge=1)] = 3
    tasks: Annotated[tuple[SuiteTask, ...], Meta(min_length=1)]


class SuitesFile(Strict, frozen=True, kw_only=True):
    """All suites."""

    suites: tuple[SuiteSpec, ...]

    def __post_init__(self) -> None:
        """Refuse a repeated id."""
        unique("suites id", [s.id for s in self.suites])
