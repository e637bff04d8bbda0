"""LoBCD-GW: align two spaces by localised block coordinate descent."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.transport.costs import Cost
from podium.transport.descent import Block, Settings, Step, compensated, freeze
from podium.transport.matching import overlap
from podium.transport.products import Indices, Pair
from podium.transport.stopping import STRIDE, Rest

Floats = npt.NDArray[np.float64]

# A row is settled once its largest entry holds this share of the mass that can go there ...
_HELD = 0.9
# ... and its neighbourhood overlaps with that of its image at least this much.
_OVERLAP = 0.5


@dataclass(frozen=True)
class Options:
    """How to align.

    ``sharpness`` is the exponent of a mirror step for a pair of nodes whose neighbourhoods agree
    fully, ``scalings`` the most Sinkhorn iterations in a step and ``tolerance`` the relative gap
    of the columns at which they stop, ``steps`` the most steps of a descent and ``rounds`` the most
    blocks it cuts out, ``attempts`` the most descents, the later ones with longer steps.
    ``localise`` off takes every step on everything.
    """

    sharpness: float = 160.0
    scalings: int = 100
    tolerance: float = 3e-4
    steps: int = 200
    rounds: int = 6
    attempts: int = 4
    localise: bool = True
    dtype: str = "float32"
    device: str = "cpu"


class Descent:
    """The state of one alignment: the plan, and what of it is settled."""

    def __init__(
        self, source: Cost, target: Cost, a: Floats, b: Floats, plan: Floats, options: Options
    ) -> None:
        self.options = options
        self.graphs = source.sparse and target.sparse
        self.source, self.target = source.cast(options.dtype), target.cast(options.dtype)
        self.pair = _pair(self.source, self.target, options.device)
        # Entries of order 1 for matchings and 1/n for the uniform start: within float32's reach.
        self.mass = float(np.sqrt(len(a) * len(b)))
        self.a, self.b = a * self.mass, b * self.mass
        typical = float(_lengths(self.source).mean() * _lengths(self.target).mean())
        self.settings = Settings(
            options.sharpness / typical if typical > 0 else 0.0, options.scalings, options.tolerance
        )
        array = self.pair.array
        self.whole = Block(
            self.pair, array(plan * self.mass), array(self.a), array(self.b), array(0 * self.b)
        )
        self.trace: list[Step] = []

    def plan(self) -> Floats:
        """Return the plan, float64 [n, m], positive, with its row sums exact."""
        return np.asarray(self.pair.numpy(self.whole.plan), dtype=np.float64) / self.mass

    def unsettled(self) -> tuple[Indices, Indices]:
        """Return the rows that are not settled, and the columns they may still move mass to."""
        plan = self.whole.plan
        mapping = self.pair.largest(plan)
        settled = self.pair.entries(plan, mapping) >= _HELD * np.minimum(self.a, self.b[mapping])
        if self.graphs:
            settled &= overlap(self.source, self.target, mapping) >= _OVERLAP
        rows = np.flatnonzero(~settled)
        free = self.pair.column_sums(plan, rows) > (1 - _HELD) * self.b
        return rows, np.flatnonzero(free)

    def run(self) -> None:
        """Descend on everything until half is settled, then on what is not, round by round.

        The first block goes on from where it stands. Later ones hold what came to rest without
        being settled: they start afresh, and are kept if they end lower.
        """
        self._follow(self.whole, "full", until_half=True)
        for number in range(self.options.rounds):
            rows, columns = self.unsettled()
            if not len(rows) or not len(columns) or not self._improve(rows, columns, number > 0):
                break

    def _improve(self, rows: Indices, columns: Indices, afresh: bool) -> bool:
        """Descend on a block; return whether that lowered the objective, else change nothing."""
        if not self.options.localise:
            return self._improve_whole(rows, columns, afresh)
        block = freeze(self.whole, rows, columns)
        if afresh:
            block.plan = block.a[:, None] * (block.b / block.b.sum())
            block.refresh()
        self._follow(block, "local")
        if not block.objective < self.whole.objective:
            return False
        self.whole.plan = self.pair.put(self.whole.plan, rows, columns, block.plan)
        self.whole.refresh()
        return True

    def _improve_whole(self, rows: Indices, columns: Indices, afresh: bool) -> bool:
        """Do the same with steps on everything: no block is cut out, and no product made twice."""
        plan = self.whole.plan
        if afresh:
            a, b = compensated(self.whole, rows, columns)
            plan = self.pair.put(plan, rows, columns, a[:, None] * (b / b.sum()))
        whole = replace(self.whole, plan=plan)
        if not afresh:
            whole.gain, whole.value = self.whole.gain, self.whole.value
        self._follow(whole, "full")
        if not whole.objective < self.whole.objective:
            return False
        self.whole = whole
        return True

    def _follow(self, block: Block, phase: str, *, until_half: bool = False) -> None:
        """Step until the largest entries of the rows are at rest, or half of all is settled."""
        rest = Rest()
        while len(self.trace) < self.options.steps:
            started = time.process_time()
            if not block.advance(self.settings):
                return
            seconds = time.process_time() - started
            self.trace.append(Step(phase, len(block.a), block.objective, seconds))
            if len(self.trace) % STRIDE:
                continue
            if rest.reached(self.pair.largest(block.plan)):
                return
            if until_half and len(self.unsettled()[0]) < len(self.a) / 2:
                return


def _pair(source: Any, target: Any, device: str) -> Any:
    """Return the products of two matrices on a device; on the CPU, SciPy's are the fastest."""
    if device == "cpu":
        return Pair(source, target)
    from podium.transport.torch_products import TorchPair

    return TorchPair(source, target, device)


def _lengths(matrix: Any) -> Floats:
    """Return the Euclidean length of each row; sparse arrays multiply by entry, as NumPy's do."""
    return np.sqrt(np.asarray((matrix * matrix).sum(axis=1), dtype=np.float64).ravel())
