"""The two spaces of a Gromov-Wasserstein problem, dense or sparse, and where solvers start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Arrays
from podium.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = npt.NDArray[np.float64]
Start = Literal["uniform", "degree"]

_SYMMETRY = 1e-9
_MASS = 1e-9
# Width of the degree kernel, in mean degree gaps.
_WIDTH = 0.1


@dataclass(frozen=True)
class Cost:
    """A symmetric cost matrix [n, n] as it was given: a dense array, or CSR for a sparse graph."""

    matrix: Floats | csr_array[Any, Any]

    @property
    def size(self) -> int:
        """Number of points or nodes."""
        return int(self.matrix.shape[0])

    @property
    def sparse(self) -> bool:
        """Whether the matrix is held in CSR."""
        return not isinstance(self.matrix, np.ndarray)

    def dense(self) -> Floats:
        """Return the matrix as float64 [n, n]."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix
        return np.asarray(self.matrix.toarray(), dtype=np.float64)

    def csr(self) -> csr_array[Any, Any]:
        """Return the matrix in CSR."""
        from scipy.sparse import csr_array

        if isinstance(self.matrix, np.ndarray):
            return csr_array(self.matrix)
        return self.matrix

    def cast(self, dtype: str) -> Any:
        """Return the matrix as it is held, in another dtype."""
        return self.matrix.astype(dtype)

    def block(self, rows: npt.NDArray[np.intp]) -> Cost:
        """Return the costs among some of the points."""
        return Cost(self.matrix[rows][:, rows])

    def largest(self) -> float:
        """Return the largest absolute cost; 0 for a matrix of zeros."""
        values = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.data
        return float(np.abs(values).max(initial=0.0))

    def divided(self, scale: float) -> Cost:
        """Return the costs over ``scale``, a number above 0."""
        if isinstance(self.matrix, np.ndarray):
            return Cost(self.matrix / scale)
        from scipy.sparse import csr_array

        parts = (self.matrix.data / scale, self.matrix.indices, self.matrix.indptr)
        return Cost(csr_array(parts, self.matrix.shape))

    def degrees(self) -> Floats:
        """Return the row sums, float64 [n]; for an adjacency matrix, the degrees."""
        return np.asarray(self.matrix.sum(axis=1), dtype=np.float64).ravel()

    def second_moments(self, mass: Floats) -> Floats:
        r"""Return :math:`(A \circ A)\, a`, float64 [n], for weights ``mass`` a [n]."""
        return np.asarray((self.matrix * self.matrix) @ mass, dtype=np.float64)

    def normalised(self) -> Cost:
        r"""Return :math:`D^{-1/2} A D^{-1/2}` with :math:`D` the degrees; isolated nodes keep 0.

        Raises:
            InputError: a negative degree.
        """
        degrees = self.degrees()
        if (degrees < 0).any():
            raise InputError(
                "a cost matrix with a negative row sum has no degree normalisation",
                expected="row sums >= 0",
                found=f"{degrees.min():.6g}",
            )
        scale = np.zeros_like(degrees)
        np.divide(1.0, np.sqrt(degrees), out=scale, where=degrees > 0)
        if isinstance(self.matrix, np.ndarray):
            return Cost(scale[:, None] * self.matrix * scale[None, :])
        from scipy.sparse import csr_array

        rows = np.repeat(np.arange(self.size), np.diff(self.matrix.indptr))
        data = self.matrix.data * scale[rows] * scale[self.matrix.indices]
        return Cost(csr_array((data, self.matrix.indices, self.matrix.indptr), self.matrix.shape))


def costs(public: Arrays) -> tuple[Cost, Cost]:
    """Read the source's and the target's cost matrix of a problem, each dense or in CSR.

    Raises:
        InputError: neither or both forms given, not square, empty, not finite, not symmetric, or
            a CSR whose parts do not fit each other.
    """
    return _cost(public, "source"), _cost(public, "target")


def weights(public: Arrays) -> tuple[Floats, Floats]:
    """Read the weights of the source, float64 [n], and of the target, float64 [m], with sum 1.

    Raises:
        InputError: a negative or non-finite weight, a sum other than 1, or a length that differs
            from that of the cost matrix.
    """
    return _weights(public, "source"), _weights(public, "target")


def _cost(public: Arrays, side: str) -> Cost:
    dense = public.get(f"{side}_cost")
    parts = [public.get(f"{side}_{part}") for part in ("data", "indices", "indptr")]
    given = [part for part in parts if part is not None]
    if dense is not None and not given:
        return dense_cost(dense, where=f"{side}_cost")
    if dense is None and len(given) == len(parts):
        data, indices, indptr = given
        return sparse_cost(data, indices, indptr, where=f"{side}_data, _indices, _indptr")
    raise InputError(
        f"the {side} needs exactly one cost matrix",
        where=f"{side}_cost",
        expected=f"{side}_cost, or {side}_data with {side}_indices and {side}_indptr",
        found=", ".join(k for k in public if k.startswith(f"{side}_")) or "none of them",
    )


