"""podium check: what it takes, what it prints, its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from podium.check.method import METHOD_CHECKS
from podium.check.task import TASK_CHECKS
from podium.cli.check import check
from podium.errors import InputError
from podium.registry.model import Task

TOML = (
    'id = "{id}"\nkind = "submission"\ntitle = "T"\nsummary = "S"\ntasks = ["granger_recovery"]\n'
)
METHOD = """
def run(problem, context):
    d = problem.public["series"].shape[1]
    return {"scores": context.rng("scores").random((d, d))}
"""


def folder(root: Path, id: str, code: str = METHOD, toml: str = TOML) -> Path:
    place = root / id
    place.mkdir()
    (place / "entry.toml").write_text(toml.format(id=id), encoding="utf-8")
    (place / "method.py").write_text(code, encoding="utf-8")
    return place


def test_a_good_folder_gives_0_and_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder(tmp_path, "mine")
    assert check(str(place), as_json=False) == 0
    out = capsys.readouterr().out
    for name in METHOD_CHECKS:
        assert f"ok  {name}" in out
    assert out.splitlines()[-1].endswith(f"podium run granger_recovery --entry {place}")


def test_a_bad_folder_gives_1_and_json_of_the_documented_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    variant = '[[variants]]\nid = "other"\ntitle = "T"\nconfig = {{}}\n'
    place = folder(tmp_path, "mine", "def run(problem, context):\n    1 / 0\n", TOML + variant)
    assert check(str(place / "entry.toml"), as_json=True) == 1
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) == {"target", "ok", "subjects"}
    assert shown["ok"] is False
    assert [(s["kind"], s["id"]) for s in shown["subjects"]] == [
        ("entry", "mine"),
        ("entry", "other"),
    ]
    for finding in shown["subjects"][0]["findings"]:
        assert set(finding) == {"name", "state", "message", "fix"}
        assert finding["name"] in METHOD_CHECKS
    (failure,) = [f for f in shown["subjects"][0]["findings"] if f["state"] == "failed"]
    assert failure["name"] == "contract"
    assert "ZeroDivisionError" in failure["message"]
    # The same on every smoke problem: one finding that names them all.
    assert failure["message"].count("granger_recovery/") > 1
    assert failure["fix"].startswith("podium info granger_recovery ")


def test_a_failure_is_shown_with_its_traceback_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder(tmp_path, "mine", "def run(problem, context):\n    1 / 0\n")
    assert check(str(place), as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert any("method.py" in line and "line 2" in line for line in lines)
    assert any(line.strip().startswith("fix: ") for line in lines)
    assert lines[-1].endswith(f"podium check {place}")


def test_a_faulty_declaration_gives_1_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder(tmp_path, "mine", toml=TOML + "sumary = 1\n")
    assert check(str(place), as_json=False) == 1
    out = capsys.readouterr().out
    assert f"{place / 'entry.toml'}:6: unknown key 'sumary'" in out
    assert "did you mean 'summary'?" in out


def test_a_name_that_is_taken_is_a_fault_of_the_declaration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(str(folder(tmp_path, "random_scores")), as_json=False) == 1
    assert "two entries are named 'random_scores'" in capsys.readouterr().out


def test_a_task_by_its_folder_and_an_entry_by_its_id(
    make_task: Callable[..., Task], capsys: pytest.CaptureFixture[str]
) -> None:
    task = make_task()
    assert check(task.at.folder, as_json=True) == 1
    (subject,) = json.loads(capsys.readouterr().out)["subjects"]
    assert (subject["kind"], subject["id"]) == ("task", "echo")
    assert {f["name"] for f in subject["findings"]} == set(TASK_CHECKS)
    # A folder by itself has no entries: the control is what it lacks.
    assert [f["name"] for f in subject["findings"] if f["state"] == "failed"] == ["controls"]
    assert check("random_scores", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["subjects"][0]["id"] == "random_scores"


def test_a_folder_of_the_registry_is_the_entry_of_the_registry(
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = Path(__file__).parents[2] / "baselines" / "random_scores"
    assert check(str(place), as_json=False) == 0
    assert "--entries random_scores" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("random_score", "did you mean 'random_scores'"),
        ("./nowhere", "no such folder"),
        ("", "unknown entry or task"),
        ("é😀" * 200, "unknown entry or task"),
    ],
)
def test_what_is_not_there_is_bad_input(target: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        check(target, as_json=False)


def test_a_folder_without_a_declaration_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to check here"):
        check(str(tmp_path), as_json=False)


def test_the_verbs_import_nothing_heavy() -> None:
    code = (
        "import sys, podium.cli.check, podium.cli.new\n"
        "print([m for m in ('numpy', 'pandas', 'torch', 'scipy', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_requirement_that_is_missing_gives_3_and_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = folder(tmp_path, "mine", toml=TOML + 'requires = ["no-such-package-x"]\n')
    assert check(str(place), as_json=False) == 3
    last = capsys.readouterr().out.splitlines()[-1]
    assert f"Next: pip install no-such-package-x; then: podium check {place}" in last
