"""Closed streams, full devices, homes that are not there: a message each, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from podium.cli.doctor import doctor
from podium.data.cache import cache_folder
from podium.errors import InputError, MissingError
from podium.paths import expanded
from podium.registry.registry import load_registry

RUN = "run granger_recovery --tier smoke --problems var3-d5-smoke --entries correlation --seeds 1"


def shell(command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``podium`` with the redirections of a shell."""
    return subprocess.run(
        ["bash", "-c", f"{sys.executable} -m podium {command}"],
        cwd=cwd,
        env={**os.environ, "PODIUM_NO_PLUGINS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_change_nothing(closed: str, tmp_path: Path) -> None:
    done = shell(f"{RUN} --force {closed}", tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert len(list(tmp_path.glob("results/*/*.json"))) == 1


def test_an_output_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    done = shell("list > /dev/full", tmp_path)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "error: the output cannot be written: No space left on device"
    ]


ENCODINGS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "utf-8"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("environment", ENCODINGS)
def test_letters_that_the_output_lacks_are_escaped(
    environment: dict[str, str], tmp_path: Path
) -> None:
    store = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xf0\x9f\x93\x8a")
    done = shell(f'{RUN} --store "$STORE"', tmp_path, **environment, STORE=store)
    assert done.returncode == 0, done.stderr
    assert "records: " in done.stdout
    done = shell(f'{RUN} --store "$STORE" --json', tmp_path, **environment, STORE=store)
    assert (done.returncode, json.loads(done.stdout)["ran"]) == (0, 0)


@pytest.mark.parametrize("command", ["--version", "list --json", "info granger_recovery"])
def test_a_reader_that_leaves_is_no_fault(command: str, tmp_path: Path) -> None:
    done = shell(f"{command} | true", tmp_path)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("show granger_recovery --store '~nosuch/x'", {}),
        (RUN + " --store '~nosuch/x'", {}),
        ("claims", {"PODIUM_STORE": "~nosuch/x"}),
        ("list", {"PODIUM_CACHE": "~nosuch/x"}),
        ("run granger_recovery --entry '~nosuch/x'", {}),
        ("check '~nosuch/x'", {}),
        ("new method mine --task granger_recovery --folder '~nosuch/x'", {}),
    ],
)
def test_a_home_that_does_not_exist_is_named(
    command: str, environment: dict[str, str], tmp_path: Path
) -> None:
    done = shell(command, tmp_path, **environment)
    assert done.returncode == 2, done.stderr
    assert "this home folder does not exist" in done.stderr
    assert "found: ~nosuch/x" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_path_without_a_home_stays_as_it_is() -> None:
    assert expanded("a/~b", where="--store") == Path("a/~b")
    assert expanded("~/a", where="--store") == Path.home() / "a"
    with pytest.raises(InputError, match="--store: this home folder"):
        expanded("~nosuch", where="--store")


def test_an_account_without_a_home_can_do_all_but_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("PODIUM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert "granger_recovery" in load_registry(plugins=False).tasks
    with pytest.raises(MissingError, match="PODIUM_CACHE"):
        cache_folder()
    assert doctor(store=tmp_path, as_json=False) == 3
    assert "set PODIUM_CACHE" in capsys.readouterr().out


def test_doctor_finds_what_runs_find(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("ot")  # its distribution is named otherwise: POT
    doctor(store=tmp_path, as_json=False)
    assert "entry pot_" not in capsys.readouterr().out
