"""Labels that no entry can use are refused by each of them, in words."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.contracts import Array, Problem
from podium.errors import InputError
from podium.seeding import generator

ENTRIES = ("agglomerative", "kmeans", "majority_class", "random_clusters", "ss_kmeans")


class QuietContext:
    """One seed; keeps nothing."""

    device = "cpu"
    threads = 1
    scratch = Path("unused")
    budget_left = float("inf")

    def rng(self, name: str) -> np.random.Generator:
        return generator(0, name)

    def log(self, step: int, **values: float) -> None:
        pass

    def progress(self, done: float, total: float, note: str = "") -> None:
        pass


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([], 4, "no labelled samples"),
        ([0, 1, -1, 1, 0], 4, "negative"),
        ([0, 2, 2, 0, 2], 4, "an old class has no labelled sample"),
        ([0, 1, 2, 1, 0], 2, "fewer clusters than old classes"),
    ],
)
def test_bad_labels_are_named(entry: str, labels: list[int], classes: int, message: str) -> None:
    rng = np.random.default_rng(0)
    public: dict[str, Array] = {
        "labelled_tokens": rng.normal(size=(len(labels), 4, 3)).astype(np.float32),
        "labels": np.array(labels, dtype=np.int64),
        "unlabelled_tokens": rng.normal(size=(20, 4, 3)).astype(np.float32),
        "grid": np.array([2, 2]),
        "classes": np.array([classes]),
    }
    method: Any = importlib.import_module(f"podium.baselines.{entry}.method")
    with pytest.raises(InputError, match=message):
        method.run(Problem("gcd_accuracy", "test", "smoke", public), QuietContext())
