"""Metrics on the scale of their problem: no mean over problems, and no difference of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.declarations.task import TaskSpec

MakeTask = Callable[..., TaskSpec]


def metrics(**changes: Any) -> list[dict[str, Any]]:
    primary = {
        "name": "auroc",
        "title": "AUROC",
        "direction": "higher",
        "range": [0.0, 1.0],
        "primary": True,
    }
    distance = {
        "name": "distance",
        "title": "Distance",
        "direction": "lower",
        "range": [0.0, 1e9],
        "averaged": False,
    }
    return [{**primary, **changes}, distance]


def claim(**changes: Any) -> dict[str, Any]:
    return {
        "id": "closer",
        "statement": "Ours is closer.",
        "source": "a paper",
        "left": "ours",
        "right": "theirs",
        "metric": "distance",
        "problems": ["p1", "p2"],
        "at_least": 1.5,
        **changes,
    }


def test_the_primary_metric_is_averaged(toy_task: MakeTask) -> None:
    assert not toy_task(metrics=metrics()).metric("distance").averaged
    with pytest.raises(msgspec.ValidationError, match="primary metric ranks over all problems"):
        toy_task(metrics=metrics(averaged=False))


def test_a_claim_compares_it_by_ratio_or_on_one_problem(toy_task: MakeTask) -> None:
    for fine in (claim(compare="ratio"), claim(problems=["p1"])):
        assert toy_task(metrics=metrics(), claims=[fine]).claims
    with pytest.raises(msgspec.ValidationError, match=r"'distance' cannot be averaged"):
        toy_task(metrics=metrics(), claims=[claim()])
