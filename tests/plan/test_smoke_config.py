"""Arguments that an entry declares for tier smoke."""

from __future__ import annotations

from pathlib import Path

from podium.check.declaration import check_declaration
from podium.plan.planner import Request, plan
from podium.plan.spec import RunSpec
from podium.registry.registry import load_registry

ENTRY = """
id = "trained"
kind = "baseline"
title = "Trained"
summary = "Takes steps."
tasks = ["granger_recovery"]
config = { rate = 0.1 }
smoke = { SMOKE }
"""
METHOD = "def run(problem, context, *, steps: int = 900, rate: float = 1.0):\n    return {}\n"


def made(folder: Path, smoke: str = "steps = 4") -> Path:
    folder.mkdir()
    (folder / "entry.toml").write_text(ENTRY.replace("SMOKE", smoke))
    (folder / "method.py").write_text(METHOD)
    return folder


def planned(folder: Path, tier: str, *assignments: str) -> RunSpec:
    registry = load_registry([folder], plugins=False)
    request = Request(
        tasks=("granger_recovery",), entries=("trained",), tier=tier, assignments=assignments
    )
    return plan(registry, request)[0]


def test_only_tier_smoke_takes_them(tmp_path: Path) -> None:
    folder = made(tmp_path / "trained")
    assert planned(folder, "smoke").config == {"steps": 4, "rate": 0.1}
    assert planned(folder, "small").config == {"steps": 900, "rate": 0.1}
    assert planned(folder, "smoke").entry == "trained"


def test_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    spec = planned(made(tmp_path / "trained"), "smoke", "steps=7")
    assert spec.config["steps"] == 7
    assert spec.entry == "trained[steps=7]"


def test_a_fault_in_them_is_found_before_a_run(tmp_path: Path) -> None:
    folder = made(tmp_path / "trained", "stepz = 4, rate = 'fast'")
    registry = load_registry([folder], plugins=False)
    finding = check_declaration(registry.entry("trained"), registry)
    assert finding.state == "failed"
    assert "stepz" in finding.message
    assert "rate" in finding.message
    assert f"{folder / 'entry.toml'}:8" in finding.message
