"""The public arrays of a category-discovery problem, typed."""

from __future__ import annotations

import numpy as np
import pytest

from podium.contracts import Array
from podium.discovery.samples import read_samples
from podium.errors import InputError


def public_arrays(grid: tuple[int, int]) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    return {
        "labelled_tokens": rng.standard_normal((4, 6, 3)).astype(np.float32),
        "labels": np.array([0, 2, 1, 2], dtype=np.int64),
        "unlabelled_tokens": rng.standard_normal((5, 6, 3)).astype(np.float32),
        "grid": np.array(grid, dtype=np.int64),
        "classes": np.array([7], dtype=np.int64),
    }


@pytest.mark.parametrize(("grid", "read"), [((2, 3), (2, 3)), ((0, 0), None)])
def test_what_is_read(grid: tuple[int, int], read: tuple[int, int] | None) -> None:
    public = public_arrays(grid)
    samples = read_samples(public)
    assert samples.grid == read
    assert (samples.old, samples.classes) == (3, 7)
    assert samples.labelled is public["labelled_tokens"]
    assert samples.unlabelled is public["unlabelled_tokens"]
    np.testing.assert_array_equal(samples.tokens[:4], samples.labelled)
    np.testing.assert_array_equal(samples.tokens[4:], samples.unlabelled)
    assert samples.labelled_class is None
    assert samples.unlabelled_class is None


def test_class_tokens_where_the_backbone_has_one() -> None:
    public = public_arrays((2, 3))
    public["labelled_class_tokens"] = np.ones((4, 3), dtype=np.float32)
    public["unlabelled_class_tokens"] = np.ones((5, 3), dtype=np.float32)
    samples = read_samples(public)
    assert samples.labelled_class is public["labelled_class_tokens"]
    assert samples.unlabelled_class is public["unlabelled_class_tokens"]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([], 7, "no labelled samples"),
        ([0, -1, 1, 2], 7, "negative(.|\\n)*found: -1"),
        ([0, 2, 2, 0], 7, "none of 1$|none of 1\\n"),
        ([1, 2, 2, 3], 7, "none of 0"),
        ([0, 1, 2, 2], 2, "at least 3(.|\\n)*found: 2"),
        ([0, 1, 2, 10**15], 7, "at least 1000000000000001"),
    ],
)
def test_labels_that_cannot_be_used_are_named(
    labels: list[int], classes: int, message: str
) -> None:
    public = public_arrays((2, 3))
    public["labels"] = np.array(labels, dtype=np.int64)
    public["labelled_tokens"] = public["labelled_tokens"][: len(labels)]
    public["classes"] = np.array([classes])
    with pytest.raises(InputError, match=message):
        read_samples(public)


def test_every_class_may_be_old() -> None:
    public = public_arrays((2, 3))
    public["classes"] = np.array([3])
    assert read_samples(public).old == 3
