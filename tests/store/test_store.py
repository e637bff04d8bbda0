from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import InputError, MissingError
from podium.store.files import STALE_SECONDS
from podium.store.names import folder_name, record_name, slug
from podium.store.record import MetricValue, Record
from podium.store.store import Damaged, Store

MakeRecord = Callable[..., Record]
ROUND = "2026-01-01T00:00:00.000000Z"


@pytest.fixture
def damaged() -> list[Damaged]:
    return []


@pytest.fixture
def store(tmp_path: Path, damaged: list[Damaged]) -> Store:
    return Store(tmp_path / "results", on_damage=damaged.append)


def test_a_record_comes_back_as_it_was(store: Store, toy_record: MakeRecord) -> None:
    record = toy_record(curves={"step": [0.0, 1.0], "loss": [None, 0.1 + 0.2]})
    path = store.write(record)
    assert path.parent.name == record.task
    assert store.records() == store.records(record.task) == [record]
    assert store.finished(record.task) == {record.key: record.status}
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_predictions_lie_beside_with_their_digest(store: Store, toy_record: MakeRecord) -> None:
    arrays = {
        "file": np.arange(6.0).reshape(2, 3),  # a name that numpy.savez could not take
        "ids": np.array(["é", "b"]),
        "empty": np.zeros((0, 4), dtype="float16"),
    }
    stored = store.save(toy_record(), arrays)
    assert store.records() == [stored]
    found = store.prediction(stored)
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype

    again = store.save(toy_record(), arrays)
    assert again.predictions_sha256 == stored.predictions_sha256

    path = store.path_of(stored).with_suffix(".npz")
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(MissingError, match="changed"):
        store.prediction(stored)
    path.unlink()
    with pytest.raises(MissingError, match="missing"):
        store.prediction(stored)
    with pytest.raises(MissingError, match="no stored predictions"):
        store.prediction(toy_record())


def test_objects_are_never_written(store: Store, toy_record: MakeRecord) -> None:
    with pytest.raises(InputError, match="Python objects"):
        store.write(toy_record(), {"y": np.array([{}])})
    assert store.records() == []
    assert not [p for p in store.root.rglob("*") if p.is_file()]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "changes",
    [
        lambda v: {"metrics": {"auroc": MetricValue(value=v)}},
        lambda v: {"config": {"a": [1, {"b": v}]}},
        lambda v: {"curves": {"loss": [v]}},
    ],
)
def test_numbers_that_json_lacks_are_refused_by_name(
    store: Store, toy_record: MakeRecord, value: float, changes: Callable[[float], dict[str, Any]]
) -> None:
    with pytest.raises(InputError, match=r"record\.(metrics|config|curves)\..* is not finite"):
        store.write(toy_record(**changes(value)))
    assert not store.root.exists()


def test_files_are_strict_json(store: Store, toy_record: MakeRecord) -> None:
    path = store.write(toy_record(value=None))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(path.read_text(encoding="utf-8"), parse_constant=refuse)
    assert found["metrics"]["auroc"] == {"value": None, "reason": "one class only"}


def test_the_newest_stands_for_its_run(store: Store, toy_record: MakeRecord) -> None:
    old = toy_record(key="old", finished="2026-01-01T00:00:00.000001Z", status="failed")
    new = toy_record(key="new", finished="2026-01-01T00:00:00.000002Z")
    other = toy_record(key="other", seed=1)
    for record in (new, old, other):
        store.write(record)
    assert {r.key for r in store.records()} == {"new", "other"}
    assert store.finished() == {"new": "ok", "other": "ok"}
    assert [h.key for h in store.heads()] == [r.key for r in store.records()]
    assert [h.key_parts for h in store.heads()] == [r.key_parts for r in store.records()]


def test_a_skipped_run_hides_nothing(store: Store, toy_record: MakeRecord) -> None:
    done = toy_record(key="a" * 64, finished="2026-01-01T00:00:00.000000Z")
    skipped = {"status": "skipped", "reason": "no package", "metrics": {}}
    later = "2026-01-02T00:00:00.000000Z"
    store.write(done)
    store.write(toy_record(key="a" * 64, finished=later, **skipped))
    assert store.records() == [done]
    store.write(toy_record(key="b" * 64, finished=later, **skipped))
    assert store.records() == [done]
    assert store.finished(done.task) == {done.key: "ok"}


