"""When to stop: one rule for every solver of this suite that iterates on plans."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from podium.transport.products import Indices

Floats = npt.NDArray[np.float64]

# Steps between two looks at where the rows send most of their mass.
STRIDE = 3
# Share of rows whose largest entry may move between two looks at a plan that has come to rest ...
_AT_REST = 1e-3
# ... and looks in succession that must find it so: after one, short steps may be on their way.
_LOOKS = 2


class Rest:
    """Tells when the largest entries of the rows stay in place from one look to the next."""

    def __init__(self) -> None:
        self._last: Indices | None = None
        self._calm = 0

    def reached(self, mapping: Indices) -> bool:
        """Look at the column of each row's largest entry, int [n]; say whether all are at rest.

        They are once two looks in succession find at most one row in a thousand moved since the
        look before.
        """
        last, self._last = self._last, mapping
        calm = last is not None and float(np.mean(mapping != last)) <= _AT_REST
        self._calm = self._calm + 1 if calm else 0
        return self._calm >= _LOOKS


def in_chunks(
    advance: Callable[[Floats, int], Floats], plan: Floats, *, steps: int, tolerance: float
) -> Floats:
    r"""Iterate until the rows are at rest, the plan changes no more, or the steps are used up.

    For a solver without a callback whose only state is its plan: it is called for ``STRIDE`` steps
    at a time, each time from the plan it returned, which are the steps of a single call. What a
    call costs beside its steps is of the order of the plan's entries; a step is a product of dense
    matrices.

    Args:
        advance: from a plan [n, m] and a number of steps to the plan after at most as many.
        plan: float64 [n, m], where to start.
        steps: at most, over all calls.
        tolerance: stop once a call changes the plan by no more than this (Frobenius norm), or to
            what is not finite.
    """
    rest = Rest()
    for done in range(0, steps, STRIDE):
        before = plan
        plan = advance(plan, min(STRIDE, steps - done))
        if not float(np.linalg.norm(plan - before)) > tolerance:
            break
        if rest.reached(np.asarray(plan.argmax(axis=1))):
            break
    return plan
