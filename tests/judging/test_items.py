from __future__ import annotations

import numpy as np
import pytest

from podium.contracts import Array, Problem
from podium.errors import InputError
from podium.judging.items import answers, read_items


def judged(**changes: Array) -> Problem:
    public: dict[str, Array] = {
        "ids": np.array(["a", "b", "c"]),
        "texts": np.array(["one", "", "three"]),
        "rubric": np.array(["Rate it."]),
        "levels": np.array([1.0, 2.0, 5.0]),
        "train_texts": np.array(["x", "y"]),
        "train_scores": np.array([1.0, 4.5]),
        "features": np.zeros((3, 2, 4), np.float32),
        "train_features": np.zeros((2, 2, 4), np.float32),
        "lengths": np.array([1, 2, 2]),
        "train_lengths": np.array([1, 2]),
        "embeddings": np.zeros((3, 4), np.float32),
        "train_embeddings": np.zeros((2, 4), np.float32),
    }
    return Problem("judge_correlation", "test", "smoke", {**public, **changes})


def test_items_are_the_public_arrays() -> None:
    items = read_items(judged())
    assert (items.low, items.high) == (1.0, 5.0)
    assert items.rubric == "Rate it."
    assert items.train_reasoning is None
    reasoning = np.array([[1], [2]])
    assert read_items(judged(train_reasoning=reasoning)).train_reasoning is reasoning


@pytest.mark.parametrize("levels", [[], [3.0], [1.0, 1.0], [2.0, 1.0], [1.0, np.nan], [0, np.inf]])
def test_a_scale_has_two_or_more_rising_levels(levels: list[float]) -> None:
    with pytest.raises(InputError, match="two or more rising levels"):
        read_items(judged(levels=np.array(levels)))


def test_ids_that_stand_twice_are_named() -> None:
    with pytest.raises(InputError, match="'a'"):
        read_items(judged(ids=np.array(["a", "b", "a"])))


@pytest.mark.parametrize("rating", [0.99, 5.01, np.nan, np.inf])
def test_ratings_outside_the_scale_are_named(rating: float) -> None:
    with pytest.raises(InputError, match="in row 1"):
        read_items(judged(train_scores=np.array([1.0, rating])))


def test_answers_keep_order_and_nan() -> None:
    items = read_items(judged())
    found = answers(items, np.array([1.0, np.nan, 3.0]), np.full((3, 3), 1 / 3))
    assert list(found["ids"]) == ["a", "b", "c"]
    assert found["scores"].dtype == np.float64
    assert np.isnan(found["scores"][1])
    assert found["distribution"].shape == (3, 3)
    assert "distribution" not in answers(items, np.zeros(3))


def test_answers_of_other_shapes_are_refused() -> None:
    items = read_items(judged())
    with pytest.raises(InputError, match="one score an item"):
        answers(items, np.zeros(2))
    with pytest.raises(InputError, match="each item and level"):
        answers(items, np.zeros(3), np.zeros((3, 2)))
