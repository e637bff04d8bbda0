"""A prediction that fits the contract and that the scorer refuses is invalid, never a score."""

from __future__ import annotations

from collections.abc import Callable

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.execute import execute
from podium.store.record import Provenance

TASK = """
import numpy as np
from podium.contracts import Instance, InvalidPredictionError

def build(recipe, context):
    return Instance(public={"x": np.ones(3)})

def score(prediction, instance, recipe):
    if prediction["y"].sum() != 3:
        raise InvalidPredictionError(f"mass must be 3,\\nfound {prediction['y'].sum():g}")
    return {"error": 0.0}
"""


def test_refused_by_the_scorer(
    make_spec: Callable[..., RunSpec], make_task: Callable[..., TaskSpec], origin: Provenance
) -> None:
    spec = make_spec(task=TASK)
    record, prediction, _ = execute(spec, make_task(), provenance=origin)
    assert record.status == "invalid"
    assert record.reason == "mass must be 3, found 6"
    assert record.metrics == {}
    # The method did run: its prediction and its time are kept.
    assert prediction is not None
    assert record.cost.wall_seconds is not None


def test_accepted_by_the_scorer(
    make_spec: Callable[..., RunSpec], make_task: Callable[..., TaskSpec], origin: Provenance
) -> None:
    spec = make_spec(task=TASK, config={"factor": 1.0})
    record, *_ = execute(spec, make_task(), provenance=origin)
    assert record.status == "ok"
    assert record.metrics["error"].value == 0.0
