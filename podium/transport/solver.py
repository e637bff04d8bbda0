"""LoBCD-GW: align two spaces by localised block coordinate descent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.transport.costs import Cost
from podium.transport.descent import Block, Settings, Step, freeze
from podium.transport.matching import overlap
from podium.transport.products import Indices, Pair

Floats = npt.NDArray[np.float64]

# A row is settled once its largest entry holds this share of the mass that can go there ...
_HELD = 0.9
# ... and its neighbourhood overlaps with that of its image at least this much.
_OVERLAP = 0.5
# Steps between two looks at what is settled.
_STRIDE = 3


@dataclass(frozen=True)
class Options:
    """Settings of ``descend``."""

    sharpness: float = 160.0
    scalings: int = 100
    tolerance: float = 3e-4
    steps: int = 200
    rounds: int = 6
    localise: bool = True
    dtype: str = "float32"
    device: str = "cpu"


class Descent:
    """The state of one alignment of two graphs: the plan, and what of it is settled."""

    def __init__(
        self,
        source: Cost,
        target: Cost,
        a: Floats,
        b: Floats,
        plan: Floats,
        options: Options,
        pair: Callable[[Any, Any], Any] = Pair,
    ) -> None:
        self.source: Any = source.cast(options.dtype)
        self.target: Any = target.cast(options.dtype)
        self.options = options
        self.graphs = source.sparse and target.sparse
        self.pair = pair(self.source, self.target)
        # Entries of order 1 for matchings and 1/n for the uniform start: within float32's reach.
        self.mass = float(np.sqrt(len(a) * len(b)))
        self.a, self.b = self.pair.array(a * self.mass), self.pair.array(b * self.mass)
        typical = _lengths(self.source).mean() * _lengths(self.target).mean()
        self.settings = Settings(
            options.sharpness / typical if typical > 0 else 0.0, options.scalings, options.tolerance
        )
        self.whole = Block(self.pair, self.pair.array(plan * self.mass), self.a, self.b, 0 * self.b)
        self.trace: list[Step] = []
        self.taken = 0

    def plan(self) -> Floats:
        """Return the plan, float64 [n, m], positive, with its row sums exact."""
        return np.asarray(self.pair.numpy(self.whole.plan), dtype=np.float64) / self.mass

    def settled(self) -> tuple[Indices, Indices]:
        """Return the rows that are not settled, and the columns they may still move mass to."""
        plan = self.pair.numpy(self.whole.plan)
        mapping = self.pair.largest(self.whole.plan)
        a, b = self.pair.numpy(self.a), self.pair.numpy(self.b)
        held = plan[np.arange(len(mapping)), mapping] >= _HELD * np.minimum(a, b[mapping])
        done = held
        if self.graphs:
            done &= overlap(self.source, self.target, mapping) >= _OVERLAP
        open_rows = np.flatnonzero(~done)
        free = plan[open_rows].sum(axis=0) > (1 - _HELD) * b
        return open_rows, np.flatnonzero(free)

    def run(self) -> None:
        """Descend on everything until most is settled, then on what is not."""
        n = len(self.a)
        self.follow(self.whole, "full", stop=lambda: len(self.settled()[0]) < 0.5 * n)
        for number in range(self.options.rounds):
            if self.taken >= self.options.steps:
                break
            rows, columns = self.settled()
            if not len(rows) or not len(columns):
                break
            if not self.improve(rows, columns, reopen=number > 0):
                break

    def improve(self, rows: Indices, columns: Indices, *, reopen: bool) -> bool:
        """Descend on a block from where it stands, or from its product plan; keep what is lower."""
        whole = self.whole
        block = freeze(whole, rows, columns)
        block.refresh()
        before = block.value
        if reopen:
            block.plan = block.a[:, None] * (block.b / block.b.sum())
            block.refresh()
        if self.options.localise:
            self.follow(block, "local")
            if not block.value < before:
                return False
            whole.plan = whole.plan.copy()
            self.pair.put(whole.plan, rows, columns, block.plan)
            whole.refresh()
            return True
        kept, value = whole.plan, whole.value
        whole.plan = whole.plan.copy()
        self.pair.put(whole.plan, rows, columns, block.plan)
        whole.refresh()
        self.follow(whole, "full")
        if whole.value < value:
            return True
        whole.plan = kept
        whole.refresh()
        return False

    def follow(self, block: Block, phase: str, stop: Callable[[], bool] | None = None) -> None:
        """Step until the largest entries of all rows stay where they are, or ``stop`` says so."""
        last = None
        while self.taken < self.options.steps:
            started = time.process_time()
            moved = block.advance(self.settings)
            self.taken += 1
            self.trace.append(Step(phase, len(block.a), block.value, time.process_time() - started))
            if not moved:
                return
            if self.taken % _STRIDE == 0:
                mapping = self.pair.largest(block.plan)
                if last is not None and np.mean(mapping != last) < 1e-3:
                    return
                last = mapping
                if stop is not None and stop():
                    return


def _lengths(matrix: Any) -> Floats:
    """Return the Euclidean length of each row; sparse arrays multiply by entry, as NumPy's do."""
    return np.sqrt(np.asarray((matrix * matrix).sum(axis=1), dtype=np.float64).ravel())
