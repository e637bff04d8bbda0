"""Scores of one entry as a (problem, seed) array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.store.record import Record

FloatArray = npt.NDArray[np.float64]
Cell = tuple[str, int]
HUGE = 1e150
"""Sums and squares of larger scores leave the range of numbers: these are scaled first."""


@dataclass(frozen=True)
class Grid:
    """Scores of one entry in one tier by one metric.

    ``values``: float64, (problems, seeds), NaN where no run gave a score.
    ``faults``: why a run that was tried gave none, by (problem, seed).
    """

    problems: tuple[str, ...]
    seeds: tuple[int, ...]
    values: FloatArray
    faults: Mapping[Cell, str]

    def tried(self, problem: str) -> set[int]:
        """Return the seeds that were tried on ``problem``, whether they gave a score or not."""
        row = self.values[self.problems.index(problem)]
        scored = {seed for seed, value in zip(self.seeds, row, strict=True) if not np.isnan(value)}
        return scored | {seed for name, seed in self.faults if name == problem}


def fault_of(record: Record, metric: str) -> str | None:
    """Return why ``record`` gives no score by ``metric``, or ``None`` where it gives one."""
    if record.status != "ok":
        return f"{record.status}: {record.reason or 'no reason was recorded'}"
    score = record.score(metric)
    if score is None:
        return f"{metric} was not recorded"
    if score.value is None:
        return f"{metric} is undefined: {score.reason or 'no reason was recorded'}"
    return None


def score_grid(
    records: Iterable[Record],
    metric: str,
    problems: Sequence[str],
    seeds: Sequence[int] | None = None,
) -> Grid:
    """Arrange one entry's records of one tier; those on other problems or seeds are left out.

    Args:
        records: at most one for each (problem, seed).
        metric: the metric to read.
        problems: the rows, in this order.
        seeds: the columns, in this order; by default every seed that was tried, ascending.

    Raises:
        ValueError: two records are of the same problem and seed.
    """
    wanted = [r for r in records if r.problem in problems and (seeds is None or r.seed in seeds)]
    columns = tuple(sorted({r.seed for r in wanted})) if seeds is None else tuple(seeds)
    row = {problem: i for i, problem in enumerate(problems)}
    column = {seed: i for i, seed in enumerate(columns)}
    values = np.full((len(row), len(column)), np.nan)
    faults: dict[Cell, str] = {}
    seen: set[Cell] = set()
    for record in wanted:
        cell = (record.problem, record.seed)
        if cell in seen:
            raise ValueError(f"two records of {record.entry} on problem and seed {cell}")
        seen.add(cell)
        fault = fault_of(record, metric)
        if fault is not None:
            faults[cell] = fault
        elif (score := record.score(metric)) is not None:
            values[row[record.problem], column[record.seed]] = score.value
    return Grid(tuple(problems), columns, values, faults)


def mean_score(values: FloatArray) -> float:
    """Return the mean of the values that are there; also of scores so large that their sum is not.

    Args:
        values: float64, any shape, finite or NaN, at least one of them a number.
    """
    present = values[~np.isnan(values)]
    scale = float(np.max(np.abs(present))) if np.max(np.abs(present)) > HUGE else 1.0
    return times(float(np.mean(present / scale)), scale)


def times(value: float, factor: float) -> float:
    """Return a product, held to the largest number there is in place of an infinity."""
    largest = float(np.finfo(np.float64).max)
    return min(max(value * factor, -largest), largest)
