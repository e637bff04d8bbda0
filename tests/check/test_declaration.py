"""All faults of a declaration are listed, each with its file and line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.check.declaration import check_declaration
from podium.check.method import METHOD_CHECKS, check_method
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry


def test_a_good_declaration_shows_the_signature(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
) -> None:
    finding = check_declaration(make_entry(), make_registry([make_task()]))
    assert finding.state == "ok"
    assert "method:run(scale: float)" in finding.message


def test_every_fault_is_listed_with_file_and_line(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
) -> None:
    entry = make_entry(
        added='[config]\nscale = "big"\nscales = 1.0\n', tasks='["echo", "echos", "other"]'
    )
    finding = check_declaration(entry, make_registry([make_task()]))
    assert finding.state == "failed"
    file = Path(entry.at.folder) / "entry.toml"
    lines = file.read_text().splitlines()
    for said, line in (
        ("unknown task 'echos'", 'tasks = ["echo", "echos", "other"]'),
        ("unknown task 'other'", 'tasks = ["echo", "echos", "other"]'),
        ("argument 'scale' has the wrong type", 'scale = "big"'),
        ("unknown argument 'scales'", "scales = 1.0"),
    ):
        assert f"{file}:{lines.index(line) + 1}: {said}" in finding.message
    assert "did you mean 'echo'?" in finding.message
    assert "did you mean 'scale'?" in finding.message


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def run(problem, context, *, lags=5):\n    return {}\n", "method.py:1: argument 'lags'"),
        ("x = 1\ndef run(problem):\n    return {}\n", "method.py:2: run does not have"),
        ("def runs(problem, context):\n    return {}\n", "no function 'run'"),
        ("def run(problem, context:\n", "method.py:1: not valid Python"),
        ("def run(problem, context, *, k: int):\n    return {}\n", "argument 'k' has no value"),
    ],
)
def test_faults_of_the_code_are_found_without_running_it(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
    code: str,
    said: str,
) -> None:
    entry = make_entry(code=code)
    declared, *rest = check_method(entry, make_registry([make_task()], [entry]))
    assert declared.state == "failed"
    assert said in declared.message
    assert [(f.name, f.state) for f in rest] == [(n, "skipped") for n in METHOD_CHECKS[1:]]
