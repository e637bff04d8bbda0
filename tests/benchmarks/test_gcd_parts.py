"""Composed parts: what a sample holds, and what can and cannot be told from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression

from podium.benchmarks.gcd_accuracy import parts
from podium.discovery.kmeans import semi_supervised_kmeans
from podium.errors import InputError
from podium.metrics.discovery import accuracies

CLASSES, OLD, PARTS, EACH, TOKENS, DIMENSION = 20, 10, 16, 4, 16, 32


def composed(seed: int, **changes: Any) -> tuple[Any, ...]:
    """A problem of the small tier's size: tokens, classes, members, part and background vectors."""
    rng = np.random.default_rng(seed)
    members = parts.class_parts(CLASSES, PARTS, EACH, rng)
    vectors = parts.directions(PARTS, DIMENSION, rng)
    background = parts.directions(30, DIMENSION, rng)
    arguments: dict[str, Any] = {"samples": 100, "part_tokens": 7, "noise": 0.15}
    arguments |= {"background_scale": 1.2, **changes}
    tokens, labels = parts.compose(
        members,
        tokens=TOKENS,
        part_vectors=vectors,
        background_vectors=background,
        rng=rng,
        **arguments,
    )
    return tokens, labels, members, vectors, background


def nearest_kind(tokens: Any, vectors: Any, background: Any, scale: float) -> Any:
    """For each token the part it is nearest to, or -1 for a background direction."""
    kinds = np.concatenate([vectors, scale * background, -scale * background]).astype(np.float32)
    scores = tokens @ kinds.T - 0.5 * np.square(kinds).sum(axis=1)
    nearest = scores.argmax(axis=-1)
    return np.where(nearest < len(vectors), nearest, -1)


def test_directions_are_unit_vectors() -> None:
    drawn = parts.directions(50, 7, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 1.0)
    assert abs(drawn.mean()) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_classes_are_distinct_sets_of_parts(seed: int) -> None:
    members = parts.class_parts(CLASSES, PARTS, EACH, np.random.default_rng(seed))
    assert members.shape == (CLASSES, EACH)
    assert (np.diff(members) > 0).all()
    assert len({tuple(row) for row in members}) == CLASSES
    assert members.min() >= 0
    assert members.max() < PARTS


def test_all_sets_can_be_asked_for_and_no_more() -> None:
    members = parts.class_parts(6, 4, 2, np.random.default_rng(0))
    assert len({tuple(row) for row in members}) == 6
    with pytest.raises(InputError, match="too few sets of parts") as caught:
        parts.class_parts(7, 4, 2, np.random.default_rng(0))
    assert "6 sets of 2 out of 4" in str(caught.value)


def test_without_noise_every_token_is_a_part_of_the_class_or_a_signed_background() -> None:
    tokens, labels, members, vectors, background = composed(0, noise=0.0, samples=10)
    kinds = nearest_kind(tokens, vectors, background, 1.2)
    for sample, label, found in zip(tokens, labels, kinds, strict=True):
        held = found[found >= 0]
        assert held.size == 7
        assert set(held) == set(members[label])
        np.testing.assert_allclose(sample[found >= 0], vectors[held], atol=1e-6)
        lengths = np.linalg.norm(sample[found < 0], axis=1)
        np.testing.assert_allclose(lengths, 1.2, rtol=1e-5)
    # Both signs, every direction, every place.
    products = tokens[kinds < 0] @ background.T.astype(np.float32)
    largest = np.abs(products).argmax(axis=1)
    signs = np.take_along_axis(products, largest[:, None], axis=1) > 0
    assert set(largest) == set(range(30))
    assert 0.4 < signs.mean() < 0.6
    assert ((kinds >= 0).mean(axis=0) > 0.25).all()
    assert ((kinds >= 0).mean(axis=0) < 0.65).all()


def test_the_noise_is_as_large_as_asked_for() -> None:
    quiet, *_ = composed(1, noise=0.0)
    loud, *_ = composed(1, noise=0.3)
    assert (loud - quiet).std() == pytest.approx(0.3, rel=0.01)
    assert loud.dtype == np.float32


def test_the_seed_decides() -> None:
    first, again, other = (composed(seed, samples=5)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_whoever_knows_the_parts_can_name_every_class() -> None:
    """The task can be solved from its tokens."""
    tokens, labels, members, vectors, background = composed(2)
    kinds = nearest_kind(tokens, vectors, background, 1.2)
    counts = np.stack([(kinds == part).sum(axis=1) for part in range(PARTS)], axis=1)
    wanted = np.zeros((CLASSES, PARTS))
    np.put_along_axis(wanted, members, 1.0, axis=1)
    # Parts of the class that are seen, less parts that are not of it.
    named = (np.minimum(counts, 1) @ (2 * wanted - 1).T).argmax(axis=1)
    assert (named == labels).mean() > 0.98


def test_no_single_token_names_a_class() -> None:
    """Even the best part, seen without noise, leaves several classes."""
    shares = []
    for seed in range(5):
        members = parts.class_parts(CLASSES, PARTS, EACH, np.random.default_rng(seed))
        holders = np.bincount(members.ravel(), minlength=PARTS)
        # A sample shows four parts; by one of them its class is guessed among those that have it.
        shares.append((1 / holders[members]).mean())
    assert np.mean(shares) < 0.35


def test_the_mean_token_is_as_good_as_the_card_says() -> None:
    """The sizes left open were chosen for All .607 and Old .795 of the mean token."""
    all_shares, old_shares = [], []
    for seed in range(100, 106):
        tokens, labels, *_ = composed(seed)
        mean = tokens.mean(axis=1)
        half = (labels < OLD) & (np.arange(labels.size) % 2 == 0)
        rng = np.random.default_rng(seed)
        found = semi_supervised_kmeans(
            mean[half], labels[half], mean[~half], CLASSES, rng, restarts=3
        )
        all_shares.append(accuracies(found.clusters, labels[~half], OLD).all)
        unit = mean / mean[half].std()
        rest = ~half & (labels < OLD)
        head = LogisticRegression(C=10, max_iter=300).fit(unit[half], labels[half])
        old_shares.append(head.score(unit[rest], labels[rest]))
    assert np.mean(all_shares) == pytest.approx(0.607, abs=0.05)
    assert np.mean(old_shares) == pytest.approx(0.795, abs=0.05)


@pytest.mark.parametrize("part_tokens", [3, 17])
def test_parts_that_do_not_fit(part_tokens: int) -> None:
    with pytest.raises(InputError, match="the parts of a sample need a token each") as caught:
        composed(0, part_tokens=part_tokens)
    assert "4 to 16" in str(caught.value)


def test_as_many_parts_as_tokens() -> None:
    tokens, labels, members, vectors, _ = composed(3, part_tokens=16, noise=0.0, samples=4)
    kinds: npt.NDArray[np.int64] = (tokens @ vectors.T.astype(np.float32)).argmax(axis=-1)
    for label, found in zip(labels, kinds, strict=True):
        assert set(found) == set(members[label])
