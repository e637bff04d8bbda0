"""BAPG with sparse products: the baseline that shows what the products alone are worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.transport.costs import Cost
from podium.transport.products import Pair, Plan
from podium.transport.stopping import STRIDE, Rest

Floats = npt.NDArray[np.float64]


def bapg(
    source: Cost,
    target: Cost,
    a: Floats,
    b: Floats,
    plan: Floats,
    *,
    epsilon: float,
    steps: int,
    tolerance: float,
    marginal_terms: bool,
    until_rest: bool,
    dtype: str = "float32",
) -> Floats:
    r"""Bregman alternating projected gradient.

    .. math:: X \leftarrow \mathrm{diag}(\cdot)\, (X \circ e^{-F / \epsilon}), \qquad
              X \leftarrow (X \circ e^{-F / \epsilon})\, \mathrm{diag}(\cdot), \qquad
              F = 2 (u 1^\top + 1 v^\top) - 4 A X B

    with :math:`u = (A \circ A) a`, :math:`v = (B \circ B) b`, the first scaling to the row sums
    ``a``, the second to the column sums ``b``. The plan that is returned meets ``b`` and, in
    general, not ``a``.

    Args:
        source: [n, n].
        target: [m, m].
        a: float64 [n] > 0 with sum 1.
        b: float64 [m] > 0 with sum 1.
        plan: float64 [n, m], where to start.
        epsilon: step weight; the gradient scales with 1/n.
        steps: pairs of half steps at most.
        tolerance: stop once a step changes the plan by no more than this (Frobenius norm), as POT
            does; looked at in every third step.
        marginal_terms: whether F has its first part; the authors leave it out on graphs.
        until_rest: whether to stop, too, once the largest entries of the rows are at rest
            (``podium.transport.stopping.Rest``).
        dtype: float32 or float64, of the iteration.

    Returns:
        float64 [n, m] >= 0.

    Source: Li et al. 2023, algorithm 1, as in POT's ``BAPG_gromov_wasserstein`` with
    ``marginal_loss`` as ``marginal_terms``.
    """
    # Costs over their largest are within float32's reach at any scale; the step makes up for it.
    scale = max(source.largest(), target.largest()) or 1.0
    source, target = source.divided(scale), target.divided(scale)
    pair = Pair(source.cast(dtype), target.cast(dtype))
    mass = float(np.sqrt(len(a) * len(b)))
    rows, columns = pair.array(a * mass), pair.array(b * mass)
    current = pair.array(plan * mass)
    share = mass / 2 if marginal_terms else 0.0
    u = pair.array(share * source.second_moments(a))[:, None]
    v = pair.array(share * target.second_moments(b))
    step = 4 / (epsilon * mass) * scale**2
    rest = Rest()
    for number in range(steps):
        before = current
        current = _tilted(current, pair.cross(current) - v, step, axis=1)
        current *= (rows / current.sum(axis=1))[:, None]
        current = _tilted(current, pair.cross(current) - u, step, axis=0)
        current *= columns / current.sum(axis=0)
        if number % STRIDE == 0:
            change = float(np.linalg.norm(current - before)) / mass
            if not change > tolerance:
                break
        if until_rest and number % STRIDE == STRIDE - 1 and rest.reached(current.argmax(axis=1)):
            break
    return current.astype(np.float64) / mass


def _tilted(plan: Plan, gain: Plan, step: float, *, axis: int) -> Plan:
    """Return the plan times exp(step gain), up to factors that the scaling of ``axis`` removes."""
    gain -= gain.max(axis=axis, keepdims=True)
    gain *= plan.dtype.type(step)
    np.exp(gain, out=gain)
    gain *= plan
    # No row or column may vanish: it could not be scaled.
    return np.maximum(gain, np.finfo(plan.dtype).tiny * 1e3, out=gain)
