"""What the reading verbs say where runs, data or records are missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.cli import claims as claims_module
from podium.cli import selection
from podium.cli.claims import claims
from podium.cli.listing import info
from podium.cli.output import counted
from podium.cli.show import show
from podium.cli.tables import reason
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.plan.spec import Location
from podium.registry.model import Task
from podium.registry.registry import Registry, load_registry
from podium.runner.faults import REASON_LENGTH, with_fix
from podium.store import reading
from podium.store.record import Record
from podium.store.store import Store

Make = Callable[..., Record]
MakeTask = Callable[..., TaskSpec]
Capture = pytest.CaptureFixture[str]
CLAIMS = [
    {
        "id": name,
        "statement": f"{name} holds.",
        "source": "a paper",
        "left": "ours",
        "right": right,
        "metric": "auroc",
        "problems": ["p1"],
        "at_least": 0.1,
        "min_seeds": 2,
    }
    for name, right in (("first", "theirs"), ("second", "nobody"), ("third", "nobody"))
]


@pytest.fixture
def bundled(
    toy_task: MakeTask, toy_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[Record]:
    """Two bundled entries on p1, two seeds each; two problems in the tier."""
    task = toy_task(claims=CLAIMS)
    at = Location(package=None, folder=str(tmp_path))
    registry = Registry(
        tasks={"toy": Task(spec=task, at=at, origin="podium")}, entries={}, suites={}, broken=()
    )
    for module in (selection, claims_module):
        monkeypatch.setattr(module, "load_registry", lambda *_: registry)
    records = [
        toy_record(entry, "p1", s, value + s / 100, key=f"{entry}{s}")
        for entry, value in (("ours", 0.9), ("theirs", 0.5))
        for s in range(2)
    ]
    monkeypatch.setattr(reading, "read_bundled", lambda _task=None: records)
    monkeypatch.setenv("COLUMNS", "200")
    return records


@pytest.mark.usefixtures("bundled")
def test_a_failed_local_run_is_named_below_the_table(
    toy_record: Make, tmp_path: Path, capsys: Capture
) -> None:
    local = Store(tmp_path / "results")
    local.write(toy_record("ours", "p1", 0, status="failed", reason="ValueError: no", key="x"))
    show("toy", store=local.root)
    out = capsys.readouterr().out
    assert "1 local run without a score; the bundled one stands" in out
    assert "ValueError" not in out
    claims("toy", store=local.root)
    assert "1 local run without a score; the bundled one stands" in capsys.readouterr().out


@pytest.mark.usefixtures("bundled")
def test_the_title_says_how_many_of_the_problems_count(capsys: Capture) -> None:
    show("toy")
    out = capsys.readouterr().out
    assert "mean over 1 of the tier's 2 problems" in out
    assert "are not ranked" not in out


@pytest.mark.usefixtures("bundled")
def test_claims_without_records_are_not_measured(capsys: Capture, tmp_path: Path) -> None:
    claims("toy", only="local", store=_empty(tmp_path))
    out = capsys.readouterr().out
    assert "Not measured, no records of their runs: first, second, third." in out
    assert "inconclusive" not in out
    assert "first holds." not in out
    claims("toy")
    out = capsys.readouterr().out
    assert "first holds. (a paper)" in out
    assert "inconclusive: no records of nobody" in out
    assert "ot measured" not in out


def _empty(folder: Path) -> Path:
    (folder / "empty").mkdir()
    return folder / "empty"


def test_a_long_reason_keeps_its_whole_fix() -> None:
    fix = "put them at $PODIUM_DATA/" + " and $PODIUM_DATA/".join(f"{n}/data.csv" for n in "abcdef")
    line = with_fix("no file " * 100, fix)
    assert line.endswith(f"; fix: {fix}")
    assert len(line) <= REASON_LENGTH
    shown = reason(line)
    assert shown.endswith(f"...; fix: {fix}")
    assert len(shown) < len(line)


@pytest.mark.usefixtures("bundled")
def test_a_wrong_metric_or_problem_says_where_to_look() -> None:
    with pytest.raises(InputError) as caught:
        show("toy", metric="xyz")
    assert caught.value.fix == "podium info toy"
    with pytest.raises(InputError) as caught:
        show("toy", problems=["p2"], tier="smoke")
    assert caught.value.what == "problem 'p2' of 'toy' is not in tier 'smoke'"
    assert caught.value.expected == "--tier small"


def test_info_lists_the_costs_as_metrics(capsys: Capture) -> None:
    info("gcd_accuracy", as_json=False)
    out = capsys.readouterr().out
    for name in ("cpu_seconds", "wall_seconds", "peak_bytes"):
        assert name in out
    assert "integers of another size are taken" in out


def test_a_name_after_new_gets_the_whole_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "podium", "new", "my-foo"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "fix: podium new method my-foo --task TASK" in done.stderr


def test_info_of_a_problem_names_its_task() -> None:
    task = next(iter(load_registry(plugins=False).tasks.values())).spec
    with pytest.raises(InputError) as caught:
        info(task.problems[0].id, as_json=False)
    assert caught.value.what == f"{task.problems[0].id!r} is a problem of {task.id}"
    assert caught.value.fix == f"podium info {task.id}"


@pytest.mark.parametrize(("number", "text"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs")])
def test_counts_agree_with_their_nouns(number: int, text: str) -> None:
    assert counted(number, "run") == text


@pytest.mark.usefixtures("bundled")
def test_the_table_says_what_its_seconds_are(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    show("toy")
    assert "s/run: the method alone" in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "60")
    show("toy")
    assert "s/run: the method alone" not in capsys.readouterr().out
