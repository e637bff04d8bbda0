"""Which samples are labelled, and patches of images."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.benchmarks.gcd_accuracy import patches, splits
from podium.errors import InputError

Ints = npt.NDArray[np.int64]


def halved(labels: Ints, seed: int = 0, **changes: Any) -> tuple[Ints, Ints]:
    arguments: dict[str, Any] = {"classes": 4, "old": 2, "labelled": 0.5, **changes}
    rng = np.random.default_rng(seed)
    return splits.halves(labels, rng=rng, where="here", **arguments)


@given(
    st.lists(st.integers(2, 9), min_size=2, max_size=6),
    st.integers(1, 5),
    st.floats(0.25, 0.75),
    st.integers(0, 2**32 - 1),
)
def test_properties(sizes: list[int], old: int, share: float, seed: int) -> None:
    old = min(old, len(sizes) - 1)
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    arguments = {"classes": len(sizes), "old": old, "labelled": share}
    counts = np.rint(share * np.array(sizes[:old]))
    if (counts == 0).any() or (counts == sizes[:old]).any():
        with pytest.raises(InputError, match="sample"):
            halved(labels, seed, **arguments)
        return
    labelled, rest = halved(labels, seed, **arguments)
    assert sorted([*labelled, *rest]) == list(range(labels.size))
    assert np.bincount(labels[labelled], minlength=old).tolist() == counts.tolist()


def test_the_seed_decides_who_is_labelled_and_in_what_order() -> None:
    labels = np.repeat(np.arange(4), 50)
    first, again, other = (halved(labels, seed) for seed in (0, 0, 1))
    for part in (0, 1):
        np.testing.assert_array_equal(first[part], again[part])
        assert sorted(first[part]) != sorted(other[part])


def test_no_place_tells_a_class() -> None:
    """In both parts the mean place of every class is that of any sample."""
    labels = np.repeat(np.arange(4), 300)
    for rows, classes in zip(halved(labels), ((0, 1), (0, 1, 2, 3)), strict=True):
        places = np.arange(rows.size) / rows.size
        for c in classes:
            mine = places[labels[rows] == c]
            assert mine.mean() == pytest.approx(0.5, abs=4 * np.sqrt(1 / 12 / mine.size))


@pytest.mark.parametrize(
    ("labels", "changes", "named"),
    [
        ([0, 0, 2, 3], {}, "an old class has no labelled sample(\n.*)*class 1 has 0 samples"),
        ([0, 0, 1, 2, 3], {"labelled": 0.4}, "no labelled sample(\n.*)*class 1 has 1 samples"),
        ([0, 0, 1, 1, 2], {}, "a class has no unlabelled sample(\n.*)*class 3 has 0 samples"),
        ([0, 0, 1, 1, 2, 3], {"labelled": 0.9}, "a class has no unlabelled sample"),
        ([0, 0, 1, 1, 2, 4], {}, "labels must name the declared classes(\n.*)*0 to 4"),
        ([0, 0, -1, 1, 2, 3], {}, "labels must name the declared classes(\n.*)*-1 to 3"),
        ([0, 0], {"classes": 1, "old": 1}, "needs an old and a new class"),
        ([0, 0, 1], {"classes": 2, "old": 2}, "needs an old and a new class"),
        ([0, 0, 1], {"classes": 2, "old": 0}, "needs an old and a new class"),
        ([], {}, "an old class has no labelled sample"),
    ],
)
def test_what_cannot_be_split(labels: list[int], changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        halved(np.array(labels, dtype=np.int64), **changes)
    assert str(caught.value).startswith("here: ")


def test_projections_are_orthonormal_and_differ_by_place() -> None:
    drawn = patches.draw_projections(5, 4, 9, np.random.default_rng(0))
    assert drawn.shape == (5, 9, 4)
    assert drawn.dtype == np.float32
    np.testing.assert_allclose(
        np.swapaxes(drawn, 1, 2) @ drawn, np.tile(np.eye(4), (5, 1, 1)), atol=1e-6
    )
    assert not np.allclose(drawn[0], drawn[1])
    assert not np.allclose(drawn, patches.draw_projections(5, 4, 9, np.random.default_rng(1)))


@pytest.mark.parametrize("shape", [(8, 8), (6, 4)])
def test_distances_between_flattened_tokens_are_those_between_images(
    shape: tuple[int, int],
) -> None:
    rng = np.random.default_rng(0)
    images = rng.random((6, *shape)).astype(np.float32)
    rows, columns = patches.grid_of(*shape, 2)
    tokens = patches.project_patches(
        images, 2, patches.draw_projections(rows * columns, 4, 11, rng)
    )
    assert tokens.shape == (6, rows * columns, 11)
    flat, raw = tokens.reshape(6, -1), images.reshape(6, -1)
    np.testing.assert_allclose(flat @ flat.T, raw @ raw.T, rtol=1e-5)


def test_each_token_is_the_projected_patch_of_its_place() -> None:
    rng = np.random.default_rng(1)
    image = rng.random((1, 4, 6)).astype(np.float32)
    matrices = patches.draw_projections(6, 4, 5, rng)
    tokens = patches.project_patches(image, 2, matrices)
    for place in range(6):
        i, j = 2 * (place // 3), 2 * (place % 3)
        patch = image[0, i : i + 2, j : j + 2].ravel()
        np.testing.assert_allclose(tokens[0, place], matrices[place] @ patch, rtol=1e-5)


def test_the_mean_token_knows_the_place() -> None:
    """One bright patch at two places: the mean tokens differ as much as the images may."""
    images = np.zeros((2, 4, 4), dtype=np.float32)
    images[0, :2, :2] = images[1, 2:, 2:] = 1.0
    matrices = patches.draw_projections(4, 4, 16, np.random.default_rng(2))
    mean = patches.project_patches(images, 2, matrices).mean(axis=1)
    assert np.linalg.norm(mean[0] - mean[1]) > 0.5 * np.linalg.norm(mean[0])


def test_patches_that_do_not_fit() -> None:
    images = np.zeros((1, 8, 6), dtype=np.float32)
    with pytest.raises(InputError, match="patches must fill the image"):
        patches.grid_of(8, 6, 4)
    with pytest.raises(InputError, match="the projections are for other patches"):
        patches.project_patches(images, 2, np.zeros((11, 5, 4), dtype=np.float32))
    with pytest.raises(InputError, match="a token must hold its patch"):
        patches.draw_projections(4, 16, 15, np.random.default_rng(0))
