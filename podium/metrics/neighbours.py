"""Fidelity, diversity and copying, by distances to nearest neighbours in feature space.

Distances are Euclidean, in double precision, block by block: no matrix of all pairs is ever held.
"Within a radius" means below it by more than rounding error (1e-12 of the squared lengths about the
real mean): a copied sample lies at the radius of some real one exactly, and must not be in or out
by luck.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.feature_sets import BLOCK, Floats, Rows, check_features

_ENTRIES = 1 << 23
"""Distances held at once: 64 MiB."""
_ROUNDING = 1e-12

Flags = npt.NDArray[np.bool_]


def precision_recall(real: npt.ArrayLike, fake: npt.ArrayLike, k: int = 3) -> tuple[float, float]:
    r"""Improved precision and recall: shares of samples inside the other set's manifold.

    .. math:: \frac1m \sum_j 1\big[\exists i: \|y_j - x_i\| < r_k(x_i)\big], \qquad
              \frac1n \sum_i 1\big[\exists j: \|x_i - y_j\| < r_k(y_j)\big]

    with :math:`r_k` the distance to the k-th nearest other sample of the same set.

    Args:
        real: real numbers [n, d], more than k samples.
        fake: real numbers [m, d], more than k samples.
        k: neighbours, at least 1.

    Returns:
        Precision (of the fakes) and recall (of the real samples), each in [0, 1], higher is better.

    Raises:
        InputError: too few samples, other dimensions, entries that are not finite (with rows), or
            a bad k.

    Source: Kynkaanniemi et al., NeurIPS 2019, equations 1 and 2; strict as in the package prdc.
    """
    pair = _Pair(real, fake, "real", "fake", _least(k))
    real_radii, fake_radii = pair.radii(pair.first, k), pair.radii(pair.second, k)
    inside, reached = 0, np.zeros(len(pair.first), dtype=np.bool_)
    for block, squares, slack in pair.distances(pair.second, pair.first):
        squares += slack
        inside += int((squares < real_radii).any(axis=1).sum())
        reached |= (squares < fake_radii[block, None]).any(axis=0)
    return inside / len(pair.second), float(reached.mean())


def density_coverage(real: npt.ArrayLike, fake: npt.ArrayLike, k: int = 5) -> tuple[float, float]:
    r"""Density and coverage: how many real neighbourhoods a fake is in, and how many hold one.

    .. math:: \frac{1}{km} \sum_{ij} 1\big[\|y_j - x_i\| < r_k(x_i)\big], \qquad
              \frac1n \sum_i 1\big[\exists j: \|y_j - x_i\| < r_k(x_i)\big]

    with :math:`r_k` the distance to the k-th nearest other real sample.

    Args:
        real: real numbers [n, d], more than k samples.
        fake: real numbers [m, d], at least one sample.
        k: neighbours, at least 1.

    Returns:
        Density, at least 0 and about 1 for equal distributions (it may be above), and coverage in
        [0, 1]; higher is better.

    Raises:
        InputError: too few samples, other dimensions, entries that are not finite (with rows), or
            a bad k.

    Source: Naeem et al., ICML 2020, equations 3 and 4.
    """
    pair = _Pair(real, fake, "real", "fake", _least(k), 1)
    radii = pair.radii(pair.first, k)
    hits, covered = 0, np.zeros(len(pair.first), dtype=np.bool_)
    for _, squares, slack in pair.distances(pair.second, pair.first):
        squares += slack
        inside = squares < radii
        hits += int(inside.sum())
        covered |= inside.any(axis=0)
    return hits / (k * len(pair.second)), float(covered.mean())


def authenticity(train: npt.ArrayLike, fake: npt.ArrayLike) -> float:
    r"""Share of samples that are farther from a training sample than that one's own neighbour.

    .. math:: \frac1m \sum_j 1\big[\|y_j - x_{i(j)}\| > r_1(x_{i(j)})\big], \qquad
              i(j) = \arg\min_i \|y_j - x_i\|

    with :math:`r_1` the distance to the nearest other training sample. A copy is never authentic,
    not even of a sample that the training set holds twice.

    Args:
        train: real numbers [n, d], at least two samples.
        fake: real numbers [m, d], at least one sample.

    Returns:
        A float in [0, 1], higher means fewer copies; a perfect generator has about 1/2.

    Raises:
        InputError: too few samples, other dimensions, or entries that are not finite (with rows).

    Source: Alaa et al., ICML 2022, section 3.3.
    """
    pair = _Pair(train, fake, "train", "fake", 2, 1)
    radii = pair.radii(pair.first, 1)
    authentic = 0
    for _, squares, slack in pair.distances(pair.second, pair.first):
        nearest = squares.argmin(axis=1)
        lowest = squares[np.arange(len(squares)), nearest]
        authentic += int((lowest > radii[nearest] + slack[:, 0]).sum())
    return authentic / len(pair.second)


def duplicates(train: npt.ArrayLike, fake: npt.ArrayLike, tolerance: float) -> float:
    r"""Share of samples that are a training sample, up to a root mean square difference.

    .. math:: \frac1m \sum_j 1\Big[\min_i \|y_j - x_i\| \le \tau \sqrt{d}\Big]

    Args:
        train: real numbers [n, d], at least one sample (pictures as rows of pixels will do).
        fake: real numbers [m, d], at least one sample.
        tolerance: :math:`\tau`, the largest root mean square of the d differences, at least 0, in
            units of the entries (levels, for pixels).

    Returns:
        A float in [0, 1], lower means fewer copies.

    Raises:
        InputError: too few samples, other dimensions, entries that are not finite (with rows), or
            a bad tolerance.
    """
    if not 0.0 <= tolerance < np.inf:
        raise InputError(
            "bad tolerance",
            where="tolerance",
            expected="a finite number >= 0",
            found=repr(tolerance),
        )
    pair = _Pair(train, fake, "train", "fake", 1, 1)
    limit = tolerance**2 * pair.first.shape[1]
    copies = 0
    for _, squares, slack in pair.distances(pair.second, pair.first):
        copies += int((squares.min(axis=1) <= limit + slack[:, 0]).sum())
    return copies / len(pair.second)


def _least(k: int) -> int:
    if k < 1:
        raise InputError("bad k", where="k", expected="a whole number >= 1", found=repr(k))
    return k + 1


class _Pair:
    """Two sets and the squared distances within and between them."""

    def __init__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        first_name: str,
        second_name: str,
        least: int,
        second_least: int | None = None,
    ) -> None:
        self.first = check_features(first, first_name, least=least)
        self.second = check_features(
            second,
            second_name,
            least=least if second_least is None else second_least,
            dimension=self.first.shape[1],
        )
        # Squared distances are differences of squared lengths: about a common centre these are
        # small, and so is what rounding takes from the differences.
        self._centre = self.first.mean(axis=0, dtype=np.float64)
        self._lengths = {
            id(rows): self._squared_lengths(rows) for rows in (self.first, self.second)
        }

    def radii(self, rows: Rows, k: int) -> Floats:
        """Return the squared distance of each row to the k-th nearest other row of its set."""
        result = np.empty(len(rows))
        for block, squares, _ in self.distances(rows, rows):
            squares[np.arange(len(squares)), np.arange(block.start, block.stop)] = np.inf
            squares.partition(k - 1, axis=1)
            result[block] = squares[:, k - 1]
        return result

    def distances(self, rows: Rows, columns: Rows) -> Iterator[tuple[slice, Floats, Floats]]:
        """Yield a slice of rows, their squared distances [rows, columns], and rounding [rows, 1].

        The yielded arrays are the receiver's to change.
        """
        step = max(1, min(BLOCK, _ENTRIES // len(columns)))
        row_lengths, column_lengths = self._lengths[id(rows)], self._lengths[id(columns)]
        largest = column_lengths.max()
        for start in range(0, len(rows), step):
            block = slice(start, min(start + step, len(rows)))
            lengths = row_lengths[block, None]
            squares = np.empty((len(lengths), len(columns)))
            left = self._centred(rows[block])
            for first in range(0, len(columns), BLOCK):
                part = slice(first, first + BLOCK)
                np.matmul(left, self._centred(columns[part]).T, out=squares[:, part])
            squares *= -2.0
            squares += lengths
            squares += column_lengths
            yield block, np.maximum(squares, 0.0, out=squares), _ROUNDING * (lengths + largest)

    def _centred(self, rows: Rows) -> Floats:
        centred: Floats = np.subtract(rows, self._centre, dtype=np.float64)
        return centred

    def _squared_lengths(self, rows: Rows) -> Floats:
        result = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            block = self._centred(rows[start : start + BLOCK])
            result[start : start + BLOCK] = np.einsum("ij,ij->i", block, block)
        if not np.isfinite(result).all():
            raise InputError("the features are too large for distances", where="features")
        return result
