"""Files that an entry declares, and what it cannot have."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from podium.declarations.task import FileSpec, TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.execute import execute
from podium.store.record import Provenance, Record

SCALED = """
def run(problem, context):
    factor = float(context.files.path("factor.txt").read_text())
    return {"y": factor * problem.public["x"]}
"""
ASKS = """
from podium.errors import MissingError
def run(problem, context):
    raise MissingError("no model 'big'", found="nobody answers", fix="name another")
"""
CONTENT = b"2.0"
FACTOR = FileSpec(name="factor.txt", sha256=hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no network, and a data folder."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_a_declared_file_is_handed_out_and_recorded(
    make_spec: Callable[..., RunSpec],
    run_them: Callable[..., list[Record]],
    surroundings: Path,
) -> None:
    (surroundings / "factor.txt").write_bytes(CONTENT)
    (record,) = run_them(replace(make_spec(SCALED), files=(FACTOR,)))
    assert (record.status, record.reason) == ("ok", None)
    assert record.metrics["error"].value == 0
    assert [(d.name, d.sha256) for d in record.data] == [("factor.txt", FACTOR.sha256)]


def test_a_run_whose_file_cannot_be_had_is_skipped(
    make_spec: Callable[..., RunSpec], make_task: Callable[..., TaskSpec], origin: Provenance
) -> None:
    spec = replace(make_spec(SCALED), files=(FACTOR,))
    record, prediction, _ = execute(spec, make_task(), provenance=origin)
    assert record.status == "skipped"
    assert prediction is None
    assert record.reason is not None
    assert "'factor.txt' cannot be found" in record.reason
    assert "put the file at $PODIUM_DATA/factor.txt" in record.reason


def test_a_method_that_lacks_a_service_is_skipped(
    make_spec: Callable[..., RunSpec], make_task: Callable[..., TaskSpec], origin: Provenance
) -> None:
    record, *_ = execute(make_spec(ASKS), make_task(), provenance=origin)
    assert record.status == "skipped"
    assert record.reason == "no model 'big'; fix: name another"
    assert record.traceback is not None
    assert "found: nobody answers" in record.traceback
