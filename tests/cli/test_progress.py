"""What a person sees while runs are going on: what runs, what is left, and how long."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from podium.cli.progress import Forecast, _Lines, duration
from podium.plan.planner import Request, plan
from podium.plan.spec import RunSpec
from podium.registry.registry import load_registry
from podium.runner.local import Event

COMMAND = [
    *(sys.executable, "-m", "podium", "run", "granger_recovery", "--tier", "smoke"),
    *("--problems", "var3-d5-smoke", "--entries", "random_scores,correlation", "--seeds", "2"),
]


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time, "monotonic", made.monotonic)
    return made


def specs(seeds: int) -> list[RunSpec]:
    request: dict[str, Any] = {
        "tasks": ("granger_recovery",),
        "tier": "smoke",
        "problems": ("var3-d5-smoke",),
        "entries": ("random_scores",),
        "seeds": tuple(range(seeds)),
    }
    return plan(load_registry(plugins=False), Request(**request))


def test_time_left_is_that_of_runs_alike_shared_among_workers(clock: Clock) -> None:
    runs = specs(5)
    forecast = Forecast(runs, workers=2)
    assert forecast.seconds_left() is None
    forecast.begin(runs[0])
    clock.now += 10.0
    assert forecast.end(runs[0]) == 10.0
    assert forecast.seconds_left() == 20.0  # four runs of 10 s on two workers
    forecast.begin(runs[1])
    clock.now += 4.0
    assert forecast.seconds_left() == 18.0  # one of them has 6 s to go
    clock.now += 100.0
    assert forecast.seconds_left() == 15.0  # one that takes longer than expected counts as due
    for run in runs[1:]:
        forecast.end(run)
    assert forecast.seconds_left() == 0.0
    assert forecast.done == forecast.total == 5


def test_one_long_run_is_not_shared(clock: Clock) -> None:
    runs = specs(2)
    forecast = Forecast(runs, workers=8)
    forecast.begin(runs[0])
    clock.now += 10.0
    forecast.end(runs[0])
    assert forecast.seconds_left() == 10.0


def test_durations_are_for_people() -> None:
    shown = [duration(s) for s in (0.41, 12.4, 200.0, 7500.0)]
    assert shown == ["0.4 s", "12 s", "3 min 20 s", "2 h 5 min"]


def test_without_a_terminal_there_is_one_plain_line_a_run(tmp_path: Path) -> None:
    done = subprocess.run(
        COMMAND, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 4
    for number, line in enumerate(lines, start=1):
        pattern = rf"\[{number}/4\] \w+ on var3-d5-smoke, seed [01]: auroc 0\.\d{{4}} \(.* s.*\)"
        assert re.fullmatch(pattern, line), line
    assert "\x1b" not in done.stderr + done.stdout


def test_on_a_terminal_there_is_a_live_display(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        COMMAND,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(theirs)
    seen = b""
    # The kernel says so (EIO) once nobody holds the other end any more.
    try:
        while chunk := os.read(ours, 65536):
            seen += chunk
    except OSError:
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 0
    text = seen.decode()
    assert "all runs" in text
    assert "\x1b[" in text
    assert text.count("on var3-d5-smoke, seed") >= 4


def test_a_download_is_said_once_and_a_methods_notes_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs = specs(2)
    lines = _Lines(Forecast(runs, workers=1), {})
    for run in runs:
        lines.hear(Event(kind="started", spec=run, attempt=1))
        lines.hear(Event(kind="phase", spec=run, note="build"))
        lines.hear(Event(kind="progress", spec=run, done=0, total=1, note="pip fetches x==1"))
        lines.hear(Event(kind="phase", spec=run, note="method"))
        lines.hear(Event(kind="progress", spec=run, done=0, total=1, note="step"))
    assert capsys.readouterr().err == "pip fetches x==1...\n"
