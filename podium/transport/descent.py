r"""Localised block coordinate descent for the Gromov-Wasserstein problem (LoBCD-GW).

Over the plans X with marginals a and b, minimise :math:`-\langle A X B, X\rangle`, which is the
Gromov-Wasserstein objective up to a constant and a factor. One step is exact mirror descent in the
Kullback-Leibler geometry: :math:`X \leftarrow \mathrm{Sinkhorn}(X \circ e^{s A X B})`.

A **block** holds rows I and columns J; everything else is frozen. Its marginals are those of the
whole minus the frozen mass (marginal compensation), and its gradient is

.. math:: (A X B)_{IJ} = R + A_{II} X_{IJ} B_{JJ}, \qquad R = (A X^{frozen} B)_{IJ}

with R, the cross term, constant while the block moves. A step on the block that holds everything
is the full step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.transport.products import Indices

# Most that a step may raise the objective, as a share of it, where the columns may be off by more.
_SLACK = 1e-4
_ROUNDING = 10
_SHORTER = 4.0
_TRIALS = 6
_TRACE = 1e-6


@dataclass(frozen=True)
class Step:
    """An accepted step: its phase, rows that moved, objective (up to constants), CPU seconds."""

    phase: str
    rows: int
    objective: float
    cpu_seconds: float


@dataclass(frozen=True)
class Settings:
    """Step length s, Sinkhorn's iterations in a step, and the relative gap at which they stop."""

    step: float
    scalings: int = 10
    tolerance: float = 3e-4


@dataclass
class Block:
    """Rows I and columns J that move, their marginals, their plan, and the frozen cross term R.

    ``potential`` is what the last scaling added to each column, as a part of the gradient: the
    next scaling starts from it.
    ``frozen`` is None where nothing is frozen; ``base`` is what the frozen parts alone add to the
    objective. ``plan`` is replaced, never written to.
    """

    pair: Any
    plan: Any
    a: Any
    b: Any
    potential: Any
    frozen: Any = None
    base: float = 0.0
    gain: Any = field(default=None, init=False)
    value: float = field(default=float("nan"), init=False)

    @property
    def objective(self) -> float:
        r"""Return :math:`-\langle A X B, X\rangle` of the whole plan, frozen parts included."""
        return self.base + self.value

    def refresh(self) -> None:
        r"""Compute the gradient term G of the plan, and :math:`-\langle G + R, X\rangle`.

        R counts twice in the objective, since the cross term appears on both sides of it.
        """
        self.gain, self.value = self._gain(self.plan)

    def _gain(self, plan: Any) -> tuple[Any, float]:
        gain = self.pair.cross(plan)
        if self.frozen is None:
            return gain, -self.pair.inner(gain, plan)
        value = -self.pair.inner(gain, plan) - 2 * self.pair.inner(self.frozen, plan)
        gain += self.frozen
        return gain, value

    def advance(self, settings: Settings) -> bool:
        """Take one mirror step; where it would raise the objective, a shorter one.

        A step is accepted if it raises the objective by no more than the share of it by which the
        columns of a plan may be off (``settings.tolerance``), 1e-4 at most, and ten units of
        rounding: the objectives of two plans whose marginals differ by that much cannot be told
        apart any better. With scaling carried to convergence, no accepted step raises it beyond
        rounding.

        Returns False, with the plan unchanged, if no step length is accepted or the step is 0.
        """
        if self.gain is None:
            self.refresh()
        if settings.step == 0:
            # Between costs of zeros, as of a single node, no plan is lower than another.
            return False
        length = settings.step
        tolerance = settings.tolerance * float(self.a.sum())
        rounding = _ROUNDING * float(np.finfo(self.pair.source.dtype).eps)
        slack = (min(_SLACK, settings.tolerance) + rounding) * abs(self.value)
        for _ in range(_TRIALS):
            plan = self.pair.mirror(self.plan, self.gain, self.potential, length)
            factors = self.pair.scale(plan, self.a, self.b, settings.scalings, tolerance)
            gain, value = self._gain(plan)
            if value <= self.value + slack:
                self.plan, self.gain, self.value = plan, gain, value
                self.potential = self.potential + factors / length
                return True
            length /= _SHORTER
        return False


def compensated(whole: Block, rows: Indices, columns: Indices) -> tuple[Any, Any]:
    r"""Return the marginals that the frozen mass leaves to a block, [k] and [l].

    .. math:: a_{I} - X_{I J^c} 1, \qquad b_{J} - X_{I^c J}^\top 1

    The second is scaled to the mass of the first, so that a plan of the block exists even where
    the columns of its plan are not scaled to the last digit.
    """
    plan, a, b = whole.plan, whole.a, whole.b
    inside = whole.pair.take(plan, rows, columns)
    a_part = a[rows] - (plan.sum(1)[rows] - inside.sum(1))
    b_part = b[columns] - (plan.sum(0)[columns] - inside.sum(0))
    # A row or column whose frozen part already holds all its mass keeps a trace of it.
    a_part = a_part.clip(min=_TRACE * float(a.max()))
    b_part = b_part.clip(min=_TRACE * float(b.max()))
    return a_part, b_part * (a_part.sum() / b_part.sum())


def freeze(whole: Block, rows: Indices, columns: Indices) -> Block:
    r"""Cut the block of ``rows`` and ``columns`` out of the whole, its marginals ``compensated``.

    .. math:: R = G_{IJ} - A_{II} X_{IJ} B_{JJ}

    Args:
        whole: everything, with nothing frozen and the gradient of its plan up to date.
        rows: int [k].
        columns: int [l].
    """
    pair = whole.pair
    part = pair.block(rows, columns)
    inside = pair.take(whole.plan, rows, columns)
    gain = pair.take(whole.gain, rows, columns)
    cross = gain - part.cross(inside)
    a, b = compensated(whole, rows, columns)
    block = Block(part, inside, a, b, whole.potential[columns], cross)
    block.gain, block.value = gain, -pair.inner(gain, inside) - pair.inner(cross, inside)
    block.base = whole.objective - block.value
    return block
