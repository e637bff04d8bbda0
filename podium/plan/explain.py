"""Why a run would run: which part of its key differs from what the store holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from podium.plan.spec import RunSpec
from podium.store.record import Status


class Earlier(Protocol):
    """What is needed of an earlier record."""

    @property
    def key(self) -> str:
        """Its run key."""
        ...

    @property
    def key_parts(self) -> dict[str, str]:
        """What the key is the digest of."""
        ...

    @property
    def status(self) -> Status:
        """How it ended."""
        ...

    @property
    def identity(self) -> tuple[str, int, str, str, str, int]:
        """What it was of."""
        ...


def explain(specs: Iterable[RunSpec], earlier: Iterable[Earlier]) -> dict[str, str]:
    """Return, by run key, one sentence on why the run is skipped or needed.

    A run is looked up among earlier ones of the same task, tier, problem, entry and seed; the
    task's version may differ, since raising it is one of the reasons to run again.
    """
    by_subject: dict[tuple[object, ...], Earlier] = {}
    for item in earlier:
        task, _, *rest = item.identity
        by_subject[(task, *rest)] = item
    reasons = {}
    for spec in specs:
        found = by_subject.get((spec.task, spec.tier, spec.problem, spec.entry, spec.seed))
        reasons[spec.key] = _reason(spec, found)
    return reasons


def _reason(spec: RunSpec, found: Earlier | None) -> str:
    if found is None:
        return "never run here"
    if found.key == spec.key:
        return "finished, skipped" if found.status == "ok" else f"ended as {found.status} before"
    return f"changed: {', '.join(changed_parts(found.key_parts, spec.key_parts))}"


def changed_parts(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return the parts that differ, short values with both sides."""
    changes = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, "nothing"), new.get(name, "nothing")
        if before != after:
            plain = max(len(before), len(after)) <= 60 and not name.endswith("source")
            changes.append(f"{name} ({before} -> {after})" if plain else name)
    return changes
