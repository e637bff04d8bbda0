"""Entries that spoil their own process, or the one they were forked from: each is its own loss."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.declarations.task import TaskSpec
from podium.errors import MissingError
from podium.plan.spec import RunSpec
from podium.runner import supervisor
from podium.runner.local import run_all
from podium.store.record import Provenance, Record
from podium.store.store import Store

MakeSpec = Callable[..., RunSpec]
RunThem = Callable[..., list[Record]]
RETURN = 'return {"y": 2 * p.public["x"]}'


@pytest.fixture
def run_in(
    make_task: Callable[..., TaskSpec], origin: Provenance
) -> Callable[[Store, list[RunSpec]], list[Record]]:
    def go(store: Store, specs: list[RunSpec]) -> list[Record]:
        return run_all(specs, {"tiny": make_task()}, store, jobs=1, provenance=origin)

    return go


def hostile(body: str) -> str:
    return f"import os, resource, signal, sys\n\ndef run(p, c):\n    {body}\n    {RETURN}\n"


@pytest.mark.parametrize(
    "body",
    [
        "os.chdir(c.scratch); os.rmdir(c.scratch)",
        "sys.stdout.close(); sys.stderr.close(); sys.__stdout__.close(); sys.__stderr__.close()",
        "os.close(0); os.close(1); os.close(2)",
        "os.umask(0o777)",
    ],
)
def test_a_spoilt_process_still_stores_its_result(
    body: str,
    make_spec: MakeSpec,
    run_in: RunThem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store("results")
    (record,) = run_in(store, [make_spec(hostile(body))])
    assert (record.status, record.reason) == ("ok", None)
    assert store.records() == [record]
    mask = os.umask(0o022)
    os.umask(mask)
    assert store.path_of(record).stat().st_mode & 0o777 == 0o666 & ~mask


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))", "the disk is full"),
        ("c.log(1, **{'\\ud800': 1.0})", "not valid Unicode"),
    ],
)
def test_a_record_its_own_process_cannot_write_is_a_failed_run_and_no_more(
    body: str, said: str, make_spec: MakeSpec, run_in: RunThem, tmp_path: Path
) -> None:
    store = Store(tmp_path / "results")
    specs = [make_spec(hostile(body)), make_spec(hostile("pass"))]
    records = run_in(store, specs)
    assert [r.status for r in records] == ["failed", "ok"]
    assert records[0].reason is not None
    assert records[0].reason.startswith("its record could not be stored")
    assert said in records[0].reason
    assert str(tmp_path) not in records[0].reason
    assert {r.key: r for r in store.records()} == {r.key: r for r in records}


def test_a_store_that_goes_away_is_no_fault_of_the_run(
    make_spec: MakeSpec, run_in: RunThem, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    body = f"import shutil; shutil.rmtree({str(root)!r}); open({str(root)!r}, 'w').close()"
    with pytest.raises(MissingError, match="cannot be written"):
        run_in(Store(root), [make_spec(hostile(body))])


@pytest.mark.parametrize("ending", ["", "; os.kill(os.getpid(), signal.SIGSTOP)"])
def test_a_stopped_fork_server_goes_on(
    ending: str,
    make_spec: MakeSpec,
    run_in: RunThem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "_EXIT_SECONDS", 0.3)
    stops = hostile("os.kill(os.getppid(), signal.SIGSTOP)" + ending)
    specs = [make_spec(stops, time_limit=1.0), make_spec(hostile("pass"))]
    records = run_in(Store(tmp_path / "results"), specs)
    assert [r.status for r in records] == ["timeout" if ending else "ok", "ok"]
