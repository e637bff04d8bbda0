"""Accuracy of category discovery: identities, then independent implementations, then properties."""

from __future__ import annotations

import time
from itertools import permutations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from podium.contracts import Undefined
from podium.errors import InputError
from podium.metrics.discovery import Accuracies, accuracies, confusion

Ints = npt.NDArray[np.int64]


def draw(seed: int, samples: int, clusters: int, classes: int) -> tuple[Ints, Ints]:
    rng = np.random.default_rng(seed)
    return rng.integers(clusters, size=samples), rng.integers(classes, size=samples)


def brute_force(clusters: Ints, truth: Ints, size: int) -> float:
    """The best share over every map of ``size`` clusters to ``size`` classes."""
    maps = (np.array(p) for p in permutations(range(size)))
    return max(float((m[clusters] == truth).mean()) for m in maps)


def values(found: Accuracies) -> tuple[float, ...]:
    return (found.all, found.old, found.new, found.old_per_subset, found.new_per_subset)


def test_the_truth_under_any_name_scores_one() -> None:
    _, truth = draw(0, 200, 8, 8)
    for clusters in (truth, 7 - truth, truth * 1000 + 3, np.roll(np.arange(8), 3)[truth]):
        assert values(accuracies(clusters, truth, 4)) == (1.0,) * 5


def test_one_cluster_gets_the_largest_class() -> None:
    truth = np.array([0] * 5 + [1] * 3 + [2] * 6 + [3] * 2)
    found = accuracies(np.full(16, 9), truth, 2)
    assert found == Accuracies(6 / 16, 0.0, 6 / 8, 5 / 8, 6 / 8)


def test_every_sample_in_a_cluster_of_its_own() -> None:
    truth = np.array([0, 0, 1, 2, 2, 3])
    found = accuracies(np.arange(6), truth, 2)
    assert found == Accuracies(4 / 6, 2 / 3, 2 / 3, 2 / 3, 2 / 3)


