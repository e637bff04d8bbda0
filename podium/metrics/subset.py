"""Fréchet distance of a generated set of which a few samples at a time are replaced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.metrics.feature_sets import BLOCK, Floats, Rows, check_features, check_finite
from podium.metrics.frechet import Reference, combined, eigenvalues, sum_of_roots
from podium.metrics.moments import moments_of
from podium.metrics.root_trace import change_of_root_trace

Ints = npt.NDArray[np.int64]

_EVALUATIONS = 4
"""Replacements tried on one set before its eigenvectors are found: they cost as many traces."""
_NARROW = 8
"""Dimensions for each changed row from which the eigenvectors are worth having."""


@dataclass(frozen=True)
class _Sums:
    """Sums over a set, about a fixed centre: of features, of products seen, of squared lengths."""

    features: Floats
    products: Floats
    squares: float


@dataclass(frozen=True)
class _Basis:
    """Eigenvalues of a set's projected covariance, the map of features to its eigenvectors.

    ``root`` is the sum of the eigenvalues' roots, None where rounding would show in it.
    """

    values: Floats
    vectors: Floats
    root: float | None


class SubsetFrechet:
    r"""The Fréchet distance of a reference to a generated set G, and to G with samples replaced.

    With the reference's covariance :math:`A A^\top`, the eigenproblem of the distance is that of
    :math:`A^\top \Sigma_G A`, the covariance of the projected features :math:`A^\top f`. It is held
    as sums; replacing n samples changes them in O(n d^2), and what is left is one trace. No pass
    over G is made, and every value equals that of a full computation (to 1e-8 relative). Where many
    replacements of one set are tried, in many dimensions, the set's eigenvectors are found once and
    the trace's change comes from determinants of the replacement's size (``root_trace``).

    Where the generated covariance is so nearly singular that its roots would be rounding, the value
    *is* that of a full computation, in its time; fewer samples than dimensions alone do not lead
    there.

    Args:
        reference: mean and covariance of the real features.
        features: real numbers [N, d] of the generated set, N >= 2; copied.

    Raises:
        InputError: too few samples, another dimension, or entries that are not finite.

    Source: the subset-replace reward of "Optimizing Visual Generative Models via Distribution-wise
    Rewards" (arXiv 2607.02291), which takes minus this distance.
    """

    def __init__(self, reference: Reference, features: npt.ArrayLike) -> None:
        self._reference = reference
        rows = check_features(features, "features", least=2, dimension=reference.dimension)
        kept = rows.dtype if rows.dtype.kind == "f" else np.dtype(np.float64)
        self._features: Rows = rows.astype(kept)
        # Sums about the set's own mean: what is replaced later will not lie far from it.
        self._centre: Floats = self._features.mean(axis=0, dtype=np.float64)
        self._sums = self._all_sums()
        self._distance: float | None = None
        self._tried = 0
        self._basis: _Basis | None = None

    @property
    def count(self) -> int:
        """Number of samples N."""
        return len(self._features)

    @property
    def distance(self) -> float:
        """Squared Fréchet distance of the set as it is, a float >= 0."""
        if self._distance is None:
            nothing = np.zeros(0, np.int64), self._features[:0]
            self._distance = self._distance_of(self._sums, *nothing)
        return self._distance

    def replaced(self, rows: npt.ArrayLike, new_features: npt.ArrayLike) -> float:
        """Return the distance with some samples replaced; the set stays as it is.

        Args:
            rows: whole numbers [n] in [0, N), each at most once: the samples that go.
            new_features: real numbers [n, d]: what comes in their place.

        Returns:
            A float >= 0 in squared units of the features, lower is better.

        Raises:
            InputError: rows that are none, another shape, or entries that are not finite.
        """
        indices, new = self._checked(rows, new_features)
        self._tried += 1
        if self._tried > _EVALUATIONS and self._reference.dimension >= _NARROW * 2 * len(new):
            distance = self._by_change(indices, new)
            if distance is not None:
                return distance
        return self._distance_of(self._after(indices, new), indices, new)

    def replace(self, rows: npt.ArrayLike, new_features: npt.ArrayLike) -> None:
        """Replace some samples for good; arguments as of ``replaced``.

        Raises:
            InputError: rows that are none, another shape, or entries that are not finite; then
                nothing was replaced.
        """
        indices, new = self._checked(rows, new_features)
        self._sums = self._after(indices, new)
        self._features[indices] = new
        self._distance, self._tried, self._basis = None, 0, None

    def _checked(self, rows: npt.ArrayLike, new_features: npt.ArrayLike) -> tuple[Ints, Rows]:
        new = check_features(new_features, "new_features", dimension=self._reference.dimension)
        # In the set's own type, in which they will be held.
        with np.errstate(over="ignore"):
            new = new.astype(self._features.dtype)
        check_finite(new, "new_features")
        indices = np.asarray(rows)
        if indices.size == 0 == len(new):
            return np.zeros(0, np.int64), new
        if (
            indices.shape != (len(new),)
            or indices.dtype.kind not in "iu"
            or indices.min() < 0
            or indices.max() >= self.count
            or np.unique(indices).size != indices.size
        ):
            raise InputError(
                "not rows of the set",
                where="rows",
                expected=f"{len(new)} different whole numbers from 0 to {self.count - 1}",
                found=f"{indices.dtype} of shape {list(indices.shape)}: {indices.tolist()[:5]}",
            )
        return indices.astype(np.int64), new

    def _all_sums(self) -> _Sums:
        """Sum over all samples, of which the centre is the mean."""
        covariance = moments_of(self._features).covariance()
        inner = self._reference.factor.seen(covariance)
        offset = np.zeros(self._reference.dimension)
        for start in range(0, self.count, BLOCK):
            offset += self._centred(self._features[start : start + BLOCK]).sum(axis=0)
        scale = float(self.count - 1)
        return _Sums(offset, _mirrored(inner) * scale, float(np.trace(covariance)) * scale)

    def _centred(self, rows: Rows) -> Floats:
        centred: Floats = np.subtract(rows, self._centre, dtype=np.float64)
        return centred

    def _seen(self, centred: Floats) -> Floats:
        """Return A^T f of rows f, [n, d] to [n, r]."""
        factor = self._reference.factor
        part = centred if len(factor.rows) == factor.dimension else centred[:, factor.rows]
        seen: Floats = part @ factor.matrix
        return seen

    def _after(self, indices: Ints, new: Rows) -> _Sums:
        """Return the sums with some samples replaced."""
        leaving, coming = self._centred(self._features[indices]), self._centred(new)
        both = self._seen(np.concatenate([coming, leaving]))
        signs = np.repeat([1.0, -1.0], len(indices))
        return _Sums(
            self._sums.features + coming.sum(axis=0) - leaving.sum(axis=0),
            self._sums.products + (both * signs[:, None]).T @ both,
            self._sums.squares + float(np.vdot(coming, coming) - np.vdot(leaving, leaving)),
        )

    def _distance_of(self, sums: _Sums, indices: Ints, new: Rows) -> float:
        count = self.count
        # Of N samples' covariance at most N - 1 eigenvalues are not 0.
        values = eigenvalues(self._inner(sums))[-(count - 1) :]
        root = sum_of_roots(values)
        if root is None:
            changed = self._features.copy()
            changed[indices] = new
            moments = moments_of(changed)
            return self._reference.distance(moments.mean, moments.covariance())
        return self._with_root(sums.features, sums.squares, root)

    def _inner(self, sums: _Sums) -> Floats:
        """Return the covariance of the projected features."""
        offset = self._seen(sums.features[None])[0]
        inner: Floats = sums.products - np.outer(offset, offset / self.count)
        return inner / (self.count - 1)

    def _with_root(self, features: Floats, squares: float, root: float) -> float:
        mean = self._centre + features / self.count
        trace = (squares - float(features @ features) / self.count) / (self.count - 1)
        return combined(self._reference.mean - mean, self._reference.trace + trace, root)

    def _by_change(self, indices: Ints, new: Rows) -> float | None:
        """Return the distance from the change of the trace, or None where that is not known."""
        if self._basis is None:
            self._basis = self._find_basis()
        basis = self._basis
        if basis.root is None:
            return None
        before = self._sums.features
        mean = before / self.count
        leaving, coming = (self._centred(f) - mean for f in (self._features[indices], new))
        rows = np.concatenate([coming, leaving])
        signs = np.repeat([1.0, -1.0], len(coming))
        # About the mean as it was, the covariance changes by the rows' products with their signs
        # less the square of the mean's move, which is a combination of the same rows.
        strengths, combinations = np.linalg.eigh(
            np.diag(signs) - np.outer(signs, signs) / self.count
        )
        seen = rows[:, self._reference.factor.rows] @ basis.vectors
        seen = (combinations * np.sqrt(np.abs(strengths) / (self.count - 1))).T @ seen
        added = strengths > 0
        change = change_of_root_trace(basis.values, seen[added], seen[~added])
        if change is None:
            return None
        after = before + coming.sum(axis=0) - leaving.sum(axis=0)
        squares = self._sums.squares + float(np.vdot(coming, coming) - np.vdot(leaving, leaving))
        squares += 2.0 * float(mean @ (after - before))
        return self._with_root(after, squares, basis.root + change)

    def _find_basis(self) -> _Basis:
        from scipy.linalg import eigh

        values, vectors = eigh(self._inner(self._sums), driver="evd", check_finite=False)
        return _Basis(values, self._reference.factor.matrix @ vectors, sum_of_roots(values))


def _mirrored(lower: Floats) -> Floats:
    """Return the symmetric matrix of a lower triangle."""
    whole: Floats = np.tril(lower) + np.tril(lower, -1).T
    return whole
