from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.execute import execute
from podium.runner.pictures import LARGEST, as_png, picture_fault
from podium.store.record import Provenance
from podium.store.store import Store

MakeSpec = Callable[..., RunSpec]
MakeTask = Callable[..., TaskSpec]

TASK = """
import numpy as np
from podium.contracts import Instance

def build(recipe, context):
    return Instance(public={{"x": np.arange(3.0)}}, hidden={{}})

def score(prediction, instance, recipe):
    return {{"error": 0.0}}

def picture(prediction, instance, recipe):
    {body}
"""
GREY = "return np.full((2, 5, 3), int(prediction['y'][2]), dtype=np.uint8)"


def test_a_picture_of_the_prediction_lies_beside_the_record(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance, tmp_path: Path
) -> None:
    outcome = execute(
        make_spec(task=TASK.format(body=GREY)), make_task(picture=True), provenance=origin
    )
    store = Store(tmp_path / "results")
    kept = store.save(*outcome)
    assert kept.status == "ok"
    assert kept.picture is not None
    with Image.open(store.path_of(kept).with_name(kept.picture)) as drawn:
        assert (drawn.format, drawn.size, drawn.getpixel((0, 0))) == ("PNG", (5, 2), (4, 4, 4))
    assert store.records()[0].picture == kept.picture


def test_no_picture_is_drawn_where_the_task_declares_none(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance, tmp_path: Path
) -> None:
    outcome = execute(make_spec(task=TASK.format(body="1 / 0")), make_task(), provenance=origin)
    assert outcome.record.status == "ok"
    assert outcome.picture is None
    assert Store(tmp_path / "results").save(*outcome).picture is None


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ("return None", "it returned NoneType, expected uint8 [height, width, 3]"),
        ("return np.zeros((2, 2, 3))", "it returned float64 of shape [2, 2, 3]"),
        ("return np.zeros((2, 2), np.uint8)", "uint8 of shape [2, 2]"),
        ("return np.zeros((0, 2, 3), np.uint8)", "uint8 of shape [0, 2, 3]"),
        ("1 / 0", "picture() of task 'tiny' failed: ZeroDivisionError"),
    ],
)
def test_a_fault_of_the_picture_is_the_tasks(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance, body: str, part: str
) -> None:
    spec = make_spec(task=TASK.format(body=body))
    record, _, picture = execute(spec, make_task(picture=True), provenance=origin)
    assert record.status == "failed"
    assert record.reason is not None
    assert part in record.reason
    assert (record.metrics, picture) == ({}, None)


def test_png_keeps_every_pixel() -> None:
    drawn = np.random.default_rng(0).integers(0, 256, (7, 4, 3), dtype=np.uint8)
    assert picture_fault(drawn) is None
    with Image.open(io.BytesIO(as_png(drawn))) as opened:
        assert np.array_equal(np.asarray(opened), drawn)
    assert picture_fault(np.zeros((LARGEST + 1, 1, 3), dtype=np.uint8)) is not None
