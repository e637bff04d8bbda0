"""Which of several records of one run stands for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from podium.store.record import Status

Identity = tuple[str, int, str, str, str, int]


class Dated(Protocol):
    """What is needed of a record to order it."""

    @property
    def identity(self) -> Identity:
        """What the run was of."""
        ...

    @property
    def status(self) -> Status:
        """How the run ended."""
        ...

    @property
    def finished(self) -> str:
        """When it ended, ISO 8601."""
        ...

    @property
    def key(self) -> str:
        """Its run key."""
        ...


T = TypeVar("T", bound=Dated)


def newest(records: Iterable[T]) -> list[T]:
    """Keep the newest record of each identity, in the order of first appearance.

    A run that was skipped was not carried out: it never displaces one that was.
    """
    kept: dict[Identity, T] = {}
    for record in records:
        other = kept.get(record.identity)
        if other is None or _standing(record) >= _standing(other):
            kept[record.identity] = record
    return list(kept.values())


def moment(text: str) -> datetime:
    """Read a time; one that names no zone is UTC.

    Raises:
        ValueError: it is not ISO 8601.
    """
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _standing(record: Dated) -> tuple[bool, datetime, str]:
    # As text, times with and without fractions of a second would not sort.
    return (record.status != "skipped", moment(record.finished), record.key)
