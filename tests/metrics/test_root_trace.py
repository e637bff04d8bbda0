"""Change of a root's trace by a few vectors, against the eigenvalues of the new matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.metrics.root_trace import change_of_root_trace

Floats = npt.NDArray[np.float64]


def by_eigenvalues(values: Floats, added: Floats, removed: Floats) -> float:
    changed = np.diag(values) + added.T @ added - removed.T @ removed
    return float(np.sqrt(np.linalg.eigvalsh(changed)).sum() - np.sqrt(values).sum())


def vectors(seed: int, values: Floats, count: int, size: float) -> Floats:
    """Vectors as the matrix itself would draw them, of a length that leaves most of it."""
    drawn = np.random.default_rng(seed).standard_normal((count, len(values)))
    return size * drawn * np.sqrt(values / len(values))


def test_one_dimension() -> None:
    """From 4 to 9, and from 4 to 1."""
    values, one, none = np.array([4.0]), np.array([[np.sqrt(5.0)]]), np.zeros((0, 1))
    assert change_of_root_trace(values, one, none) == pytest.approx(1.0, rel=1e-13)
    less = change_of_root_trace(values, none, np.array([[np.sqrt(3.0)]]))
    assert less == pytest.approx(-1.0, rel=1e-13)


def test_nothing_changes() -> None:
    none = np.zeros((0, 3))
    assert change_of_root_trace(np.array([1.0, 2.0, 3.0]), none, none) == 0.0
    same = vectors(0, np.ones(3), 1, 0.3)
    assert change_of_root_trace(np.ones(3), same, same) == pytest.approx(0.0, abs=1e-14)


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0, 10),
    st.integers(1, 30),
    st.integers(0, 6),
    st.integers(0, 6),
)
@settings(deadline=None)
def test_it_is_that_of_the_eigenvalues(
    seed: int, decades: float, dimension: int, more: int, fewer: int
) -> None:
    values = np.geomspace(10.0**-decades, 1.0, dimension) if dimension > 1 else np.ones(1)
    added, removed = vectors(seed, values, more, 1.5), vectors(seed + 1, values, fewer, 0.15)
    found = change_of_root_trace(values, added, removed)
    expected = by_eigenvalues(values, added, removed)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-10 * np.sqrt(values).sum())


def test_what_leaves_too_little_is_not_tried() -> None:
    values = np.array([1.0, 4.0])
    none = np.zeros((0, 2))
    assert change_of_root_trace(values, none, np.array([[0.0, 2.0]])) is None
    assert change_of_root_trace(values, none, np.array([[1.5, 0.0]])) is None
    assert change_of_root_trace(values, none, np.array([[0.9, 0.0]])) is not None
