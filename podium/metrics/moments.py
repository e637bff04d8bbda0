"""Mean and covariance of features that arrive piece by piece, in memory that stays flat."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.feature_sets import Floats, Rows, check_features

_BUFFER_BYTES = 32 * 2**20


class Moments:
    r"""Running first and second moments of feature vectors.

    .. math:: \mu = c + \frac1n \sum_i (f_i - c), \qquad
              \Sigma = \frac{1}{n-1} \Big(\sum_i (f_i - c)(f_i - c)^\top
                       - n (\mu - c)(\mu - c)^\top\Big)

    with the shift c the mean of the first block: without it, single-precision products lose what a
    mean far from 0 hides, and double-precision ones some of it. Rows wait until a block is full, so
    that the size of an update does not matter for speed; a block costs one symmetric rank-k product
    (syrk). Sums over blocks are float64 always. At 2048 dimensions the state is 67 MB.

    Args:
        dimension: length d of a feature vector, at least 1.
        precision: of the products within a block: "double", or "single" for half of the time and a
            relative error of about 1e-7 in the covariance (features are rounded to float32).
        block: rows of a block; fewer where 32 MiB hold no more.

    Raises:
        InputError: a bad argument.
    """

    def __init__(
        self,
        dimension: int,
        *,
        precision: Literal["single", "double"] = "double",
        block: int = 4096,
    ) -> None:
        for name, value in (("dimension", dimension), ("block", block)):
            if value < 1:
                raise InputError(
                    f"bad {name}", where=name, expected="a whole number >= 1", found=repr(value)
                )
        if precision not in ("single", "double"):
            raise InputError(
                "bad precision",
                where="precision",
                expected='"single" or "double"',
                found=repr(precision),
            )
        self._single = precision == "single"
        dtype = np.float32 if self._single else np.float64
        rows = max(1, min(block, _BUFFER_BYTES // (dimension * np.dtype(dtype).itemsize)))
        self._buffer: npt.NDArray[Any] = np.empty((rows, dimension), dtype)
        self._waiting = 0
        self._summed = 0
        self._shift: npt.NDArray[Any] | None = None
        self._sums = np.zeros(dimension)
        # In the order of the linear algebra library, which fills its upper triangle in place.
        self._products = np.zeros((dimension, dimension), order="F")

    @property
    def dimension(self) -> int:
        """Length of a feature vector."""
        return self._sums.size

    @property
    def count(self) -> int:
        """Number of feature vectors so far."""
        return self._summed + self._waiting

    def update(self, features: npt.ArrayLike) -> None:
        """Take in feature vectors, real numbers [n, dimension], n >= 0.

        Raises:
            InputError: another shape, or entries that are not finite (in float32, for "single");
                then nothing was taken in.
        """
        rows = check_features(features, "features", dimension=self.dimension)
        if self._single and rows.dtype.itemsize > 4 and rows.size:
            _check_range(rows)
        start = 0
        while start < len(rows):
            stop = min(len(rows), start + len(self._buffer) - self._waiting)
            end = self._waiting + stop - start
            self._buffer[self._waiting : end] = rows[start:stop]
            self._waiting, start = end, stop
            if end == len(self._buffer):
                self._flush()

    def merge(self, other: Moments) -> None:
        """Take in everything that ``other`` has taken in; ``other`` keeps its values.

        Raises:
            InputError: moments of another dimension.
        """
        if other.dimension != self.dimension:
            raise InputError(
                "moments of another dimension",
                where="other",
                expected=str(self.dimension),
                found=str(other.dimension),
            )
        other._flush()
        self._flush()
        if other._shift is None:
            return
        if self._shift is None:
            self._shift = other._shift.astype(self._buffer.dtype)
        offset = other._shift.astype(np.float64) - self._shift
        sums, count = other._sums, other._summed
        cross = np.outer(offset, sums + 0.5 * count * offset)
        self._products += other._products + np.triu(cross + cross.T)
        self._sums += sums + count * offset
        self._summed += count

    @property
    def mean(self) -> Floats:
        """The mean, float64 [dimension].

        Raises:
            InputError: no feature vector so far.
        """
        self._flush()
        self._check_count(1, "mean")
        offset = self._sums / self._summed
        return offset if self._shift is None else offset + self._shift

    def covariance(self) -> Floats:
        """Return the unbiased covariance (divided by n - 1), float64 [dimension, dimension].

        Raises:
            InputError: fewer than two feature vectors so far, or features whose squares overflow.
        """
        self._flush()
        self._check_count(2, "covariance")
        covariance = self._products + self._products.T
        covariance.flat[:: self.dimension + 1] *= 0.5
        covariance -= np.outer(self._sums, self._sums / self._summed)
        covariance /= self._summed - 1
        if not np.isfinite(covariance).all():
            raise InputError("the features are too large for a covariance", where="features")
        result: Floats = covariance
        return result

    def _check_count(self, least: int, what: str) -> None:
        if self._summed < least:
            raise InputError(
                f"too few samples for a {what}",
                where="features",
                expected=f"at least {least}",
                found=str(self._summed),
            )

    def _flush(self) -> None:
        """Add the waiting rows to the sums."""
        if not self._waiting:
            return
        from scipy.linalg import blas

        rows = self._buffer[: self._waiting]
        with np.errstate(over="ignore", invalid="ignore"):
            if self._shift is None:
                self._shift = rows.mean(axis=0, dtype=np.float64).astype(rows.dtype)
            rows -= self._shift
            self._sums += rows.sum(axis=0, dtype=np.float64)
            if self._single:
                self._products += blas.ssyrk(1.0, rows.T)
            else:
                self._products = blas.dsyrk(1.0, rows.T, beta=1.0, c=self._products, overwrite_c=1)
        self._summed += self._waiting
        self._waiting = 0


def moments_of(features: Rows) -> Moments:
    """Return the double-precision moments of features [n, dimension] held whole."""
    moments = Moments(features.shape[1])
    moments.update(features)
    return moments


def _check_range(rows: Rows) -> None:
    largest, limit = float(np.abs(rows).max()), float(np.finfo(np.float32).max)
    if largest > limit:
        raise InputError(
            "features too large for single precision",
            where="features",
            expected=f"at most {limit:.4g} in absolute value",
            found=f"{largest:.4g}",
            fix='take precision="double"',
        )
