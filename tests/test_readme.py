"""The README's commands and its five-line method work as they are written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from podium.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def podium(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_five_line_method_passes_every_check_and_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    made = podium("new", "method", "my-method", "--task", "granger_recovery", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    (tmp_path / "my-method" / "method.py").write_text(code)
    declared = tmp_path / "my-method" / "entry.toml"
    assert "`seeded = false`" in README
    declared.write_text(declared.read_text().replace("seeded = true", "seeded = false"))
    checked = podium("check", "my-method", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    ran = podium(
        "run", "granger_recovery", "--entry", "my-method",
        "--problems", "lorenz96-d10-f10", cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    shown = podium("show", "granger_recovery", "--problems", "lorenz96-d10-f10", cwd=tmp_path)
    assert "my_method" in shown.stdout


def test_every_command_of_the_readme_exists() -> None:
    verbs = set(typer.main.get_group(app).commands)
    named = set(re.findall(r"^podium (\w+)", README, re.M))
    assert named <= verbs
    assert {"list", "info", "run", "show", "claims", "check", "new"} <= named


@pytest.mark.parametrize("target", ["quickstart", "test"])
def test_make_targets_of_the_readme_exist(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.M)


def test_no_figure_is_left_blank() -> None:
    assert not re.findall(r"\b(?:TABLE|N)_[A-Z]+(?:_[A-Z]+)*\b", README)
