"""The linear floor costs next to nothing: its F-tests against those of statsmodels."""

from __future__ import annotations

import time

import numpy as np
import pytest
from statsmodels.tsa.api import VAR

from podium.baselines.var_granger.method import f_test
from podium.benchmarks.granger_recovery import simulate


@pytest.mark.performance
def test_all_pairs_at_least_200_times_faster_than_statsmodels() -> None:
    coefficients, _ = simulate.var_coefficients(10, 3, 0.3, np.random.default_rng(0))
    x = simulate.var_series(coefficients, 500, 100, np.random.default_rng(1))
    f_test(x, [500], 5).p_values()
    repeats = 20
    start = time.process_time()
    for _ in range(repeats):
        p = f_test(x, [500], 5).p_values()
    ours = (time.process_time() - start) / repeats
    start = time.process_time()
    fit = VAR(x).fit(5, trend="c")
    theirs_p = [[fit.test_causality(i, j, kind="f").pvalue for j in range(10)] for i in range(10)]
    theirs = time.process_time() - start
    np.testing.assert_allclose(p, theirs_p, rtol=1e-6, atol=1e-9)
    print(f"statsmodels {theirs:.3f} s, one solve {ours:.5f} s, ratio {theirs / ours:.0f}")
    assert theirs / ours >= 200
