"""Simulated series with a known causal graph: sparse VAR and Lorenz-96."""

from __future__ import annotations

from math import ceil

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Graph = npt.NDArray[np.uint8]

_RADIUS = 0.95
_STEP_TIMES_FORCING = 0.1


def var_coefficients(
    variables: int, lags: int, density: float, rng: np.random.Generator
) -> tuple[Floats, Graph]:
    r"""Draw a stable sparse vector autoregression.

    .. math:: x_t = \sum_{k=1}^{K} A_k x_{t-k} + e_t

    Self-links ``A_k[i, i] = 0.5 / k``; a share ``density`` of the ordered pairs are edges, with
    ``|A_k[i, j]| ~ U(.2, .8)`` and a random sign at every lag. All coefficients are then shrunk by
    one factor until the companion matrix has a spectral radius below .95.

    Returns:
        ``A`` float64 [lags, target, source] and the graph uint8 [target, source], self-links
        included.
    """
    pairs = np.argwhere(~np.eye(variables, dtype=np.bool_))
    edges = pairs[rng.permutation(len(pairs))[: round(density * len(pairs))]]
    graph = np.eye(variables, dtype=np.uint8)
    graph[edges[:, 0], edges[:, 1]] = 1
    size = rng.uniform(0.2, 0.8, (lags, variables, variables))
    sign = rng.choice([-1.0, 1.0], (lags, variables, variables))
    coefficients = size * sign * graph
    for k in range(lags):
        np.fill_diagonal(coefficients[k], 0.5 / (k + 1))
    while spectral_radius(coefficients) >= _RADIUS:
        coefficients *= 0.97
    return coefficients, graph


def spectral_radius(coefficients: Floats) -> float:
    """Return the largest modulus of the eigenvalues of a VAR's companion matrix.

    Args:
        coefficients: float64 [lags, target, source].
    """
    lags, size, _ = coefficients.shape
    companion = np.eye(lags * size, k=-size)
    companion[:size] = np.concatenate(list(coefficients), axis=1)
    return float(np.abs(np.linalg.eigvals(companion)).max())


def var_series(coefficients: Floats, steps: int, burn_in: int, rng: np.random.Generator) -> Floats:
    """Run a VAR with unit Gaussian noise from zero; return float64 [steps, variables]."""
    lags, size, _ = coefficients.shape
    x = rng.standard_normal((burn_in + steps, size))
    for t in range(1, len(x)):
        for k in range(min(lags, t)):
            x[t] += coefficients[k] @ x[t - 1 - k]
    return x[burn_in:]


def lorenz96_graph(variables: int) -> Graph:
    """Return the parents of the Lorenz-96 model, i-2, i-1, i, i+1, as uint8 [target, source]."""
    graph = np.zeros((variables, variables), dtype=np.uint8)
    target = np.arange(variables)
    for shift in (-2, -1, 0, 1):
        graph[target, (target + shift) % variables] = 1
    return graph


def lorenz96_rate(x: Floats, forcing: float) -> Floats:
    r"""Return :math:`\dot x_i = (x_{i+1} - x_{i-2})\, x_{i-1} - x_i + F` for x [variables]."""
    ring = np.concatenate((x[-2:], x, x[:1]))
    return (ring[3:] - ring[:-3]) * ring[1:-2] - x + forcing


def lorenz96_path(start: Floats, steps: int, dt: float, forcing: float) -> Floats:
    """Integrate Lorenz-96 by the classical Runge-Kutta rule, with inner steps of .1 / forcing.

    A fixed rule of elementwise sums and products gives the same bits on every machine; an adaptive
    solver would not, and the model is chaotic.

    Returns:
        float64 [steps, variables]; row ``t`` is the state at time ``(t + 1) * dt``.
    """
    # The rounding keeps a product such as .05 * 10 / .1 from being taken for a little more than 5.
    substeps = max(1, ceil(round(dt * abs(forcing) / _STEP_TIMES_FORCING, 6)))
    h = dt / substeps
    x = start.astype(np.float64)
    path = np.empty((steps, len(x)))
    for t in range(steps):
        for _ in range(substeps):
            k1 = lorenz96_rate(x, forcing)
            k2 = lorenz96_rate(x + h / 2 * k1, forcing)
            k3 = lorenz96_rate(x + h / 2 * k2, forcing)
            k4 = lorenz96_rate(x + h * k3, forcing)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path[t] = x
    return path


def lorenz96_series(
    variables: int,
    steps: int,
    *,
    dt: float,
    forcing: float,
    noise: float,
    burn_in: int,
    rng: np.random.Generator,
) -> Floats:
    """Observe Lorenz-96 on its attractor with Gaussian noise; return float64 [steps, variables].

    The start is ``forcing`` plus small Gaussian noise, the model's unstable fixed point;
    ``burn_in`` steps are dropped. ``noise`` is the observation noise's standard deviation, in the
    model's own unit.
    """
    start = forcing + rng.normal(0.0, 0.01, variables)
    path = lorenz96_path(start, burn_in + steps, dt, forcing)[burn_in:]
    return path + rng.normal(0.0, noise, path.shape)
