"""Semi-supervised k-means: identities, limits, agreement with slower ways to the same result."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from podium.check.states import read_states, touched
from podium.discovery.kmeans import Clustering, kmeans_from, semi_supervised_kmeans
from podium.errors import InputError

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.int64]


class Blobs(NamedTuple):
    labelled: Floats
    labels: Ints
    unlabelled: Floats
    truth: Ints


def blobs(
    seed: int, *, spread: float = 0.1, classes: int = 6, old: int = 3, each: int = 40, size: int = 5
) -> Blobs:
    """Draw normal blobs about random centres; half of each old one is labelled."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, size))
    truth = np.repeat(np.arange(classes), each)
    rows = centres[truth] + spread * rng.normal(size=(truth.size, size))
    known = (truth < old) & (np.arange(truth.size) % 2 == 0)
    return Blobs(rows[known], truth[known], rows[~known], truth[~known])


def same_partition(left: Ints, right: Ints) -> bool:
    pairs = np.unique(np.stack([left, right]), axis=1)
    return bool(pairs.shape[1] == np.unique(left).size == np.unique(right).size)


def slow_inertia(data: Blobs, clusters: Ints, centres: Floats) -> float:
    rows = np.concatenate([data.labelled, data.unlabelled]).astype(np.float64)
    index = np.concatenate([data.labels, clusters])
    return float(sum(((rows[i] - centres[k]) ** 2).sum() for i, k in enumerate(index)))


def slow_kmeans(data: Blobs, centres: Floats) -> tuple[Ints, Floats]:
    """Alternate until nothing changes, by broadcast differences, in double precision."""
    rows = np.concatenate([data.labelled, data.unlabelled]).astype(np.float64)
    centres = centres.astype(np.float64)
    before = None
    while True:
        distances = ((data.unlabelled[:, None, :] - centres) ** 2).sum(axis=2)
        clusters = distances.argmin(axis=1)
        if before is not None and np.array_equal(clusters, before):
            return clusters, centres
        before, index = clusters, np.concatenate([data.labels, clusters])
        centres = np.stack(
            [
                rows[index == k].mean(axis=0) if (index == k).any() else c
                for k, c in enumerate(centres)
            ]
        )


def test_separated_blobs_are_found() -> None:
    data = blobs(0, spread=0.01)
    found = semi_supervised_kmeans(*data[:3], 6, np.random.default_rng(0))
    assert same_partition(found.clusters, data.truth)
    old = data.truth < 3
    np.testing.assert_array_equal(found.clusters[old], data.truth[old])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_and_inertia_are_those_of_the_partition(dtype: type[np.floating[Any]]) -> None:
    drawn = blobs(1, spread=0.8)
    data = Blobs(
        drawn.labelled.astype(dtype), drawn.labels, drawn.unlabelled.astype(dtype), drawn.truth
    )
    found = semi_supervised_kmeans(*data[:3], 6, np.random.default_rng(1))
    assert found.centres.dtype == dtype
    assert found.clusters.dtype == np.int64
    rows = np.concatenate([data.labelled, data.unlabelled])
    index = np.concatenate([data.labels, found.clusters])
    for k, centre in enumerate(found.centres):
        np.testing.assert_allclose(centre, rows[index == k].mean(axis=0), rtol=1e-4, atol=1e-5)
    assert found.inertia == pytest.approx(
        slow_inertia(data, found.clusters, found.centres), rel=1e-5
    )
    assert found.inertia == found.trace[-1] == min(found.finals)


def test_labelled_samples_stay_with_their_class() -> None:
    # The second class's labelled samples lie on the first blob: its centre is held there.
    labelled = np.array([[0.0], [0.2], [0.0], [0.2]])
    labels = np.array([0, 0, 1, 1])
    unlabelled = np.array([[10.0], [10.2], [0.1]])
    found = semi_supervised_kmeans(labelled, labels, unlabelled, 2, np.random.default_rng(0))
    index = np.concatenate([labels, found.clusters])
    for k in (0, 1):
        mean = np.concatenate([labelled, unlabelled])[index == k].mean()
        assert found.centres[k, 0] == pytest.approx(mean)
    assert found.centres.min() < 1


