"""Everything in the registry holds to the checks that ship with the engine.

The entries of a task are checked together, so that every fork server starts once.
"""

from __future__ import annotations

from functools import cache

import pytest

from podium.check.finding import Finding
from podium.check.method import check_methods
from podium.check.task import REFUSED, check_tasks
from podium.cli.new import new_method
from podium.registry.registry import load_registry

pytestmark = pytest.mark.timeout(900)  # the first test of a task checks all of its entries

REGISTRY = load_registry(plugins=False)


@cache
def of_entries(tasks: tuple[str, ...]) -> dict[str, list[Finding]]:
    return check_methods(
        [e for e in REGISTRY.entries.values() if e.spec.file.tasks == tasks], REGISTRY
    )


@pytest.fixture(scope="module")
def of_tasks() -> dict[str, list[Finding]]:
    return check_tasks(list(REGISTRY.tasks.values()), REGISTRY)


def shown(findings: list[Finding], state: str) -> list[str]:
    return [f"{f.name}: {f.message}" for f in findings if f.state == state]


@pytest.mark.parametrize("id", sorted(REGISTRY.entries))
def test_every_entry_conforms(id: str) -> None:
    findings = of_entries(REGISTRY.entries[id].spec.file.tasks)[id]
    missing = next((f for f in findings if f.name == "requirements"), None)
    if missing is not None and missing.state == "skipped":
        pytest.skip(missing.message)
    assert shown(findings, "failed") == []
    assert shown(findings, "skipped") == []


@pytest.mark.parametrize("id", sorted(REGISTRY.tasks))
def test_every_task_conforms(id: str, of_tasks: dict[str, list[Finding]]) -> None:
    assert shown(of_tasks[id], "failed") == []
    assert [s for s in shown(of_tasks[id], "skipped") if not s.endswith(REFUSED)] == []


@pytest.fixture(scope="module")
def of_new_methods(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Finding]]:
    """What ``podium new method`` writes for each task, checked."""
    folders = []
    for task in REGISTRY.tasks:
        folders.append(tmp_path_factory.mktemp("new") / task)
        new_method(f"new-{task}", task=task, folder=folders[-1])
    registry = load_registry(folders, plugins=False)
    return check_methods([registry.entry(f"new_{task}") for task in REGISTRY.tasks], registry)


@pytest.mark.parametrize("id", sorted(REGISTRY.tasks))
def test_a_new_method_of_every_task_conforms(
    id: str, of_new_methods: dict[str, list[Finding]]
) -> None:
    findings = of_new_methods[f"new_{id}"]
    assert shown(findings, "failed") == []
    assert shown(findings, "skipped") == []


def test_nothing_in_the_registry_is_broken() -> None:
    assert REGISTRY.broken == ()
