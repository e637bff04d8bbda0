r"""Compare two entries on the runs they share: same problem, same seed.

Gains are oriented by the metric, so that a positive one always says that the left entry is better:

- difference: :math:`g=\pm(l-r)`, with :math:`-` where lower is better; in the metric's unit,
  neutral at 0;
- ratio: :math:`l/r` where higher is better, :math:`r/l` where lower is; neutral at 1. Ratios are
  averaged as logarithms, so that the summary is a geometric mean and exchanging the entries gives
  exactly its reciprocal (Fleming & Wallace 1986, CACM 29(3)).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from podium.declarations.task import MetricSpec
from podium.errors import InputError
from podium.stats.bootstrap import Interval, mean_interval
from podium.stats.grid import Cell, FloatArray, Grid, score_grid
from podium.store.record import Record

Compare = Literal["difference", "ratio"]
NEUTRAL: dict[Compare, float] = {"difference": 0.0, "ratio": 1.0}


@dataclass(frozen=True)
class Tally:
    """On how many pairs the left entry did better, the same, and worse."""

    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class Paired:
    """Two entries on common axes.

    ``left`` and ``right``: their scores on the same problems and seeds. ``gains``: float64,
    (problems, seeds), differences or logarithms of ratios, NaN where a pair is not complete.
    """

    left: Grid
    right: Grid
    compare: Compare
    gains: FloatArray

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems, in the order of the rows."""
        return self.left.problems

    @property
    def pairs(self) -> tuple[int, ...]:
        """The number of complete pairs on each problem."""
        return tuple(int(n) for n in np.count_nonzero(~np.isnan(self.gains), axis=1))

    @property
    def failed(self) -> tuple[Cell, ...]:
        """Runs of either entry that were tried and gave no score, as (problem, seed)."""
        return tuple(sorted({*self.left.faults, *self.right.faults}))

    @property
    def unpaired(self) -> tuple[Cell, ...]:
        """Pairs of which one half was never tried; their scores are not used."""
        return tuple(
            (problem, seed)
            for problem in self.problems
            for seed in sorted(self.left.tried(problem) ^ self.right.tried(problem))
        )

    def interval(self, rng: np.random.Generator, problem: str | None = None) -> Interval:
        """Return the mean gain over problems and seeds, or on one problem, with its interval.

        A ratio is given as a ratio, not as its logarithm. Problems without a pair are left out;
        callers must say so where they use it.

        Raises:
            ValueError: there is no complete pair.
        """
        rows = [i for i, n in enumerate(self.pairs) if n and problem in (None, self.problems[i])]
        if not rows:
            raise ValueError("no complete pair")
        found = mean_interval(self.gains[rows], rng)
        if self.compare == "difference":
            return found
        low, high = found.low, found.high
        return Interval(
            _ratio(found.estimate),
            None if low is None else _ratio(low),
            None if high is None else _ratio(high),
            found.note,
        )

    def tally(self, problem: str | None = None) -> Tally:
        """Return wins, ties and losses of the left entry over all pairs, or on one problem."""
        row = slice(None) if problem is None else self.problems.index(problem)
        gains = self.gains[row]
        return Tally(
            wins=int(np.count_nonzero(gains > 0)),
            ties=int(np.count_nonzero(gains == 0)),
            losses=int(np.count_nonzero(gains < 0)),
        )


def _ratio(logarithm: float) -> float:
    """Return the ratio, at most the largest number there is."""
    return math.exp(min(logarithm, math.log(sys.float_info.max)))


def pair_entries(
    left: Iterable[Record],
    right: Iterable[Record],
    *,
    metric: MetricSpec,
    problems: Sequence[str],
    compare: Compare = "difference",
) -> Paired:
    """Pair two entries' records of one tier on the same problem and seed.

    Args:
        left: records of the one entry, at most one for each (problem, seed).
        right: records of the other.
        metric: the metric; its direction orients the gains.
        problems: the problems that count, in this order.
        compare: as a difference or as a ratio (module docstring).

    Raises:
        InputError: a ratio is asked for and a score is zero or negative.
    """
    ours, theirs = list(left), list(right)
    seeds = sorted({r.seed for r in (*ours, *theirs) if r.problem in problems})
    one = score_grid(ours, metric.name, problems, seeds)
    two = score_grid(theirs, metric.name, problems, seeds)
    better, worse = (one, two) if metric.direction == "higher" else (two, one)
    if compare == "difference":
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):  # of two huge scores; held to the largest number
            gains = np.clip(better.values - worse.values, -largest, largest)
    else:
        for grid in (one, two):
            _refuse_non_positive(grid, metric.name)
        gains = np.log(better.values) - np.log(worse.values)
    return Paired(one, two, compare, gains)


def _refuse_non_positive(grid: Grid, metric: str) -> None:
    rows, columns = np.nonzero(grid.values <= 0)
    if rows.size:
        i, j = int(rows[0]), int(columns[0])
        raise InputError(
            "a ratio needs scores above zero",
            where=f"problem {grid.problems[i]}, seed {grid.seeds[j]}",
            expected=f"{metric} > 0",
            found=repr(float(grid.values[i, j])),
            fix="compare by difference",
        )
