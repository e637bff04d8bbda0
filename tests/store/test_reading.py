from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podium.errors import InputError
from podium.store import reading
from podium.store.newest import newest
from podium.store.reading import load_records
from podium.store.record import Record
from podium.store.store import Store

Make = Callable[..., Record]
Bundled = list[Record]


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bundled:
    """Stand in for the bundled records, in an empty folder without a store variable."""
    kept: list[Record] = []
    monkeypatch.setattr(
        reading, "read_bundled", lambda task=None: [r for r in kept if task in (None, r.task)]
    )
    monkeypatch.delenv("PODIUM_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return kept


def filled(folder: Path, *records: Record) -> Path:
    store = Store(folder)
    for record in records:
        store.write(record)
    return folder


def test_local_records_join_the_bundled_ones(
    bundled: Bundled, toy_record: Make, tmp_path: Path
) -> None:
    bundled.append(toy_record("reference"))
    found = load_records(filled(tmp_path / "s", toy_record("mine")))
    assert {(r.entry, found.sources[r.identity]) for r in found.records} == {
        ("mine", "local"),
        ("reference", "bundled"),
    }
    assert (found.count("local"), found.count("bundled")) == (1, 1)
    assert found.store == tmp_path / "s"


def test_local_stands_before_bundled_even_if_older(
    bundled: Bundled, toy_record: Make, tmp_path: Path
) -> None:
    bundled.append(toy_record("a", value=0.1, finished="2026-06-01T00:00:00Z"))
    store = filled(tmp_path / "s", toy_record("a", value=0.9, finished="2026-01-01T00:00:00Z"))
    found = load_records(store)
    assert [r.metrics["auroc"].value for r in found.records] == [0.9]
    assert load_records(store, only="bundled").records[0].metrics["auroc"].value == 0.1


def test_a_skipped_run_never_hides_one_that_was_made(
    bundled: Bundled, toy_record: Make, tmp_path: Path
) -> None:
    bundled.append(toy_record("a"))
    skipped = toy_record("a", status="skipped", reason="needs tigramite")
    found = load_records(filled(tmp_path / "s", skipped, toy_record("b", status="skipped")))
    assert {r.entry: r.status for r in found.records} == {"a": "ok", "b": "skipped"}


@pytest.mark.parametrize("status", ["failed", "timeout", "out_of_memory", "invalid", "skipped"])
def test_a_local_run_without_a_score_leaves_the_bundled_one_standing(
    bundled: Bundled, toy_record: Make, tmp_path: Path, status: str
) -> None:
    bundled.extend([toy_record("a"), toy_record("b", status="failed", reason="bundled")])
    local = [toy_record(e, status=status, reason="local", key=f"{e}9") for e in ("a", "b")]
    store = filled(tmp_path / "s", *local)
    found = load_records(store)
    assert {r.entry: r.status for r in found.records}["a"] == "ok"
    assert [r.entry for r in found.displaced] == ["a"]
    assert found.count("bundled") == (2 if status == "skipped" else 1)
    alone = load_records(store, only="local")
    assert {r.status for r in alone.records} == {status}
    assert alone.displaced == ()


def test_the_newest_of_one_run_stands_also_within_a_second(toy_record: Make) -> None:
    old = toy_record(value=0.1, finished="2026-01-01T00:00:00Z")
    new = toy_record(value=0.2, finished="2026-01-01T00:00:00.500Z")
    assert newest([old, new]) == [new]
    assert newest([new, old]) == [new]
    skipped = toy_record(status="skipped", finished="2026-02-01T00:00:00Z")
    assert newest([new, skipped]) == [new]
    assert newest([skipped]) == [skipped]


def test_only_narrows(bundled: Bundled, toy_record: Make, tmp_path: Path) -> None:
    bundled.append(toy_record("reference"))
    store = filled(tmp_path / "s", toy_record("mine"))
    assert [r.entry for r in load_records(store, only="local").records] == ["mine"]
    only_bundled = load_records(store, only="bundled")
    assert [r.entry for r in only_bundled.records] == ["reference"]
    assert only_bundled.store is None
    unknown: Any = "remote"
    with pytest.raises(InputError, match="local, bundled"):
        load_records(store, only=unknown)


def test_other_versions_are_kept_apart(bundled: Bundled, toy_record: Make, tmp_path: Path) -> None:
    bundled.append(toy_record("old", task_version=1))
    store = filled(tmp_path / "s", toy_record("new", task_version=2))
    found = load_records(store)
    assert [r.entry for r in found.records] == ["new"]
    assert [r.entry for r in found.stale] == ["old"]
    found = load_records(store, versions={"toy": 1})
    assert [r.entry for r in found.records] == ["old"]
    assert [r.entry for r in found.stale] == ["new"]
    found = load_records(store, versions={"toy": 3})
    assert found.records == ()
    assert len(found.stale) == 2


def test_one_task_alone(bundled: Bundled, toy_record: Make, tmp_path: Path) -> None:
    bundled.append(toy_record("x", task="other"))
    store = filled(tmp_path / "s", toy_record("y", task="other"), toy_record("z"))
    assert {r.entry for r in load_records(store, task="other").records} == {"x", "y"}
    assert {r.entry for r in load_records(store).records} == {"x", "y", "z"}


@pytest.mark.usefixtures("bundled")
def test_where_the_store_is_looked_for(
    toy_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_records().store is None
    filled(tmp_path / "results", toy_record("default"))
    assert [r.entry for r in load_records().records] == ["default"]
    filled(tmp_path / "variable", toy_record("variable"))
    monkeypatch.setenv("PODIUM_STORE", str(tmp_path / "variable"))
    assert [r.entry for r in load_records().records] == ["variable"]
    filled(tmp_path / "given", toy_record("given"))
    assert [r.entry for r in load_records(tmp_path / "given").records] == ["given"]


def test_a_missing_store_is_said(
    bundled: Bundled, toy_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled.append(toy_record("reference"))
    with pytest.raises(InputError, match=r"nowhere: there is no store here"):
        load_records(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="found: a file"):
        load_records(tmp_path / "file")
    assert "no local store" in load_records(only="local").notices[0]
    monkeypatch.setenv("PODIUM_STORE", str(tmp_path / "later"))
    found = load_records()
    assert "no store yet" in found.notices[0]
    assert [r.entry for r in found.records] == ["reference"]


@pytest.mark.usefixtures("bundled")
def test_a_damaged_record_is_said_and_the_rest_is_read(
    toy_record: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = filled(tmp_path / "s", toy_record("a"), toy_record("b", key="other"))
    victim = min((store / "toy").glob("*.json"))
    victim.write_text('{"key": ')
    assert len(load_records(store).records) == 1
    assert victim.name in capsys.readouterr().err
