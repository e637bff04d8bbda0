"""Rounding to the marginals, and the objective of what is rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from podium.metrics.alignment import gw_objective
from podium.metrics.rounding import rounded_objective, rounding
from podium.transport.marginals import round_to_marginals


def _spaces(seed: int, n: int, m: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    costs = [rng.random((k, k)) * (rng.random((k, k)) < 0.5) for k in (n, m)]
    masses = [rng.random(k) + 0.1 for k in (n, m)]
    plan = rng.random((n, m)) * (rng.random((n, m)) < 0.6)
    a, b = (x / x.sum() for x in masses)
    return *(x + x.T for x in costs), plan / max(plan.sum(), 1e-9) * rng.uniform(0.5, 1.5), a, b


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 8))
def test_it_is_the_objective_of_the_rounded_plan(seed: int, n: int, m: int) -> None:
    source, target, plan, a, b = _spaces(seed, n, m)
    rounded = round_to_marginals(plan, a, b)
    np.testing.assert_allclose(rounded.sum(axis=1), a, atol=1e-14)
    np.testing.assert_allclose(rounded.sum(axis=0), b, atol=1e-14)
    expected = pytest.approx(gw_objective(source, target, rounded), abs=1e-12)
    assert rounded_objective(source, target, plan, a, b) == expected
    sparse = csr_array(plan)
    found = rounded_objective(csr_array(source), csr_array(target), sparse, a, b)
    assert found == expected
    kept, _, _ = rounding(sparse, a, b)
    assert not isinstance(kept, np.ndarray)
    assert kept.nnz <= sparse.nnz


def test_shedding_mass_does_not_lower_it() -> None:
    source, target, _, _, _ = _spaces(0, 12, 12)
    mass = np.full(12, 1 / 12)
    plan = np.eye(12)[np.random.default_rng(1).permutation(12)] / 12
    full = gw_objective(source, target, plan)
    assert rounded_objective(source, target, plan, mass, mass) == pytest.approx(full, rel=1e-12)
    # The plan's own objective falls with the square of its mass; rounding puts it back.
    assert gw_objective(source, target, 0.9 * plan) < 0.9 * full
    lowest = min(
        rounded_objective(source, target, plan * keep[:, None], mass, mass)
        for keep in 1 - np.eye(12) * 0.5
    )
    product = gw_objective(source, target, np.outer(mass, mass))
    assert lowest >= min(full, product) * 0.9
    empty = rounded_objective(source, target, 0 * plan, mass, mass)
    assert empty == pytest.approx(product, rel=1e-12)