def test_restarts_are_compared_by_the_inertia_of_all_samples() -> None:
    """Two optima of which the unlabelled samples alone would prefer the wrong one.

    Joining 20 unlabelled samples at 3 to the 20 labelled ones at 0 costs 90, of which half falls on
    the unlabelled; joining 30 at 10 to 30 at 12 costs 60, all of it on the unlabelled.
    """
    unlabelled = np.repeat([3.0, 10.0, 12.0], [20, 30, 30])[:, None]
    labelled, labels = np.zeros((20, 1)), np.zeros(20, np.int64)
    found = semi_supervised_kmeans(
        labelled, labels, unlabelled, 3, np.random.default_rng(0), restarts=50, finalists=50
    )
    assert max(found.finals) == pytest.approx(90)
    assert found.inertia == pytest.approx(60)
    assert np.unique(found.clusters[:20]).tolist() != [0]


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_scikit_learn_without_labels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(500, 4))
    start = rows[:7].copy()
    found = kmeans_from(rows[:0], np.zeros(0, np.int64), rows, start, iterations=500, tolerance=0)
    theirs = KMeans(7, init=start, n_init=1, max_iter=500, tol=0).fit(rows)
    np.testing.assert_array_equal(found.clusters, theirs.labels_)
    np.testing.assert_allclose(found.centres, theirs.cluster_centers_, atol=1e-12)
    assert found.inertia == pytest.approx(theirs.inertia_, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_a_slow_reference(seed: int) -> None:
    data = blobs(seed, spread=1.0, each=60)
    start = np.random.default_rng(seed).normal(size=(6, 5))
    start[3:] = data.unlabelled[-3:]
    found = kmeans_from(*data[:3], start, iterations=500, tolerance=0)
    clusters, centres = slow_kmeans(data, start)
    np.testing.assert_array_equal(found.clusters, clusters)
    np.testing.assert_allclose(found.centres, centres, atol=1e-12)


def test_many_rows_agree_with_a_slow_reference() -> None:
    """More rows than are taken at once."""
    data = blobs(5, spread=0.7, each=2000, size=3)
    start = np.concatenate([data.labelled[:3], data.unlabelled[-3:]])
    found = kmeans_from(*data[:3], start, iterations=500, tolerance=0)
    np.testing.assert_array_equal(found.clusters, slow_kmeans(data, start)[0])


def test_an_offset_costs_float32_no_digits() -> None:
    data = blobs(2, spread=0.3)
    # Multiples of 1/64 survive the offset exactly.
    labelled, unlabelled = (
        (np.round(64 * x) / 64).astype(np.float32) for x in (data.labelled, data.unlabelled)
    )
    near = semi_supervised_kmeans(labelled, data.labels, unlabelled, 6, np.random.default_rng(0))
    far = semi_supervised_kmeans(
        labelled + 4096, data.labels, unlabelled + 4096, 6, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(near.clusters, far.clusters)
    assert far.inertia == pytest.approx(near.inertia, rel=1e-4)


def test_single_precision_reaches_the_inertia_of_double() -> None:
    data = blobs(3, spread=0.6, each=200)
    double = semi_supervised_kmeans(*data[:3], 6, np.random.default_rng(0))
    single = semi_supervised_kmeans(
        data.labelled.astype(np.float32),
        data.labels,
        data.unlabelled.astype(np.float32),
        6,
        np.random.default_rng(0),
    )
    assert single.inertia == pytest.approx(double.inertia, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    old=st.integers(0, 4),
    new=st.integers(0, 5),
    count=st.integers(5, 60),
    size=st.integers(1, 6),
    grid=st.booleans(),
    tolerance=st.sampled_from([0.0, 1e-4]),
)
def test_invariants(
    seed: int, old: int, new: int, count: int, size: int, grid: bool, tolerance: float
) -> None:
    """The inertia never rises, and no cluster is empty that a sample could fill."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count + 2 * old, size))
    if grid:
        rows = np.round(rows)  # ties and repeated samples
    labels = np.repeat(np.arange(old), 2)
    classes = max(old + new, 1)
    found = semi_supervised_kmeans(
        rows[: 2 * old], labels, rows[2 * old :], classes, rng, restarts=4, tolerance=tolerance
    )
    assert (np.diff(found.trace) <= 0).all()
    assert found.inertia <= min(found.finals)
    assert found.centres.shape == (classes, size)
    assert np.isfinite(found.centres).all()
    assert 0 <= found.clusters.min() <= found.clusters.max() < classes
    if len(np.unique(rows[2 * old :], axis=0)) == count:
        used = np.unique(np.concatenate([labels, found.clusters]))
        np.testing.assert_array_equal(used, np.arange(classes))


def test_more_starts_never_end_higher() -> None:
    data = blobs(4, spread=0.7, classes=12)
    ends = [
        semi_supervised_kmeans(
            *data[:3], 12, np.random.default_rng(0), restarts=n, finalists=99
        ).inertia
        for n in (1, 3, 9, 27)
    ]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] > ends[-1]


def test_an_empty_cluster_takes_the_sample_furthest_from_its_centre() -> None:
    rows = np.array([[0.0], [0.1], [0.2], [5.0]])
    start = np.array([[0.1], [1e6]])
    found = kmeans_from(rows[:0], np.zeros(0, np.int64), rows, start)
    np.testing.assert_array_equal(found.clusters, [0, 0, 0, 1])


def test_several_empty_clusters_take_different_samples() -> None:
    rows = np.array([[0.0], [1.0], [2.5], [5.0]])
    found = kmeans_from(
        rows[:0], np.zeros(0, np.int64), rows, np.array([[0.0], [1e6], [2e6], [3e6]])
    )
    assert np.unique(found.clusters).size == 4
    assert found.inertia == 0


def test_equal_samples_are_one_cluster() -> None:
    rows = np.full((20, 3), 0.1, np.float32)
    found = semi_supervised_kmeans(
        rows[:4], np.array([0, 0, 1, 1]), rows[4:], 5, np.random.default_rng(0)
    )
    assert found.inertia == 0
    assert np.unique(found.clusters).size == 1
    np.testing.assert_allclose(found.centres, 0.1, rtol=1e-6)


def test_fewer_distinct_samples_than_clusters() -> None:
    rows = np.repeat([[0.0], [1.0], [2.0]], 5, axis=0)
    found = semi_supervised_kmeans(
        rows[:0], np.zeros(0, np.int64), rows, 6, np.random.default_rng(0)
    )
    assert found.inertia == pytest.approx(0)
    assert same_partition(np.repeat(np.arange(3), 5), found.clusters) or (
        np.unique(found.clusters).size > 3
    )


def test_one_sample() -> None:
    found = semi_supervised_kmeans(
        np.zeros((0, 2)), np.zeros(0, np.int64), np.ones((1, 2)), 1, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found.clusters, [0])
    np.testing.assert_array_equal(found.centres, [[1, 1]])


def test_without_new_classes_nothing_is_drawn() -> None:
    data = blobs(6, classes=3, old=3)
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    found = semi_supervised_kmeans(*data[:3], 3, rng)
    assert rng.bit_generator.state == before
    assert len(found.finals) == 1
    np.testing.assert_array_equal(found.clusters, data.truth)


def test_ties_go_to_the_first_cluster() -> None:
    labelled = np.array([[-1.0], [1.0]])
    found = semi_supervised_kmeans(
        labelled, np.array([0, 1]), np.array([[0.0]]), 2, np.random.default_rng(0), iterations=1
    )
    np.testing.assert_array_equal(found.clusters, [0])


def run_seed(data: Blobs, seed: int) -> Clustering:
    return semi_supervised_kmeans(
        *data[:3], 6, np.random.default_rng(seed), restarts=1, tolerance=0
    )


def test_the_seed_decides_and_nothing_else() -> None:
    data = blobs(7, spread=1.5, each=100)
    for array in data:
        array.setflags(write=False)
    before = read_states()
    first, again = run_seed(data, 0), run_seed(data, 0)
    assert touched(before, read_states()) == []
    np.testing.assert_array_equal(first.clusters, again.clusters)
    assert first.trace == again.trace
    assert any(
        not np.array_equal(first.clusters, run_seed(data, seed).clusters) for seed in range(1, 4)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": 2}, "fewer clusters than old classes"),
        ({"classes": 0}, "fewer clusters than old classes"),
        ({"labels": np.array([0, 0, 2, 2])}, "none of 1"),
        ({"labels": np.array([0, -1, 1, 2])}, "the least -1"),
        ({"labels": np.array([0, 1, 2])}, "bad labels"),
        ({"labels": np.array([0.0, 1.0, 2.0, 2.0])}, "bad labels"),
        ({"labels": np.array([0, 1, 2, 10**15])}, "fewer clusters than old classes"),
        ({"unlabelled": np.zeros((3, 3))}, "do not fit"),
        ({"unlabelled": np.zeros(3)}, "do not fit"),
        ({"labelled": np.zeros((4, 0)), "unlabelled": np.zeros((9, 0))}, "dimension, 1 or more"),
        ({"unlabelled": np.zeros((0, 2))}, "too few samples"),
        ({"unlabelled": np.zeros((1, 2)), "classes": 5}, "at least 2, one for each new class"),
        ({"unlabelled": np.full((9, 2), np.nan)}, "finite"),
        ({"labelled": np.full((4, 2), np.inf)}, "finite"),
        ({"unlabelled": np.array([[1e30, 0], [-1e30, 0]], np.float32)}, "fit float32"),
        ({"restarts": 0}, "bad restarts"),
        ({"finalists": 0}, "bad finalists"),
        ({"trial": 0}, "bad trial"),
        ({"iterations": 0}, "bad iterations"),
        ({"tolerance": -1.0}, "bad tolerance"),
        ({"tolerance": float("nan")}, "bad tolerance"),
    ],
)
def test_bad_input_is_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "labelled": np.zeros((4, 2), np.float32),
        "labels": np.array([0, 1, 2, 2]),
        "unlabelled": np.ones((9, 2), np.float32),
        "classes": 4,
        "rng": np.random.default_rng(0),
    }
    with pytest.raises(InputError, match=message):
        semi_supervised_kmeans(**{**arguments, **change})


def test_centres_of_another_dimension_are_named() -> None:
    with pytest.raises(InputError, match="centres"):
        kmeans_from(np.zeros((2, 2)), np.array([0, 1]), np.ones((5, 2)), np.zeros((3, 4)))
