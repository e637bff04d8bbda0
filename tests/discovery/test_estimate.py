"""The estimated number of classes: separated blobs, seeds, limits, bad input, cost."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from podium.contracts import Undefined
from podium.discovery import estimate
from podium.discovery.estimate import estimate_classes
from podium.errors import InputError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def make_blobs(
    seed: int, classes: int, old: int, *, size: int = 40, dimension: int = 16, spread: float = 0.1
) -> tuple[Floats, Ints, Floats]:
    """Labelled half of the old blobs, their classes, and everything else."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((classes, dimension))
    y = np.repeat(np.arange(classes), size)
    x = centres[y] + spread * rng.standard_normal((y.size, dimension))
    labelled = (y < old) & (np.arange(y.size) % 2 == 0)
    return x[labelled], y[labelled], x[~labelled]


@pytest.mark.parametrize(("classes", "old"), [(4, 2), (10, 5), (11, 5), (20, 10), (9, 8), (30, 10)])
def test_separated_blobs(classes: int, old: int) -> None:
    data = make_blobs(0, classes, old)
    assert estimate_classes(*data, np.random.default_rng(0)) == classes


def test_all_classes_known() -> None:
    assert estimate_classes(*make_blobs(1, 6, 6), np.random.default_rng(0)) == 6.0


def test_a_seed_gives_one_answer_and_another_seed_may_give_another() -> None:
    data = make_blobs(2, 8, 4, size=20, spread=1.2)
    answers = [estimate_classes(*data, np.random.default_rng(s)) for s in range(4)]
    again = [estimate_classes(*data, np.random.default_rng(s)) for s in range(4)]
    assert answers == again
    assert len(set(answers)) > 1


def test_the_number_of_threads_does_not_matter() -> None:
    from threadpoolctl import threadpool_limits

    data = make_blobs(3, 12, 6, spread=1.0)
    answers = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            answers.append(estimate_classes(*data, np.random.default_rng(0)))
    assert answers[0] == answers[1]


def test_the_bounds_hold() -> None:
    labelled, labels, unlabelled = make_blobs(4, 12, 2)
    for most in (2, 3, 5, None):
        found = estimate_classes(labelled, labels, unlabelled, np.random.default_rng(0), most=most)
        assert 2 <= found <= (8 if most is None else most)


def test_more_rows_than_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_blobs(5, 10, 5, size=200)
    monkeypatch.setattr(estimate, "ROWS", 300)
    assert estimate_classes(*data, np.random.default_rng(0)) == 10
    # Few labels among many samples are all kept.
    labelled, labels, unlabelled = data
    few = np.unique(labels, return_index=True)[1]
    rows, kept = estimate._drawn(labelled[few], labels[few], unlabelled, np.random.default_rng(0))
    assert len(rows) == 300
    assert sorted(kept) == [0, 1, 2, 3, 4]


def test_wide_features() -> None:
    """Blobs in a few of many directions are the same blobs, whatever the width."""
    labelled, labels, unlabelled = make_blobs(9, 10, 5)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((400, 16)))[0].T
    rng = np.random.default_rng(0)
    assert estimate_classes(labelled @ turn, labels, unlabelled @ turn, rng) == 10


def test_the_inputs_are_left_alone() -> None:
    data = make_blobs(6, 6, 3)
    before = [x.tobytes() for x in data]
    estimate_classes(*data, np.random.default_rng(0))
    assert [x.tobytes() for x in data] == before


def test_fewer_distinct_vectors_than_classes() -> None:
    labels = np.array([0, 1, 2])
    found = estimate_classes(np.zeros((3, 2)), labels, np.zeros((9, 2)), np.random.default_rng(0))
    assert isinstance(found, Undefined)
    assert found.reason == "1 distinct feature vectors for 3 old classes"
    # As many vectors as classes: nothing to choose.
    few = np.arange(3.0)[:, None]
    assert estimate_classes(few, labels, np.tile(few, (4, 1)), np.random.default_rng(0)) == 3.0


def test_one_class_and_one_sample() -> None:
    one = np.zeros((1, 2))
    assert estimate_classes(one, np.array([0]), one, np.random.default_rng(0)) == 1.0
    assert estimate_classes(one, np.array([0]), one[:0], np.random.default_rng(0)) == 1.0


@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e150])
def test_extreme_features(scale: float) -> None:
    labelled, labels, unlabelled = make_blobs(7, 8, 4)
    found = estimate_classes(labelled * scale, labels, unlabelled * scale, np.random.default_rng(0))
    assert found == estimate_classes(labelled, labels, unlabelled, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"labelled": np.zeros((3, 2))}, "do not fit"),
        ({"labels": np.zeros(0, dtype=np.int64), "labelled": np.zeros((0, 4))}, "do not fit"),
        ({"unlabelled": np.zeros((5, 3))}, "do not fit"),
        ({"most": 1}, "most is out of range"),
    ],
)
def test_bad_input(change: dict[str, Any], named: str) -> None:
    arguments: dict[str, Any] = {
        "labelled": np.zeros((2, 4)),
        "labels": np.array([0, 1]),
        "unlabelled": np.zeros((5, 4)),
        **change,
    }
    with pytest.raises(InputError, match=named):
        estimate_classes(**arguments, rng=np.random.default_rng(0))


@pytest.mark.performance
@pytest.mark.parametrize("spread", [0.3, 2.0])
def test_cheap_at_the_size_of_a_problem(spread: float) -> None:
    data = make_blobs(8, 20, 10, size=200, dimension=128, spread=spread)
    estimate_classes(*make_blobs(0, 4, 2), np.random.default_rng(0))  # imports
    start = time.process_time()
    estimate_classes(*data, np.random.default_rng(0))
    assert time.process_time() - start < 3.0
