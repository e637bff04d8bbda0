"""The method that ``podium new`` writes for this task."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.cli.new import new_method
from podium.contracts import Array, Problem
from podium.errors import InputError
from podium.seeding import generator


class SeededContext:
    """One seed; keeps nothing."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def log(self, step: int, **values: float) -> None:
        pass

    def progress(self, done: float, total: float, note: str = "") -> None:
        pass


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place: Path = tmp_path_factory.mktemp("new") / "mine"
    new_method("mine", task="gcd_accuracy", folder=place)
    spec = importlib.util.spec_from_file_location("written_gcd_method", place / "method.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def three_new_classes(unlabelled: int) -> Problem:
    rng = np.random.default_rng(0)
    public: dict[str, Array] = {
        "labelled_tokens": np.zeros((1, 2, 3), np.float32) - 50,
        "labels": np.zeros(1, np.int64),
        "unlabelled_tokens": rng.normal(size=(unlabelled, 2, 3)).astype(np.float32),
        "grid": np.array([0, 0]),
        "classes": np.array([4]),
    }
    return Problem("gcd_accuracy", "test", "smoke", public)


@pytest.mark.parametrize("seed", range(5))
def test_no_two_centres_start_at_one_sample(seed: int, written: Any) -> None:
    """Of three samples and three new classes, each sample is a class of its own."""
    found = written.run(three_new_classes(3), SeededContext(seed))
    assert sorted(found["clusters"]) == [1, 2, 3]


def test_fewer_samples_than_new_classes_are_named(written: Any) -> None:
    with pytest.raises(InputError, match="too few"):
        written.run(three_new_classes(2), SeededContext(0))