def dense_cost(matrix: npt.ArrayLike, *, where: str = "cost") -> Cost:
    """Check a dense cost matrix.

    Raises:
        InputError: not a non-empty square matrix, not finite, or not symmetric.
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.size == 0:
        raise InputError(
            "not a square cost matrix",
            where=where,
            expected="shape [n, n], n >= 1",
            found=f"shape {list(values.shape)}",
        )
    _check_finite(values, where)
    _check_symmetric(float(np.abs(values - values.T).max()), float(np.abs(values).max()), where)
    return Cost(values)


def sparse_cost(
    data: npt.ArrayLike, indices: npt.ArrayLike, indptr: npt.ArrayLike, *, where: str = "cost"
) -> Cost:
    """Check a cost matrix given in CSR; columns are sorted, repeated entries are added up.

    Raises:
        InputError: parts that do not make a square matrix, or not finite, or not symmetric.
    """
    from scipy.sparse import csr_array

    values = np.array(data, dtype=np.float64).ravel()
    columns, pointers = np.array(indices).ravel(), np.array(indptr).ravel()
    size = pointers.size - 1
    fits = (
        size >= 1
        and pointers[0] == 0
        and pointers[-1] == columns.size == values.size
        and bool((np.diff(pointers) >= 0).all())
        and (columns.size == 0 or (columns.min() >= 0 and columns.max() < size))
    )
    if not fits:
        raise InputError(
            "the parts do not make a square CSR matrix",
            where=where,
            expected="indptr [n + 1] rising from 0 to the number of entries, indices in [0, n)",
            found=f"{values.size} values, {columns.size} indices, {pointers.size} pointers",
        )
    _check_finite(values, where)
    matrix = csr_array((values, columns.astype(np.int32), pointers.astype(np.int32)), (size, size))
    matrix.sum_duplicates()
    gap = abs(matrix - matrix.T)
    _check_symmetric(
        float(gap.data.max(initial=0.0)), float(np.abs(matrix.data).max(initial=0.0)), where
    )
    return Cost(matrix)


def _check_finite(values: Floats, where: str) -> None:
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise InputError(
            "a cost matrix must be finite",
            where=where,
            expected="finite numbers",
            found=f"{bad} that are NaN or infinite",
        )


def _check_symmetric(gap: float, scale: float, where: str) -> None:
    if gap > _SYMMETRY * scale:
        raise InputError(
            "a cost matrix must be symmetric",
            where=where,
            expected=f"|A - A^T| <= {_SYMMETRY:g} max|A|",
            found=f"a difference of {gap:.6g}",
            fix="for a directed graph, pass (A + A^T) / 2",
        )


def _weights(public: Arrays, side: str) -> Floats:
    where = f"{side}_weights"
    if where not in public:
        raise InputError("no weights", where=where, expected="one weight a point, with sum 1")
    indptr = public.get(f"{side}_indptr")
    size = len(public[f"{side}_cost"]) if indptr is None else len(indptr) - 1
    return check_weights(public[where], size, where=where)


def check_weights(values: npt.ArrayLike, size: int, *, where: str = "weights") -> Floats:
    """Check the weights of ``size`` points and return them as float64 [size], with sum 1.

    Raises:
        InputError: another length, a negative or non-finite weight, or a sum other than 1.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (size,):
        raise InputError(
            "weights and cost matrix differ in length",
            where=where,
            expected=f"shape [{size}]",
            found=f"shape {list(array.shape)}",
        )
    if not np.isfinite(array).all() or (array < 0).any():
        raise InputError(
            "weights must be finite and not negative",
            where=where,
            expected="numbers >= 0",
            found=f"a smallest value of {array.min():.6g}",
        )
    total = float(array.sum())
    if abs(total - 1) > _MASS:
        raise InputError(
            "weights must sum to 1",
            where=where,
            expected=f"a sum within {_MASS:g} of 1",
            found=f"{total:.12g}",
            fix="divide them by their sum",
        )
    # Both sides must carry the same mass to the last digit, or no plan meets both marginals.
    return array / total


def start(kind: Start, source: Cost, target: Cost, a: Floats, b: Floats) -> Floats:
    r"""Return the coupling a solver starts from, float64 [n, m], with marginals ``a`` and ``b``.

    ``uniform`` is :math:`a b^\top`. ``degree`` scales the soft kernel

    .. math:: K_{ij} = \exp\left(-\frac{|d_i - e_j|}{0.1\, g}\right)

    to the marginals, where :math:`d, e` are the row sums over their weighted mean and :math:`g`
    the mean gap. On a noise-free copy it gives much of the answer away: report both starts.

    Raises:
        InputError: another ``kind``.
    """
    if kind == "uniform":
        return np.outer(a, b)
    if kind != "degree":
        raise InputError(
            "unknown start", where="start", expected="uniform or degree", found=repr(kind)
        )
    from podium.transport.marginals import sinkhorn

    gap = np.abs(_relative(source.degrees(), a)[:, None] - _relative(target.degrees(), b)[None, :])
    mean = float(a @ gap @ b)
    return sinkhorn(-gap / (_WIDTH * mean) if mean > 0 else gap, a, b)


def _relative(degrees: Floats, mass: Floats) -> Floats:
    mean = float(np.abs(degrees) @ mass)
    return degrees / mean if mean > 0 else degrees