def test_one_key_has_one_file(store: Store, toy_record: MakeRecord) -> None:
    store.write(toy_record(status="failed"))
    store.write(toy_record(finished="9" + ROUND[1:]))
    assert [r.status for r in store.records()] == ["ok"]
    assert len(list(store.root.rglob("*.json"))) == 1


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": NaN}', "\0\0\0", '{"schema": 1}'])
def test_a_damaged_file_is_reported_once_and_stops_nothing(
    store: Store, toy_record: MakeRecord, damaged: list[Damaged], text: str
) -> None:
    kept, broken = toy_record(), toy_record(seed=1)
    store.write(kept)
    path = store.write(broken)
    path.write_text(text)
    assert store.records() == [kept]
    assert store.finished() == {kept.key: "ok"}
    assert [d.path for d in damaged] == [path]
    assert damaged[0].reason


def test_damage_is_told_on_standard_error_by_default(
    tmp_path: Path, toy_record: MakeRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Store(tmp_path).write(toy_record())
    path.write_text("{")
    assert Store(tmp_path).records() == []
    told = capsys.readouterr().err
    assert str(path) in told
    assert "delete the file" in told


def test_half_written_files_are_ignored_and_cleared_when_stale(
    store: Store, toy_record: MakeRecord, damaged: list[Damaged]
) -> None:
    path = store.write(toy_record())
    fresh, stale = path.parent / ".0123.tmp", path.parent / ".4567.tmp"
    for file in (fresh, stale):
        file.write_text('{"key": ')
    past = time.time() - STALE_SECONDS - 1
    os.utime(stale, (past, past))
    store.prepare()
    assert fresh.exists()
    assert not stale.exists()
    assert len(store.records()) == 1
    assert damaged == []


def test_an_empty_or_missing_store_reads_as_empty(store: Store) -> None:
    assert store.records() == []
    assert store.heads("x") == []
    assert store.finished() == {}
    store.root.mkdir()
    (store.root / "README").touch()
    assert store.records() == []


AWKWARD = ["x" * 300, "🏆" * 100, "con", "../../etc/passwd", "a/b", "", ".", "-", "é", "a\0b"]


@pytest.mark.parametrize("name", AWKWARD)
def test_any_name_can_be_stored(store: Store, toy_record: MakeRecord, name: str) -> None:
    names = {"task": name, "entry": name, "problem": name, "key": name}
    path = store.write(toy_record(**names))
    assert path.resolve().is_relative_to(store.root.resolve())
    assert len(path.relative_to(store.root).parts) == 2
    assert max(len(part.encode()) for part in path.relative_to(store.root).parts) < 120
    assert path.relative_to(store.root).as_posix().isascii()
    assert len(store.records(name)) == 1


def test_awkward_names_do_not_meet() -> None:
    assert len({folder_name(name) for name in AWKWARD}) == len(AWKWARD)
    assert len({record_name("p", "e", 0, key) for key in AWKWARD}) == len(AWKWARD)
    assert folder_name("granger_recovery") == "granger_recovery"
    assert folder_name("CON") != "CON"


@given(st.text(), st.text(), st.integers(), st.text())
def test_file_names_are_short_and_plain(problem: str, entry: str, seed: int, key: str) -> None:
    for name in (f"{record_name(problem, entry, seed, key)}.json", folder_name(problem)):
        assert name.isascii()
        assert 0 < len(name) < 120
        assert not set(name) & set('/\\:*?"<>| \0')
        assert not name.startswith(".")
    assert len(slug(problem, 10)) <= 10


def test_text_that_is_no_unicode_is_refused(store: Store, toy_record: MakeRecord) -> None:
    with pytest.raises(InputError, match="not valid Unicode"):
        store.write(toy_record(reason="\ud800"))
    assert store.records() == []


def test_a_plain_locale_is_enough(tmp_path: Path) -> None:
    folder = tmp_path / "réc🏆"
    code = (
        "import sys, msgspec\n"
        "from podium.store.store import Store\n"
        "from podium.store.record import Record\n"
        "record = msgspec.json.decode(sys.stdin.buffer.read(), type=Record)\n"
        f"store = Store({str(folder)!r})\n"
        "store.write(record)\n"
        "assert store.records() == [record]\n"
    )
    record = {**_FIELDS, "entry": "né🏆", "reason": "ünïcode"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(record).encode(),
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert Store(folder).records()[0].reason == "ünïcode"


_FIELDS: dict[str, Any] = {
    "key": "k",
    "key_parts": {},
    "task": "t",
    "task_version": 1,
    "problem": "p",
    "tier": "smoke",
    "entry": "e",
    "entry_id": "e",
    "kind": "baseline",
    "origin": "o",
    "config": {},
    "params": {},
    "seed": 0,
    "device": "cpu",
    "status": "ok",
    "started": ROUND,
    "finished": ROUND,
    "provenance": {
        "podium": "0",
        "commit": None,
        "dirty": None,
        "python": "3",
        "platform": "Linux",
        "packages": {},
        "processor": "",
        "gpu": None,
        "threads": 1,
        "argv": [],
    },
}

WRITER = """
import sys, json, msgspec
import numpy as np
from podium.store.store import Store
from podium.store.record import Record
number, root, fields = int(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
store = Store(root)
for i in range(25):
    own = {**fields, "key": f"{number}-{i}", "entry": f"e{number}", "seed": i}
    store.write(msgspec.convert(own, Record), {"y": np.full(50, number)})
    shared = {**fields, "key": f"shared-{i}", "entry": "shared", "seed": i, "reason": "x" * 3000}
    store.write(msgspec.convert(shared, Record))
"""


def test_eight_processes_write_one_store(store: Store, damaged: list[Damaged]) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(n), str(store.root), json.dumps(_FIELDS)]
        )
        for n in range(8)
    ]
    while any(w.poll() is None for w in writers):
        store.records()  # reading meanwhile sees whole files only
        time.sleep(0.05)
    assert [w.returncode for w in writers] == [0] * 8
    records = store.records()
    assert damaged == []
    assert len(records) == 9 * 25
    for record in records[::20]:
        if record.entry != "shared":
            assert store.prediction(record)["y"][0] == int(record.entry[1:])
    assert not list(store.root.rglob(".*.tmp"))


