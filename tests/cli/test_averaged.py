"""What the reading verbs say of a metric on the scale of its problem."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.cli import selection
from podium.cli.compare import compare
from podium.cli.show import show
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.plan.spec import Location
from podium.registry.model import Task
from podium.registry.registry import Registry
from podium.store.record import Record
from podium.store.store import Store

METRICS = [
    {
        "name": "auroc",
        "title": "AUROC",
        "direction": "higher",
        "range": [0.0, 1.0],
        "primary": True,
    },
    {
        "name": "distance",
        "title": "Distance",
        "direction": "lower",
        "range": [0.0, 1e9],
        "averaged": False,
    },
]


@pytest.fixture
def store(
    toy_task: Callable[..., TaskSpec],
    toy_record: Callable[..., Record],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Two entries on two problems whose distances differ a hundredfold in scale."""
    task = Task(
        spec=toy_task(metrics=METRICS),
        at=Location(package=None, folder=str(tmp_path)),
        origin="podium",
    )
    registry = Registry(tasks={"toy": task}, entries={}, suites={}, broken=())
    monkeypatch.setattr(selection, "load_registry", lambda *_: registry)
    kept = Store(tmp_path / "results")
    for entry, factor in (("ours", 1.0), ("theirs", 2.0)):
        for problem, scale in (("p1", 1.0), ("p2", 100.0)):
            for seed in range(2):
                kept.write(
                    toy_record(
                        entry,
                        problem,
                        seed,
                        factor * scale,
                        metric="distance",
                        key=f"{entry}{problem}{seed}",
                    )
                )
    return kept.root


def test_several_problems_have_no_mean(store: Path) -> None:
    with pytest.raises(InputError, match="no mean over problems") as refused:
        show("toy", metric="distance", store=store)
    assert "--problem p1" in str(refused.value)
    with pytest.raises(InputError, match="no mean over problems") as refused:
        compare("toy", "ours", "theirs", metric="distance", store=store)
    assert "--problem p1, or --by ratio" in str(refused.value)


def test_one_problem_and_ratios_are_fine(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show("toy", metric="distance", problems=["p2"], store=store)
    assert "100.0" in capsys.readouterr().out
    compare("toy", "ours", "theirs", metric="distance", by="ratio", store=store)
    assert "2.0000" in capsys.readouterr().out
