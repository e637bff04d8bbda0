"""``podium run --lm`` and ``podium export lm-eval-tasks``, up to where a model would be needed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from podium.cli.app import app
from podium.errors import InputError

TASK = "judge_correlation"


def explained(*arguments: str, tmp_path: Path) -> set[str]:
    command = ["run", TASK, "--tier", "smoke", "--seeds", "1", "--explain", "--json"]
    store = ["--store", str(tmp_path / "none")]
    result = CliRunner().invoke(app, [*command, *store, *arguments], catch_exceptions=False)
    return {row["entry"] for row in json.loads(result.stdout)}


def test_the_model_is_the_entry(tmp_path: Path) -> None:
    name = "pretrained=HuggingFaceTB/SmolLM2-135M-Instruct,dtype=float32"
    found = explained("--lm", "hf", "--lm-args", name, tmp_path=tmp_path)
    assert found == {f"lm[hf,{name}]"}
    assert explained("--lm", "other", tmp_path=tmp_path) == {"lm[other]"}


def test_it_runs_beside_others_and_takes_settings(tmp_path: Path) -> None:
    arguments = ("--entries", "ridge", "--lm", "hf", "--set", "lm.reading=expectation")
    assert explained(*arguments, tmp_path=tmp_path) == {"ridge", "lm[hf][reading=expectation]"}


def test_without_it_no_model_is_asked(tmp_path: Path) -> None:
    assert not any(entry.startswith("lm") for entry in explained(tmp_path=tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--lm-args", "a=b"], "arguments of no model"),
        (["--lm", "hf,a=b"], "bad kind of model"),
        (["--lm", ""], "bad kind of model"),
    ],
)
def test_bad_options_are_named(arguments: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CliRunner().invoke(app, ["run", TASK, *arguments], catch_exceptions=False)


def test_export_writes_the_tasks_of_a_tier(tmp_path: Path) -> None:
    command = ["export", "lm-eval-tasks", str(tmp_path / "out"), "--tier", "smoke", "--json"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    tasks = json.loads(result.stdout)["tasks"]
    assert tasks == {"synthetic-grader-small": "podium_judge_synthetic_grader_small"}
    rows = (tmp_path / "out" / "podium_judge_synthetic_grader_small.jsonl").read_text()
    assert {"id", "prompt", "gold"} <= json.loads(rows.splitlines()[0]).keys()


def test_export_says_what_it_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    command = ["export", "lm-eval-tasks", str(tmp_path / "out"), "--problem", "hutto-tweets"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 3
    assert "hutto-tweets is left out" in result.stderr


@pytest.mark.parametrize("option", [("--tier", "tiny"), ("--problem", "hutto-tweet")])
def test_export_refuses_unknown_names(tmp_path: Path, option: tuple[str, str]) -> None:
    command = ["export", "lm-eval-tasks", str(tmp_path), *option]
    with pytest.raises(InputError, match="unknown"):
        CliRunner().invoke(app, command, catch_exceptions=False)