def test_a_store_that_cannot_be_written_says_what_to_do(
    tmp_path: Path, toy_record: MakeRecord
) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "results")
    for act in (store.prepare, lambda: store.write(toy_record())):
        with pytest.raises(MissingError) as caught:
            act()
        assert str(store.root) in str(caught.value)
        assert "--store" in str(caught.value)


def mounted(folder: Path, options: str) -> bool:
    """Mount a disk in memory, where that is allowed."""
    folder.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", options, "podium-test", str(folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_a_read_only_disk_says_what_to_do(tmp_path: Path, toy_record: MakeRecord) -> None:
    disk = tmp_path / "disk"
    if not mounted(disk, "ro"):
        pytest.skip("mounting a disk needs root")
    try:
        for act in (Store(disk).prepare, lambda: Store(disk).write(toy_record())):
            with pytest.raises(MissingError, match="Read-only file system") as caught:
                act()
            assert "--store" in str(caught.value)
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, toy_record: MakeRecord) -> None:
    disk = tmp_path / "disk"
    if not mounted(disk, "size=64k"):
        pytest.skip("mounting a disk needs root")
    try:
        store = Store(disk)
        first = toy_record()
        store.write(first)

        def fill() -> None:
            for seed in range(1, 200):
                store.write(toy_record(seed=seed, reason="x" * 2000))

        with pytest.raises(MissingError) as caught:
            fill()
        assert "disk is full" in str(caught.value)
        assert str(disk) in str(caught.value)
        before = store.records()
        assert first in before
        # Replacing a record and writing large predictions fail as cleanly.
        with pytest.raises(MissingError, match="disk is full"):
            store.write(msgspec.structs.replace(first, reason="y" * 30_000))
        with pytest.raises(MissingError, match="disk is full"):
            store.write(toy_record(seed=999), {"y": np.zeros(100_000)})
        assert store.records() == before
        assert not list(disk.rglob(".*.tmp"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_failed_sync_leaves_what_was_there(
    store: Store, toy_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = toy_record()
    store.write(first)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("podium.store.files.os.fsync", full)
    with pytest.raises(MissingError, match="disk is full"):
        store.write(msgspec.structs.replace(first, status="failed"))
    assert store.records() == [first]
    assert not list(store.root.rglob(".*.tmp"))
