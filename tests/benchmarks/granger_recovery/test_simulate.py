"""The simulators: stability, the right graph, an independent integrator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from podium.benchmarks.granger_recovery import simulate


@pytest.mark.parametrize("seed", range(5))
def test_var_coefficients_are_stable_and_match_the_graph(seed: int) -> None:
    rng = np.random.default_rng(seed)
    coefficients, graph = simulate.var_coefficients(10, 3, 0.3, rng)
    assert simulate.spectral_radius(coefficients) < 0.95
    np.testing.assert_array_equal((coefficients != 0).any(axis=0), graph == 1)
    assert graph.sum() == 10 + round(0.3 * 90)
    # Own lags keep their decay of 1/k under the common shrinkage.
    own = np.diagonal(coefficients, axis1=1, axis2=2)
    np.testing.assert_allclose(own[0], 2 * own[1])
    np.testing.assert_allclose(own[0], 3 * own[2])


def test_spectral_radius_of_known_processes() -> None:
    assert simulate.spectral_radius(np.array([[[0.5]]])) == pytest.approx(0.5)
    # z^2 = .5 z + .3
    root = (0.5 + np.sqrt(0.25 + 4 * 0.3)) / 2
    assert simulate.spectral_radius(np.array([[[0.5]], [[0.3]]])) == pytest.approx(root)
    rotation = 0.9 * np.array([[[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]]])
    assert simulate.spectral_radius(rotation) == pytest.approx(0.9)


def test_var_series_obeys_its_recursion() -> None:
    coefficients, _ = simulate.var_coefficients(4, 3, 0.4, np.random.default_rng(0))
    series = simulate.var_series(coefficients, 30, 5, np.random.default_rng(1))
    noise = np.random.default_rng(1).standard_normal((35, 4))[5:]
    for t in range(3, 30):
        expected = noise[t] + sum(coefficients[k] @ series[t - 1 - k] for k in range(3))
        np.testing.assert_allclose(series[t], expected)


def test_var_series_gives_its_coefficients_back() -> None:
    coefficients, _ = simulate.var_coefficients(3, 2, 0.5, np.random.default_rng(0))
    series = simulate.var_series(coefficients, 20_000, 100, np.random.default_rng(1))
    past = np.hstack([series[1:-1], series[:-2]])
    fitted = np.linalg.lstsq(past, series[2:], rcond=None)[0]
    expected = np.concatenate(list(coefficients), axis=1)
    # The standard error is about .01.
    np.testing.assert_allclose(fitted.T, expected, atol=0.04)


def test_lorenz96_parents_are_those_of_its_derivative() -> None:
    rng = np.random.default_rng(0)
    for size in (4, 6, 10):
        graph = np.zeros((size, size))
        for _ in range(3):
            x = rng.normal(size=size)
            for j in range(size):
                moved = x.copy()
                moved[j] += 1.0
                graph[:, j] += simulate.lorenz96_rate(moved, 8.0) != simulate.lorenz96_rate(x, 8.0)
        np.testing.assert_array_equal(graph > 0, simulate.lorenz96_graph(size) == 1)


def test_lorenz96_graph_by_hand() -> None:
    np.testing.assert_array_equal(np.flatnonzero(simulate.lorenz96_graph(7)[3]), [1, 2, 3, 4])
    np.testing.assert_array_equal(np.flatnonzero(simulate.lorenz96_graph(7)[0]), [0, 1, 5, 6])


@pytest.mark.parametrize("forcing", [10.0, 40.0])
def test_lorenz96_agrees_with_an_independent_integrator(forcing: float) -> None:
    first = forcing + np.random.default_rng(0).normal(0.0, 0.01, 10)
    start = simulate.lorenz96_path(first, 500, 0.05, forcing)[-1]
    times = 0.05 * np.arange(1, 9)

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        return np.array(
            [(x[(i + 1) % 10] - x[i - 2]) * x[i - 1] - x[i] + forcing for i in range(10)]
        )

    exact = solve_ivp(
        rate, (0.0, times[-1]), start, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-11
    ).y.T
    path = simulate.lorenz96_path(start, 8, 0.05, forcing)
    scale = np.abs(exact).max()
    np.testing.assert_allclose(path[:2] / scale, exact[:2] / scale, atol=5e-5)
    np.testing.assert_allclose(path / scale, exact / scale, atol=1e-3)


def test_lorenz96_fixed_point_and_fourth_order() -> None:
    resting = np.full(6, 8.0)
    np.testing.assert_array_equal(simulate.lorenz96_path(resting, 3, 0.05, 8.0), [resting] * 3)
    start = np.random.default_rng(0).normal(8.0, 2.0, 6)
    # One inner step for each dt: .0125 * 8 = .1.
    exact = simulate.lorenz96_path(start, 256, 0.05 / 256, 8.0)[-1]
    coarse = np.abs(simulate.lorenz96_path(start, 4, 0.0125, 8.0)[-1] - exact).max()
    fine = np.abs(simulate.lorenz96_path(start, 8, 0.00625, 8.0)[-1] - exact).max()
    assert coarse / fine == pytest.approx(16, rel=0.35)


def test_lorenz96_noise_is_the_declared_one() -> None:
    def series(noise: float) -> np.ndarray:
        return simulate.lorenz96_series(
            6, 400, dt=0.05, forcing=10.0, noise=noise, burn_in=100, rng=np.random.default_rng(0)
        )

    difference = series(0.1) - series(0.0)
    assert difference.std() == pytest.approx(0.1, rel=0.05)
    # On the attractor at F = 10: mean about 2.6, standard deviation about 4.
    assert 1.5 < series(0.0).mean() < 4.0
    assert 3.0 < series(0.0).std() < 5.0
