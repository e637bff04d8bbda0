from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import InputError, MissingError
from podium.store.record import MetricValue, Record
from podium.store.snapshot import (
    bundle,
    main,
    public_record,
    read_bundled,
    read_snapshot,
    without_paths,
)
from podium.store.store import Store

Make = Callable[..., Record]
# Written apart from the code under test: what must never be seen in a bundled record.
PRIVATE = re.compile(r"/(home|root|tmp|work|mnt|Users|private|var|opt|srv|usr)\b|[A-Z]:\\|~/")


def test_records_come_back_as_they_were(toy_record: Make, tmp_path: Path) -> None:
    value = 0.1 + 0.2  # 17 digits
    kept = [
        toy_record("b", seed=1, value=value),
        toy_record("a", seed=0, value=None, status="failed", reason="ValueError: no"),
        toy_record("b", "p2", 0, data=({"name": "x.npy", "sha256": "0" * 64},)),
    ]
    kept = msgspec.convert(msgspec.to_builtins(kept), list[Record])
    path = tmp_path / "toy.jsonl"
    assert bundle(kept, path) == 3
    found = read_snapshot(path)
    assert sorted(found, key=lambda r: r.identity) == found
    assert {r.identity: r for r in found} == {r.identity: r for r in kept}
    assert next(r for r in found if r.seed == 1).metrics["auroc"].value == value


def test_lines_are_strict_json_and_do_not_depend_on_order(toy_record: Make, tmp_path: Path) -> None:
    kept = [toy_record(e, "p1", s) for e in ("é", "b") for s in range(3)]
    bundle(kept, tmp_path / "one.jsonl")
    bundle(kept[::-1], tmp_path / "two.jsonl")
    text = (tmp_path / "one.jsonl").read_bytes()
    assert text == (tmp_path / "two.jsonl").read_bytes()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    lines = text.decode().splitlines()
    assert len(lines) == 6
    for line in lines:
        assert json.loads(line, parse_constant=refuse)["task"] == "toy"


def test_private_and_bulky_things_are_left_out(toy_record: Make) -> None:
    provenance = msgspec.structs.replace(
        toy_record().provenance, argv=("/home/me/.venv/bin/podium", "run", "--store=/tmp/x/y")
    )
    record = toy_record(
        status="failed",
        origin="/home/me/my methods/mine",
        reason="FileNotFoundError: '/root/a b/data.npy' is missing",
        traceback='  File "/srv/x/method.py", line 3, in run\n    open("/tmp/a")',
        config={"weights": "/mnt/weights/w.bin", "nested": [{"path": "~/secret/p"}]},
        curves={"step": [1.0], "loss": [0.5]},
        predictions="p1-ours-s0.npz",
        predictions_sha256="f" * 64,
        provenance=provenance,
    )
    text = msgspec.json.encode(public_record(record)).decode()
    assert not PRIVATE.search(text)
    found = public_record(record)
    assert found.curves == {}
    assert (found.predictions, found.predictions_sha256) == (None, "f" * 64)
    assert found.reason == "FileNotFoundError: 'data.npy' is missing"
    assert found.provenance.argv == ("podium", "run", "--store=y")
    assert found.traceback is not None
    assert 'File "method.py", line 3' in found.traceback
    assert found.config["weights"] == "w.bin"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10 samples/s", "10 samples/s"),
        ("a / b and c/d", "a / b and c/d"),
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("granger_recovery/lorenz96-d10", "granger_recovery/lorenz96-d10"),
        ("relative/path/file.py:3", "relative/path/file.py:3"),
        ("/a/b/c.py:3: bad", "c.py:3: bad"),
        ("in /tmp: full", "in tmp: full"),
        ("(/home/x/y.npz)", "(y.npz)"),
        (r"C:\Users\me\x.py failed", "x.py failed"),
        ("file:///home/me/x.py", "x.py"),
        ("--store=/home/me/results", "--store=results"),
        ("PATH:/home/me/bin:/root", "PATH:bin:root"),
        ("-I/usr/include/x", "-Ix"),
        ("~me/secret and ~/secret", "secret and secret"),
        (r"'\alpha' and '/home/a b/c d'", r"'\alpha' and 'c d'"),
        ("http://localhost:8080/a/b", "http://localhost:8080/a/b"),
        ("", ""),
    ],
)
def test_absolute_paths_are_cut_and_nothing_else(text: str, expected: str) -> None:
    assert without_paths(text) == expected


@given(st.lists(st.from_regex(r"[a-zA-Z0-9_.-]{1,8}", fullmatch=True), min_size=2, max_size=6))
def test_only_the_last_part_of_any_path_remains(parts: list[str]) -> None:
    path = "/" + "/".join(parts)
    assert without_paths(f"open {path} failed") == f"open {parts[-1]} failed"
    assert without_paths(without_paths(path)) == without_paths(path)


def test_what_cannot_be_one_snapshot_is_refused(toy_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    with pytest.raises(InputError, match="no records"):
        bundle([], path)
    with pytest.raises(InputError, match="other v2, toy v2"):
        bundle([toy_record(), toy_record(task="other")], path)
    with pytest.raises(InputError, match="toy v1, toy v2"):
        bundle([toy_record(), toy_record("b", task_version=1)], path)
    with pytest.raises(InputError, match="two records are of one run"):
        bundle([toy_record(), toy_record()], path)
    with pytest.raises(InputError, match="not finite"):
        bundle([toy_record(metrics={"auroc": MetricValue(value=float("inf"))})], path)
    assert not path.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError):
        bundle([toy_record()], tmp_path / "file" / "toy.jsonl")


def test_a_damaged_line_is_named(toy_record: Make, tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    bundle([toy_record(), toy_record("b")], path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"toy\.jsonl, line 2"):
        read_snapshot(path)


def test_the_command_bundles_the_newest_version(
    toy_record: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path / "s")
    for record in (
        toy_record("old", task_version=1, key="1"),
        toy_record("a", key="2"),
        toy_record("b", tier="smoke", key="3"),
    ):
        store.write(record)
    output = tmp_path / "toy.jsonl"
    given = ["--store", str(store.root), "--task", "toy", "--output", str(output)]
    assert main(given) == 0
    assert {r.entry for r in read_snapshot(output)} == {"a", "b"}
    assert main([*given, "--tier", "small"]) == 0
    assert {r.entry for r in read_snapshot(output)} == {"a"}
    assert "1 records of toy v2 (1 earlier ones are gone)" in capsys.readouterr().out
    assert main(["--store", str(tmp_path / "no"), "--task", "toy"]) == 2
    assert "no store here" in capsys.readouterr().err


def test_committed_snapshots_are_readable_and_name_no_machine() -> None:
    folder = files("podium.leaderboard") / "snapshot"
    for item in folder.iterdir():
        if not item.name.endswith(".jsonl"):
            continue
        text = item.read_bytes().decode()
        assert not PRIVATE.search(text), item.name
        found = read_bundled(item.name.removesuffix(".jsonl"))
        assert {r.task for r in found} == {item.name.removesuffix(".jsonl")}
        assert found == sorted(found, key=lambda r: r.identity)
        assert all(not r.curves and r.predictions is None for r in found)
