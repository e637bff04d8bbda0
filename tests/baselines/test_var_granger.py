"""The F-test of all pairs: closed form, statsmodels, distribution, and hard designs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.tsa.api import VAR

from podium.baselines.var_granger.method import choose_lags, f_test
from podium.benchmarks.granger_recovery import simulate


def series(variables: int, steps: int, seed: int = 0, lags: int = 2) -> np.ndarray:
    coefficients, _ = simulate.var_coefficients(variables, lags, 0.3, np.random.default_rng(seed))
    return simulate.var_series(coefficients, steps, 50, np.random.default_rng(seed + 100))


@pytest.mark.parametrize(("variables", "steps", "lags"), [(3, 60, 1), (4, 120, 3), (5, 300, 2)])
def test_equals_statsmodels(variables: int, steps: int, lags: int) -> None:
    x = series(variables, steps)
    test = f_test(x, [steps], lags)
    p = test.p_values()
    fit = VAR(x).fit(lags, trend="c")
    for i in range(variables):
        for j in range(variables):
            other = fit.test_causality(i, j, kind="f")
            assert test.statistic[i, j] == pytest.approx(other.test_statistic, rel=1e-9)
            assert p[i, j] == pytest.approx(other.pvalue, rel=1e-9, abs=1e-9)
            assert test.df_model == other.df[0]
            assert test.df_residual == other.df[1]


def test_equals_statsmodels_on_lorenz96() -> None:
    x = simulate.lorenz96_series(
        6, 300, dt=0.05, forcing=10.0, noise=0.1, burn_in=200, rng=np.random.default_rng(0)
    )
    test = f_test(x, [300], 5)
    fit = VAR(x).fit(5, trend="c")
    for i in range(6):
        for j in range(6):
            other = fit.test_causality(i, j, kind="f")
            assert test.statistic[i, j] == pytest.approx(other.test_statistic, rel=1e-9)


def test_one_lag_is_the_squared_t_statistic() -> None:
    x = series(3, 200)
    design = np.column_stack([np.ones(199), x[:-1]])
    y = x[1:, 1]
    beta, rss, _, _ = np.linalg.lstsq(design, y, rcond=None)
    covariance = np.linalg.inv(design.T @ design) * rss[0] / (199 - 4)
    t = beta[1:] / np.sqrt(np.diag(covariance)[1:])
    np.testing.assert_allclose(f_test(x, [200], 1).statistic[1], t**2, rtol=1e-9)


def test_trajectories_are_fitted_jointly() -> None:
    x = series(3, 90)
    test = f_test(x, [40, 50], 2)
    rows = [t for t in range(90) if t not in (0, 1, 40, 41)]
    design = np.array([[1.0, *x[t - 1], *x[t - 2]] for t in rows])
    for i in range(3):
        full = np.linalg.lstsq(design, x[rows, i], rcond=None)[1][0]
        for j in range(3):
            less = np.delete(design, [1 + j, 4 + j], axis=1)
            reduced = np.linalg.lstsq(less, x[rows, i], rcond=None)[1][0]
            expected = (reduced - full) / 2 / (full / (len(rows) - 7))
            assert test.statistic[i, j] == pytest.approx(expected, rel=1e-9)


def test_p_values_are_uniform_without_edges() -> None:
    rng = np.random.default_rng(0)
    off = ~np.eye(4, dtype=bool)
    p = np.concatenate(
        [f_test(rng.standard_normal((200, 4)), [200], 2).p_values()[off] for _ in range(60)]
    )
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_order_by_bic() -> None:
    x = series(4, 2000, lags=3)
    assert choose_lags(x, [2000], 6) == 3
    assert VAR(x).select_order(6, trend="c").selected_orders["bic"] == 3
    rng = np.random.default_rng(0)
    assert choose_lags(rng.standard_normal((500, 4)), [500], 5) == 1
    # Four trajectories of 21 steps and ten variables: three lags leave too few rows, one is taken.
    short = np.cumsum(rng.standard_normal((84, 10)), axis=0)
    assert choose_lags(short, [21] * 4, 5) <= 3


def test_fewer_rows_than_coefficients_take_a_ridge() -> None:
    x = series(12, 30)
    test = f_test(x, [30], 3)
    assert test.ridge > 0
    assert np.isfinite(test.statistic).all()
    assert (test.statistic >= 0).all()
    assert 0 < test.df_residual < 12 * 26
    assert f_test(x[:, :3], [30], 3).ridge == 0


def test_dependent_columns_share_their_evidence() -> None:
    x = series(3, 200)
    doubled = np.column_stack([x, x[:, 0]])
    test = f_test(doubled, [200], 1)
    assert test.ridge > 0
    np.testing.assert_allclose(test.statistic[:, 0], test.statistic[:, 3], rtol=1e-6)


def test_an_exact_copy_is_the_strongest_edge() -> None:
    rng = np.random.default_rng(0)
    source = rng.standard_normal(101)
    x = np.column_stack([source[1:], source[:-1], rng.standard_normal(100)])
    test = f_test(x, [100], 1)
    assert np.isfinite(test.statistic).all()
    # Row 1, column 0: the second variable repeats the first.
    assert test.statistic.argmax() == 3
