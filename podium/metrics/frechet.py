"""Fréchet distance between two sets of features, by symmetric eigenproblems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.feature_sets import Floats, Rows, check_features
from podium.metrics.moments import moments_of

_EPSILON = float(np.finfo(np.float64).eps)
_SQUARED = 1e-9
"""Largest estimate of a relative error up to which the squared problem, the cheaper one, will do.

The estimate is safe by far: against singular values the error was below 1e-12 on spectra of
condition up to 1e12, since eigenvalues of such graded matrices are more exact than is assumed."""
_TILE = 128
_NEGATIVE = 1e-4
"""Share of the largest eigenvalue down to which a negative one is rounding (single precision)."""


def frechet_distance(
    mean1: npt.ArrayLike,
    covariance1: npt.ArrayLike,
    mean2: npt.ArrayLike,
    covariance2: npt.ArrayLike,
) -> float:
    r"""Squared Fréchet distance of two Gaussians: the field's FID, on any features.

    .. math:: \|\mu_1 - \mu_2\|^2 + \mathrm{tr}(\Sigma_1) + \mathrm{tr}(\Sigma_2)
              - 2\, \mathrm{tr}\big((\Sigma_1 \Sigma_2)^{1/2}\big)

    With :math:`\Sigma_1 = L L^\top` (Cholesky) the last trace is the sum of the square roots of the
    eigenvalues of the symmetric :math:`L^\top \Sigma_2 L`: never complex, and less than a tenth
    of the time of a matrix square root. Where a covariance is singular, or the eigenvalues span so
    much that their roots would be rounding, each covariance is factored by its eigenvectors with
    the null space left out, and the trace is the sum of the singular values of their product.

    Args:
        mean1, mean2: real numbers [d].
        covariance1, covariance2: real, symmetric, positive semi-definite [d, d].

    Returns:
        A float >= 0 in squared units of the features, lower is better.

    Raises:
        InputError: shapes that do not fit, or what is no covariance.

    Source: Heusel et al., NeurIPS 2017, equation 6 (from Dowson and Landau 1982).
    """
    return Reference(mean1, covariance1).distance(mean2, covariance2)


def frechet_of_features(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    r"""Squared Fréchet distance of the Gaussians fitted to two sets of features.

    As ``frechet_distance`` of means and unbiased covariances. A set of n <= d samples is its own
    factor: with :math:`X_c` the centred samples,

    .. math:: \mathrm{tr}\big((\Sigma_x \Sigma_y)^{1/2}\big)
              = \|X_c Y_c^\top\|_* \big/ \sqrt{(n_x - 1)(n_y - 1)}

    whose matrix is of samples and not of dimensions: faster, and exact on the singular covariances
    that such sets have.

    Args:
        x, y: real numbers [samples, d], at least two samples each.

    Returns:
        A float >= 0 in squared units of the features, lower is better.

    Raises:
        InputError: too few samples, other dimensions, or entries that are not finite (with rows).
    """
    first = check_features(x, "x", least=2)
    second = check_features(y, "y", least=2, dimension=first.shape[1])
    dimension = first.shape[1]
    if min(len(first), len(second)) > dimension:
        one, two = moments_of(first), moments_of(second)
        return frechet_distance(one.mean, one.covariance(), two.mean, two.covariance())
    means, traces, factors = [], 0.0, []
    for rows in (first, second):
        means.append(rows.mean(axis=0, dtype=np.float64))
        if len(rows) <= dimension:
            factor = centred(rows) / np.sqrt(len(rows) - 1)
            traces += float(np.vdot(factor, factor))
        else:
            covariance = moments_of(rows).covariance()
            traces += float(np.trace(covariance))
            factor = factored(covariance, "features").whole().T
        factors.append(factor)
    return combined(means[0] - means[1], traces, nuclear_norm(factors[0] @ factors[1].T))


def unreliable(count: int, dimension: int) -> bool:
    """Whether a set is too small for its distance to be trusted: count < 10 dimension.

    The distance is biased upwards by about 1 / count times a constant that depends on the
    generator: below ten samples a dimension the bias may outweigh what is measured.

    Source: Chong and Forsyth, CVPR 2020 (the bias); the factor 10 is this suite's choice.
    """
    return count < 10 * dimension


@dataclass(frozen=True)
class Factor:
    r"""A matrix A [d, r] with :math:`A A^\top` a covariance, r its rank.

    Attributes:
        rows: the coordinates that vary, int64 [k]; all others of A are 0.
        matrix: float64 [k, r], the rest of A; lower triangular where ``triangular`` is set.
        dimension: d.
    """

    rows: npt.NDArray[np.int64]
    matrix: Floats
    triangular: bool
    dimension: int

    def whole(self) -> Floats:
        """Return A, float64 [d, r]."""
        result = np.zeros((self.dimension, self.matrix.shape[1]))
        result[self.rows] = self.matrix
        return result

    def seen(self, covariance: Floats) -> Floats:
        """Return A^T C A, float64 [r, r]; of the triangular case, the lower triangle only."""
        part = covariance
        if len(self.rows) < self.dimension:
            part = covariance[np.ix_(self.rows, self.rows)]
        if not self.triangular:
            symmetric: Floats = self.matrix.T @ (part @ self.matrix)
            return symmetric
        from scipy.linalg import lapack

        # A symmetric matrix is its own transpose, so that no copy is made for Fortran's order.
        lower: Floats = lapack.dsygst(part.T, self.matrix, itype=2, lower=1)[0]
        return lower


class Reference:
    """A Gaussian that many others are compared with: its covariance is factored once.

    Args:
        mean: real numbers [d].
        covariance: real, symmetric, positive semi-definite [d, d].

    Raises:
        InputError: shapes that do not fit, or what is no covariance.
    """

    def __init__(self, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> None:
        self.mean, self.covariance = _gaussian(mean, covariance, "the first Gaussian")
        self.trace = float(np.trace(self.covariance))
        self.factor = factored(self.covariance, "the first covariance")

    @property
    def dimension(self) -> int:
        """Length of the mean."""
        return self.mean.size

    def distance(self, mean: npt.ArrayLike, covariance: npt.ArrayLike) -> float:
        """Return the squared Fréchet distance to another Gaussian; see ``frechet_distance``.

        Raises:
            InputError: shapes that do not fit, or what is no covariance.
        """
        other, spread = _gaussian(mean, covariance, "the second Gaussian", self.dimension)
        root = sum_of_roots(eigenvalues(self.factor.seen(spread)))
        if root is None:
            other_factor = factored(spread, "the second covariance")
            # Of two triangular factors, the squared problem is the one that just failed.
            both = self.factor.triangular and other_factor.triangular
            product = self.factor.whole().T @ other_factor.whole()
            root = nuclear_norm(product, squared=not both)
        return combined(self.mean - other, self.trace + float(np.trace(spread)), root)


def combined(difference: Floats, traces: float, root: float) -> float:
    """Return the distance of its three parts, at least 0.

    Raises:
        InputError: parts that overflow.
    """
    with np.errstate(over="ignore"):
        value = float(difference @ difference) + traces - 2.0 * root
    if not np.isfinite(value):
        raise InputError("the features are too large for a distance", where="features")
    # Equal Gaussians may differ by rounding error, to either side.
    return max(0.0, value)


def factored(covariance: Floats, where: str) -> Factor:
    """Factor a covariance: by Cholesky, or by eigenvectors where it is singular to rounding.

    Raises:
        InputError: an eigenvalue is negative by more than rounding.
    """
    from scipy.linalg import eigh, lapack

    dimension = len(covariance)
    rows = np.flatnonzero(np.diagonal(covariance) != 0.0)
    # A coordinate of no variance (a unit that never fires) covaries with nothing.
    part = covariance if len(rows) == dimension else covariance[np.ix_(rows, rows)]
    if len(rows) == 0:
        return Factor(rows, np.zeros((0, 0)), False, dimension)
    cut = len(rows) * _EPSILON
    triangle, info = lapack.dpotrf(part.T, lower=1, clean=1)
    if info == 0:
        pivots = np.diagonal(triangle) ** 2
        if pivots.min() > cut * pivots.max():
            return Factor(rows, triangle, True, dimension)
    values, vectors = eigh(part, driver="evd", check_finite=False)
    if values[0] < -_NEGATIVE * max(values[-1], 0.0):
        raise InputError(
            "not a covariance",
            where=where,
            expected="eigenvalues of at least 0",
            found=f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}",
        )
    kept = values > cut * values[-1]
    return Factor(rows, vectors[:, kept] * np.sqrt(values[kept]), False, dimension)


def centred(rows: Rows) -> Floats:
    r"""Return n - 1 vectors with the scatter matrix of n samples about their mean.

    A reflection that takes :math:`1/\sqrt n` to the first axis turns the samples' common part into
    one row, which is left out; centred samples would leave the matrix of inner products singular.

    Args:
        rows: real numbers [n, d], n >= 2.

    Returns:
        float64 [n - 1, d].
    """
    root = np.sqrt(len(rows))
    total = rows.sum(axis=0, dtype=np.float64)
    common = (total / root + rows[0]) / (root + 1.0)
    others: Floats = np.subtract(rows[1:], common, dtype=np.float64)
    return others


def nuclear_norm(matrix: Floats, *, squared: bool = True) -> float:
    """Return the sum of the singular values of a matrix, float64 [n, m].

    ``squared``: try the eigenvalues of the matrix times its transpose first.
    """
    if matrix.size == 0:
        return 0.0
    if squared:
        wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
        root = sum_of_roots(eigenvalues(wide @ wide.T))
        if root is not None:
            return root
    return float(np.linalg.svd(matrix, compute_uv=False).sum())


def eigenvalues(matrix: Floats) -> Floats:
    """Return the eigenvalues of a symmetric matrix from its lower triangle, rising."""
    from scipy.linalg import eigh

    if matrix.size == 0:
        return np.zeros(0)
    values: Floats = eigh(
        matrix, eigvals_only=True, driver="evd", check_finite=False, overwrite_a=True
    )
    return values


def sum_of_roots(values: Floats) -> float | None:
    r"""Sum the square roots of eigenvalues, or return None where rounding would show.

    An eigenvalue is known to about :math:`\epsilon \lambda_{max}`, so its root to
    :math:`\epsilon \lambda_{max} / 2 \sqrt{\lambda}`, of either sign.
    """
    if values.size == 0:
        return 0.0
    if values[0] <= 0.0:
        return None
    root = float(np.sqrt(values).sum())
    error = 0.5 * _EPSILON * values[-1] * float(np.sqrt((1.0 / values).sum()))
    return root if error <= _SQUARED * root else None


def _gaussian(
    mean: npt.ArrayLike, covariance: npt.ArrayLike, where: str, dimension: int | None = None
) -> tuple[Floats, Floats]:
    centre, spread = np.asarray(mean), np.asarray(covariance)
    size = centre.size if dimension is None else dimension
    if (
        {centre.dtype.kind, spread.dtype.kind} - set("fiu")
        or centre.shape != (size,)
        or spread.shape != (size, size)
        or size == 0
    ):
        raise InputError(
            "not a mean and a covariance",
            where=where,
            expected=f"real numbers of shapes [{size}] and [{size}, {size}], at least 1",
            found=f"{centre.dtype} of shape {list(centre.shape)} and "
            f"{spread.dtype} of shape {list(spread.shape)}",
        )
    centre, spread = centre.astype(np.float64), spread.astype(np.float64, copy=False)
    scale = max(float(spread.max()), -float(spread.min()))
    if not (np.isfinite(centre).all() and np.isfinite(scale)):
        raise InputError("a mean and a covariance must be finite", where=where)
    gap = _asymmetry(spread)
    if gap > 1e-6 * scale or float(np.diagonal(spread).min()) < -_NEGATIVE * scale:
        raise InputError(
            "not a covariance",
            where=where,
            expected="a symmetric matrix with a diagonal of at least 0",
            found=f"an asymmetry of {gap:.3g}, a diagonal from {np.diagonal(spread).min():.3g}",
        )
    return centre, spread


def _asymmetry(matrix: Floats) -> float:
    """Return the largest difference to the transpose, by tiles that stay in the cache."""
    tiles = [slice(start, start + _TILE) for start in range(0, len(matrix), _TILE)]
    return max(
        float(np.abs(matrix[rows, columns] - matrix[columns, rows].T).max())
        for index, rows in enumerate(tiles)
        for columns in tiles[index:]
    )
