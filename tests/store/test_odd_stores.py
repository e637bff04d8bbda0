"""What may lie in a store besides this version's records."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.cli.selection import nothing_here, select
from podium.errors import MissingError
from podium.store.record import SCHEMA_VERSION, Record
from podium.store.store import Damaged, Store

MakeRecord = Callable[..., Record]


@pytest.mark.parametrize("more", [{}, {"field_of_the_future": 1}, {"status": "superseded"}])
def test_a_record_of_a_newer_schema_is_neither_read_nor_called_damaged(
    more: dict[str, object],
    tmp_path: Path,
    toy_record: MakeRecord,
    capsys: pytest.CaptureFixture[str],
) -> None:
    damaged: list[Damaged] = []
    store = Store(tmp_path, on_damage=damaged.append)
    path = store.write(toy_record())
    newer = {**json.loads(path.read_text("utf-8")), "schema": SCHEMA_VERSION + 1, **more}
    path.write_text(json.dumps(newer), encoding="utf-8")
    assert store.records() == []
    assert store.finished() == {}
    assert [(d.path, d.newer) for d in damaged] == [(path, True)]
    assert Store(tmp_path).records() == []
    told = capsys.readouterr().err
    assert "update Podium" in told
    assert "delete" not in told


def test_what_is_no_file_is_not_waited_for(tmp_path: Path, toy_record: MakeRecord) -> None:
    damaged: list[Damaged] = []
    store = Store(tmp_path, on_damage=damaged.append)
    path = store.write(toy_record())
    os.mkfifo(path.with_name("pipe.json"))
    path.with_name("folder.json").mkdir()
    path.with_name("nowhere.json").symlink_to("gone")
    path.with_name("loop.json").symlink_to("loop.json")
    (tmp_path / "loop").symlink_to("loop")
    path.with_name("link.json").symlink_to(path.name)
    assert store.records() == [toy_record()]
    assert damaged == []


def test_endless_nesting_is_damage_like_any_other(tmp_path: Path, toy_record: MakeRecord) -> None:
    damaged: list[Damaged] = []
    store = Store(tmp_path, on_damage=damaged.append)
    path = store.write(toy_record())
    deep = path.read_text("utf-8").replace('"config": {', '"config": {"a": ' + "[" * 10**5, 1)
    path.write_text(deep, encoding="utf-8")
    assert store.records() == []
    assert [d.path for d in damaged] == [path]


def test_a_folder_that_cannot_be_read_says_so(
    tmp_path: Path, toy_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    store = Store(tmp_path)
    store.write(toy_record())
    monkeypatch.setattr(os, "scandir", denied)
    with pytest.raises(MissingError, match="cannot be read") as caught:
        store.records()
    assert caught.value.found == "Permission denied"


def test_a_record_of_a_tier_that_is_no_more_stops_nothing(
    tmp_path: Path, toy_record: MakeRecord
) -> None:
    Store(tmp_path).write(toy_record(task="granger_recovery", tier="gigantic"))
    assert "no records of tier" in nothing_here(
        select("granger_recovery", store=tmp_path, only="local")
    )