def test_one_map_for_all_is_not_one_map_for_each_subset() -> None:
    """Cluster 0 holds an old and a new class: one map must choose, two maps need not."""
    truth = np.array([0] * 6 + [1] * 4)
    found = accuracies(np.zeros(10, dtype=np.int64), truth, 1)
    assert found == Accuracies(0.6, 1.0, 0.0, 1.0, 1.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("noise", [0.0, 0.4, 1.0])
def test_brute_force_over_all_permutations_of_five_classes(seed: int, noise: float) -> None:
    random, truth = draw(seed, 60, 5, 5)
    rng = np.random.default_rng(seed)
    clusters = np.where(rng.random(60) < noise, random, np.array([3, 0, 4, 1, 2])[truth])
    found = accuracies(clusters, truth, 3)
    assert found.all == pytest.approx(brute_force(clusters, truth, 5))
    for share, mine in ((found.old_per_subset, truth < 3), (found.new_per_subset, truth >= 3)):
        assert share == pytest.approx(brute_force(clusters[mine], truth[mine], 5))
    sizes = np.array([(truth < 3).sum(), (truth >= 3).sum()])
    assert sizes @ [found.old, found.new] == pytest.approx(60 * found.all)


@pytest.mark.parametrize(("clusters", "classes"), [(7, 3), (3, 7), (5, 5)])
def test_more_or_fewer_clusters_than_classes(clusters: int, classes: int) -> None:
    found, truth = draw(1, 50, clusters, classes)
    size = max(clusters, classes)
    assert accuracies(found, truth, 2).all == pytest.approx(brute_force(found, truth, size))


def test_the_confusion_matrix_is_that_of_scikit_learn() -> None:
    clusters, truth = draw(2, 300, 6, 6)
    theirs = confusion_matrix(clusters, truth, labels=range(6))
    mine = confusion(clusters, truth)
    assert mine.dtype == np.int64
    assert sorted(mine.tolist()) == sorted(theirs.tolist())


def test_empty_classes_change_nothing() -> None:
    clusters, truth = draw(3, 100, 4, 4)
    spread = np.array([0, 2, 5, 9])[truth]
    assert accuracies(clusters, spread, 3) == accuracies(clusters, truth, 2)


def test_shares_over_nothing_say_so() -> None:
    found = accuracies(np.array([0, 1]), np.array([0, 1]), 2)
    assert (found.all, found.old, found.old_per_subset) == (1.0, 1.0, 1.0)
    for share in (found.new, found.new_per_subset):
        assert isinstance(share, Undefined)
        assert share.reason == "there are no samples of new classes"
    nothing = accuracies(np.array([], dtype=np.int64), np.array([], dtype=np.int64), 2)
    assert all(isinstance(share, Undefined) for share in values(nothing))
    old = accuracies(np.array([5]), np.array([7]), 2).old
    assert isinstance(old, Undefined)
    assert old.reason == "there are no samples of old classes"


def test_random_clusters_are_near_chance() -> None:
    clusters, truth = draw(4, 20_000, 20, 20)
    found = accuracies(clusters, truth, 10)
    # The best of all maps is above 1 / 20, by the spread of the cells' counts.
    assert 0.05 < found.all < 0.065
    assert found.old < 0.08
    assert found.new < 0.08


def test_the_map_found_does_not_depend_on_names_or_order() -> None:
    """Two maps are equally good for all samples; the split into old and new must not be by luck."""
    truth = np.array([0, 0, 1, 1])
    clusters = np.array([0, 1, 0, 1])
    expected = accuracies(clusters, truth, 1)
    for names in ([0, 1], [1, 0], [8, 3]):
        for order in permutations(range(4)):
            rows = list(order)
            renamed = np.array(names)[clusters]
            assert accuracies(renamed[rows], truth[rows], 1) == expected


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1, max_size=40),
    st.integers(0, 6),
    st.integers(0, 2**32 - 1),
)
def test_properties(pairs: list[tuple[int, int]], old: int, seed: int) -> None:
    clusters, truth = np.array(pairs, dtype=np.int64).T
    found = accuracies(clusters, truth, old)
    # Renaming the clusters and shuffling the samples changes nothing.
    rng = np.random.default_rng(seed)
    rows, names = rng.permutation(truth.size), rng.permutation(100)
    again = accuracies(names[clusters][rows], truth[rows], old)
    np.testing.assert_equal(values(again), values(found))
    # The best map is at least as good as matching the fullest cell alone.
    assert confusion(clusters, truth).max() / truth.size <= found.all <= 1.0
    # A subset's own map is never worse for it than the map for all.
    parts = [(found.old, found.old_per_subset), (found.new, found.new_per_subset)]
    assert all(a <= b for a, b in parts if not np.isnan(a))
    # One more sample never takes a hit away, and adds one at most.
    more = accuracies(np.append(clusters, clusters[0]), np.append(truth, truth[0]), old)
    hits = round(found.all * truth.size)
    assert hits <= round(more.all * (truth.size + 1)) <= hits + 1


@pytest.mark.parametrize(
    ("clusters", "truth", "old", "named"),
    [
        ([0, 1], [0], 1, "one length"),
        ([[0, 1]], [0, 1], 1, r"clusters: expected one whole number a sample"),
        ([0.0, np.nan], [0, 1], 1, "clusters.*(\n.*)*float64"),
        (np.array([0, 1], dtype=np.float16), [0, 1], 1, "clusters.*(\n.*)*float16"),
        ([0, 1], [0, -1], 1, "truth: a class is 0 or more"),
        ([0, 1], [0, 1], -1, "old: a number of classes is 0 or more"),
    ],
)
def test_bad_input(clusters: npt.ArrayLike, truth: npt.ArrayLike, old: int, named: str) -> None:
    with pytest.raises(InputError, match=named):
        accuracies(clusters, truth, old)


@pytest.mark.performance
def test_fast_at_many_samples_and_clusters() -> None:
    """45,000 samples in 5,000 clusters cost no more than sorting them a few hundred times."""
    clusters, truth = draw(5, 45_000, 5_000, 100)
    names = np.random.default_rng(0).integers(2**40, size=5_000)
    start = time.process_time()
    for _ in range(20):
        np.sort(names[clusters])
    sorting = time.process_time() - start
    start = time.process_time()
    accuracies(names[clusters], truth, 50)
    assert time.process_time() - start < 40 * sorting
