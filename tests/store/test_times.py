"""Times in records order them, whatever zone they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from podium.store.record import Record
from podium.store.store import Damaged, Store

MakeRecord = Callable[..., Record]


def test_a_time_that_is_none_is_damage(tmp_path: Path, toy_record: MakeRecord) -> None:
    damaged: list[Damaged] = []
    store = Store(tmp_path, on_damage=damaged.append)
    store.write(toy_record(seed=1))
    path = store.write(toy_record())
    path.write_text(path.read_text().replace('"finished": "', '"finished": "soon, '))
    assert [r.seed for r in store.records()] == [1]
    assert [d.path for d in damaged] == [path]
    assert "soon" in damaged[0].reason


def test_times_without_a_zone_are_utc(tmp_path: Path, toy_record: MakeRecord) -> None:
    store = Store(tmp_path)
    store.write(toy_record(key="new", finished="2026-01-01T00:00:01"))
    store.write(toy_record(key="old", finished="2026-01-01T00:00:00.5Z"))
    assert [r.key for r in store.records()] == ["new"]
