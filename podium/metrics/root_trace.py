"""Trace of the square root of a matrix that a few vectors change, without a new eigenproblem."""

from __future__ import annotations

import numpy as np

from podium.metrics.feature_sets import Floats

_EPSILON = float(np.finfo(np.float64).eps)
_LEFT = 1e-6
"""Share of the matrix that must be left in every direction by what is taken away."""


def change_of_root_trace(values: Floats, added: Floats, removed: Floats) -> float | None:
    r"""Return how much the trace of a square root changes with its matrix.

    .. math:: \mathrm{tr} (\Lambda + P^\top P - R^\top R)^{1/2} - \mathrm{tr} \Lambda^{1/2}
              = \frac1\pi \int_0^\infty \log\det\big(I + D U (\Lambda + u^2)^{-1} U^\top\big)\, du

    with U the rows of P above those of R and D their signs: the determinants are of the number of
    rows, k, and not of the dimension. The substitution that spreads the roots of the spectrum
    evenly, :math:`u = \sqrt{\lambda_{min}}\, \mathrm{sc}(v)`, makes the midpoint rule converge
    geometrically: forty nodes leave only rounding at a condition of 1e10. Time O(40 d k^2).

    Args:
        values: float64 [d], rising, the diagonal of the matrix, above 0.
        added, removed: float64 [n, d] and [m, d]: P and R.

    Returns:
        The change, or None where less than 1e-6 of the matrix would be left in some direction: the
        new matrix is then too nearly singular for this.

    Source: the determinant lemma; Hale, Higham and Trefethen 2008 (the substitution).
    """
    whitened = removed / np.sqrt(values)
    left = 1.0 - _largest(whitened @ whitened.T)
    if left < _LEFT:
        return None
    rows = np.concatenate([added, removed])
    signs = np.repeat([1.0, -1.0], [len(added), len(removed)])
    roots, weights = _nodes(left * values[0], values[-1] + float(np.vdot(added, added)))
    inner = np.empty((len(roots), len(rows), len(rows)))
    for node, root in enumerate(roots):
        scaled = rows / np.sqrt(values + root * root)
        np.matmul(scaled, scaled.T, out=inner[node])
    inner[:, np.arange(len(rows)), np.arange(len(rows))] += signs
    sign, logarithms = np.linalg.slogdet(inner)
    if not (sign == np.prod(signs)).all():
        return None
    return float(weights @ logarithms) / np.pi


def _largest(matrix: Floats) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1]) if len(matrix) else 0.0


def _nodes(low: float, high: float) -> tuple[Floats, Floats]:
    """Return nodes and weights on (0, inf) for matrices with eigenvalues in [low, high].

    The elliptic functions come from the arithmetic-geometric mean started from the complementary
    modulus, which is small: from the modulus, which rounds to 1, they would lose half their digits.
    The upper half of the nodes is the mirror image of the lower one.
    """
    modulus = np.sqrt(low / high)
    mean, other, ratios = 1.0, modulus, []
    while mean - other > 4 * _EPSILON * mean:
        ratios.append((mean - other) / (mean + other))
        mean, other = (mean + other) / 2, np.sqrt(mean * other)
    period = np.pi / (2 * mean)
    # The error of the midpoint rule is exp(-pi^2 nodes / period): 35 is past double precision.
    half = int(np.ceil(35 * period / (2 * np.pi**2)))
    step = period / (2 * half)
    angle = 2.0 ** len(ratios) * mean * (np.arange(half) + 0.5) * step
    for ratio in reversed(ratios):
        angle = (angle + np.arcsin(ratio * np.sin(angle))) / 2
    sine, cosine = np.sin(angle), np.cos(angle)
    nodes = np.sqrt(low) * sine / cosine
    weights = step * np.sqrt(low) * np.sqrt(cosine**2 + (modulus * sine) ** 2) / cosine**2
    mirror = np.sqrt(low * high) / nodes
    return np.concatenate([nodes, mirror]), np.concatenate([weights, mirror / nodes * weights])
