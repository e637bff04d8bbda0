"""KID: the formula by loops, no bias on equal distributions, the field's own code, bad input."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.errors import InputError
from podium.metrics import kernel_distance as module
from podium.metrics.kernel_distance import kernel_distance, mmd

Floats = npt.NDArray[np.float64]


def normal(seed: int, count: int, dimension: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def by_loops(x: Floats, y: Floats) -> float:
    def k(u: Floats, v: Floats) -> float:
        return float((u @ v / len(u) + 1) ** 3)

    n, m = len(x), len(y)
    within_x = sum(k(x[i], x[j]) for i in range(n) for j in range(n) if i != j)
    within_y = sum(k(y[i], y[j]) for i in range(m) for j in range(m) if i != j)
    between = sum(k(u, v) for u in x for v in y)
    return within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - 2 * between / (n * m)


@pytest.mark.parametrize(("n", "m", "dimension"), [(2, 2, 1), (7, 12, 3), (20, 5, 8)])
def test_the_formula_by_loops(n: int, m: int, dimension: int) -> None:
    x, y = normal(0, n, dimension), normal(1, m, dimension) + 0.5
    assert mmd(x, y) == pytest.approx(by_loops(x, y), rel=1e-12)


def test_points_at_the_origin_and_at_one_place() -> None:
    """k(0, 0) = k(0, v) = 1 and k(v, v) = (v.v / d + 1)^3: (2^3 - 1) for v of ones."""
    assert mmd(np.zeros((5, 3)), np.ones((4, 3))) == pytest.approx(7.0, rel=1e-14)
    assert mmd(np.ones((5, 3)), np.ones((4, 3))) == pytest.approx(0.0, abs=1e-14)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = normal(2, 50, 4), normal(3, 33, 4)
    whole = mmd(x, y)
    for block in (1, 7, 33):
        monkeypatch.setattr(module, "_BLOCK", block)
        assert mmd(x, y) == pytest.approx(whole, rel=1e-10)


def test_equal_distributions_are_at_zero_in_the_mean() -> None:
    values = [mmd(normal(2 * seed, 40, 5), normal(2 * seed + 1, 60, 5)) for seed in range(400)]
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values)) <= 3 * error
    assert min(values) < 0 < max(values)
    # The biased estimate, with the diagonal, would be far outside.
    assert 20 * error < 8 / 40


def test_subsets_have_the_mean_of_the_whole() -> None:
    x, y = normal(4, 300, 6), normal(5, 400, 6) * 1.3 + 0.2
    rng = np.random.default_rng(0)
    values = [kernel_distance(x, y, subsets=10, size=50, rng=rng) for _ in range(40)]
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    assert abs(np.mean(values) - mmd(x, y)) <= 4 * error


def test_whole_sets_as_one_subset_are_the_whole_sample_estimate() -> None:
    x, y = normal(6, 50, 6), normal(7, 50, 6) + 1
    found = kernel_distance(x, y, subsets=2, size=1000, rng=np.random.default_rng(0))
    assert found == pytest.approx(mmd(x, y), rel=1e-12)


def test_the_seed_matters_and_nothing_else() -> None:
    x, y = normal(8, 90, 3), normal(9, 80, 3)
    before = repr(np.random.get_state())
    first, again, other = (
        kernel_distance(x, y, subsets=3, size=20, rng=np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert repr(np.random.get_state()) == before


def test_clean_fid_and_torchmetrics_agree(peer: Callable[[str], Any]) -> None:
    import torch

    x, y = normal(10, 120, 16), normal(11, 120, 16) * 1.2
    clean = peer("cleanfid.fid").kernel_distance(x, y, num_subsets=1, max_subset_size=120)
    assert mmd(x, y) == pytest.approx(clean, rel=1e-9)
    theirs = peer("torchmetrics.image.kid").poly_mmd(torch.from_numpy(x), torch.from_numpy(y))
    assert mmd(x, y) == pytest.approx(float(theirs), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.integers(2, 20))
@settings(deadline=None)
def test_order_rotation_and_symmetry(seed: int, n: int, m: int) -> None:
    x, y = normal(seed, n, 4), normal(seed + 1, m, 4)
    near = pytest.approx(mmd(x, y), rel=1e-9, abs=1e-11)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    assert mmd(y, x) == near
    assert mmd(x[rng.permutation(n)], y) == near
    assert mmd(x @ turn, y @ turn) == near


def test_half_precision_is_that_of_its_values_in_double() -> None:
    x, y = normal(13, 30, 4).astype(np.float16), normal(14, 30, 4).astype(np.float16)
    assert mmd(x, y) == mmd(x.astype(np.float64), y.astype(np.float64))


def test_one_picture_repeated_is_far_and_equal_sets_are_below_zero() -> None:
    """Of a set and itself the pairs of equals count between the sets and not within them."""
    x = normal(15, 40, 4)
    assert mmd(x, np.tile(x[:1], (40, 1))) > 0.1
    assert mmd(x, x) < 0.0


def test_memory_is_flat() -> None:
    x = np.random.default_rng(12).standard_normal((6000, 2), dtype=np.float32)
    tracemalloc.start()
    mmd(x, x[:3000])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 6000 * 6000 * 8 / 2


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.zeros((1, 3)), np.zeros((5, 3)), "too few"),
        (np.zeros((5, 3)), np.zeros((5, 4)), "another dimension"),
        (np.array([[0.0], [0.0], [np.nan]]), np.zeros((5, 1)), "rows: 2"),
        (np.full((2, 1), 1e200), np.zeros((5, 1)), "too large"),
    ],
)
def test_bad_features(x: Floats, y: Floats, words: str) -> None:
    with pytest.raises(InputError, match=words):
        mmd(x, y)
    with pytest.raises(InputError, match=words):
        kernel_distance(x, y, rng=np.random.default_rng(0))


@pytest.mark.parametrize("argument", [{"subsets": 0}, {"size": 1}])
def test_bad_arguments(argument: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(argument))):
        kernel_distance(np.eye(3), np.eye(3), rng=np.random.default_rng(0), **argument)
