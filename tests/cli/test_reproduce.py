"""``podium reproduce`` where the store holds more than can be run again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

METHOD = """\
def run(problem, context, *, scale: float = 1.0):
    variables = problem.public["series"].shape[1]
    return {"scores": scale * context.rng("scores").random((variables, variables))}
"""
TOML = 'id = "{id}"\nkind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["granger_recovery"]\n'
CHOICE = ("granger_recovery", "--tier", "smoke")


def podium(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=cwd,
        env={**os.environ, "PODIUM_NO_PLUGINS": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a method of its own and results of it and of a control."""
    root = tmp_path_factory.mktemp("reproduce")
    (root / "mine").mkdir()
    (root / "mine" / "entry.toml").write_text(TOML.format(id="mine"), encoding="utf-8")
    (root / "mine" / "method.py").write_text(METHOD, encoding="utf-8")
    for extra in ((), ("--set", "mine.scale=2.0")):
        done = podium(
            *("run", *CHOICE, "--problems", "var3-d5-smoke", "--seeds", "1"),
            *("--entry", "mine", "--entries", "correlation", *extra),
            cwd=root,
        )
        assert done.returncode == 0, done.stderr
    return root


def test_an_entry_that_is_not_here_keeps_no_other_from_being_run(place: Path) -> None:
    done = podium("reproduce", *CHOICE, "--json", cwd=place)
    assert done.returncode == 1
    assert [(o["entry"], o["agrees"]) for o in json.loads(done.stdout)] == [("correlation", True)]
    assert "1 not run again: mine: unknown entry 'mine'" in done.stderr
    alone = podium("reproduce", *CHOICE, "--entries", "mine", cwd=place)
    assert alone.returncode == 2
    assert "--entry PATH" in alone.stderr


def test_a_method_added_by_its_folder_is_repeated_with_what_was_set(place: Path) -> None:
    done = podium("reproduce", *CHOICE, "--entry", "mine", "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {o["entry"] for o in found} == {"correlation", "mine", "mine[scale=2.0]"}
    assert all(o["agrees"] for o in found)


def test_an_argument_that_is_gone_is_named(place: Path, tmp_path: Path) -> None:
    other = tmp_path / "mine"
    other.mkdir()
    (other / "entry.toml").write_text(TOML.format(id="mine"), encoding="utf-8")
    (other / "method.py").write_text(METHOD.replace("scale", "factor"), encoding="utf-8")
    done = podium("reproduce", *CHOICE, "--entry", str(other), "--json", cwd=place)
    assert done.returncode == 1
    assert "unknown argument 'scale'" in done.stderr
    agrees = {o["entry"]: o["agrees"] for o in json.loads(done.stdout)}
    assert agrees == {"correlation": True, "mine": True}


def test_one_folder_named_twice_is_one_entry(place: Path) -> None:
    done = podium(
        *("run", *CHOICE, "--problems", "var3-d5-smoke", "--seeds", "1"),
        *("--entry", "mine", "--entry", "./mine/entry.toml", "--json"),
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    assert [r["entry"] for r in json.loads(done.stdout)["runs"]] == ["mine"]


@pytest.mark.parametrize("option", ["--store", "--entry"])
def test_an_empty_path_is_refused(place: Path, option: str) -> None:
    done = podium("run", *CHOICE, option, "", cwd=place)
    assert done.returncode == 2
    assert "empty text" in done.stderr


@pytest.mark.parametrize("choice", [("--tier", "huge"), ("--problems", "var3")])
def test_unknown_names_are_named(place: Path, choice: tuple[str, str]) -> None:
    done = podium("reproduce", "granger_recovery", *choice, cwd=place)
    assert done.returncode == 2
    assert "unknown" in done.stderr
