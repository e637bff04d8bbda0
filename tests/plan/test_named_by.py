"""An entry that stands for many methods, told apart by one argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.errors import InputError
from podium.plan.planner import Request, plan
from podium.registry.registry import load_registry

ENTRY = """
id = "any_model"
kind = "baseline"
title = "Any model"
summary = "Whichever is named."
tasks = ["granger_recovery"]
named_by = "model"
[[files]]
name = "weights.bin"
sha256 = "{digest}"
"""
METHOD = "def run(problem, context, *, model: str = 'none', width: int = 3):\n    return {}\n"


def made(folder: Path, digest: str = "0" * 64) -> Path:
    folder.mkdir()
    (folder / "entry.toml").write_text(ENTRY.format(digest=digest))
    (folder / "method.py").write_text(METHOD)
    return folder


def labels(folder: Path, *assignments: str) -> set[str]:
    registry = load_registry([folder], plugins=False)
    request = Request(tasks=("granger_recovery",), entries=("any_model",), assignments=assignments)
    return {spec.entry for spec in plan(registry, request)}


@pytest.mark.parametrize(
    ("assignments", "label"),
    [
        ((), "any_model"),
        (("model=hf,pretrained=a/b",), "any_model[hf,pretrained=a/b]"),
        (("model=hf", "width=4"), "any_model[hf][width=4]"),
        (("width=4",), "any_model[width=4]"),
        (("model=" + "x" * 100,), f"any_model[{'x' * 100}]"),
    ],
)
def test_the_argument_is_the_name(tmp_path: Path, assignments: tuple[str, ...], label: str) -> None:
    assert labels(made(tmp_path / "entry"), *assignments) == {label}


def test_names_that_are_too_long_stay_apart(tmp_path: Path) -> None:
    folder = made(tmp_path / "entry")
    first, second = labels(folder, "model=" + "x" * 101), labels(folder, "model=" + "x" * 102)
    assert first != second
    assert all(len(label) < 100 for label in first | second)


def test_it_runs_only_when_it_is_named(tmp_path: Path) -> None:
    registry = load_registry([made(tmp_path / "entry")], plugins=False)
    everything = plan(registry, Request(tasks=("granger_recovery",)))
    assert everything
    assert "any_model" not in {spec.entry_id for spec in everything}


def test_its_files_travel_with_the_run_and_are_part_of_the_key(tmp_path: Path) -> None:
    keys = set()
    for digest in ("0" * 64, "1" * 64):
        registry = load_registry([made(tmp_path / digest[0], digest)], plugins=False)
        request = Request(tasks=("granger_recovery",), entries=("any_model",), seeds=(0,))
        specs = plan(registry, request)
        assert [f.sha256 for f in specs[0].files] == [digest]
        keys.add(specs[0].key)
    assert len(keys) == 2


def test_a_name_that_is_no_argument_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "entry")
    text = (folder / "entry.toml").read_text().replace('"model"', '"modle"')
    (folder / "entry.toml").write_text(text)
    with pytest.raises(InputError, match="'modle'"):
        labels(folder)
