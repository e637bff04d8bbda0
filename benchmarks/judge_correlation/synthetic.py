"""A synthetic grader: quality that is easy to reason out and hard to regress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_REFERENCE = 65536
"""Draws that centre and scale the quality."""


@dataclass(frozen=True)
class Grader:
    r"""What the quality of a vector is.

    Criterion k of x is :math:`a_k = \Phi(p_k^\top x)`, uniform on [0, 1] for a standard normal x,
    with orthonormal :math:`p_k`. Its worth is :math:`t_k = \cos(2 \pi (f_k a_k + \varphi_k))`:
    there are sweet spots, so that more of a criterion is not better. The quality is

    .. math:: q(x) = 1 + (L - 1)\, \Phi\!\left(\frac{\sum_k t_k + t_1 t_2 - m}{s}\right)

    with m and s the mean and standard deviation over standard normal x: within (1, L).

    Attributes:
        directions: float64 [criteria, dimension], the :math:`p_k`.
        frequencies: float64 [criteria], the :math:`f_k`.
        phases: float64 [criteria], the :math:`\varphi_k`.
        levels: L.
        mean: m.
        deviation: s.
    """

    directions: Floats
    frequencies: Floats
    phases: Floats
    levels: int
    mean: float
    deviation: float

    def criteria(self, x: Floats) -> Floats:
        """Return the criteria of vectors [items, dimension], float64 [items, criteria]."""
        found: Floats = ndtr(x @ self.directions.T)
        return found

    def quality(self, x: Floats) -> Floats:
        """Return the quality of vectors [items, dimension], float64 [items]."""
        scaled = (_worth(self.criteria(x), self.frequencies, self.phases) - self.mean) / (
            self.deviation
        )
        found: Floats = 1.0 + (self.levels - 1) * ndtr(scaled)
        return found

    def label(self, x: Floats, noise: float, rng: np.random.Generator) -> Floats:
        """Return one rater's labels, float64 [items]: the nearest level of a noisy quality."""
        noisy = self.quality(x) + noise * rng.standard_normal(len(x))
        found: Floats = np.clip(np.rint(noisy), 1.0, float(self.levels))
        return found

    def reasoning(self, x: Floats, symbols: int, noise: float, rng: np.random.Generator) -> Ints:
        """Return a teacher's notes, int64 [items, criteria]: each criterion in ``symbols`` steps.

        A share ``noise`` of the symbols is replaced by uniformly random ones.
        """
        notes = np.minimum((self.criteria(x) * symbols).astype(np.int64), symbols - 1)
        wrong = rng.random(notes.shape) < noise
        found: Ints = np.where(wrong, rng.integers(symbols, size=notes.shape), notes)
        return found


def draw_grader(
    dimension: int, frequencies: list[float], levels: int, rng: np.random.Generator
) -> Grader:
    """Draw the directions and the phases of a grader."""
    rotation, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    waves = np.array(frequencies, dtype=np.float64)
    phases = rng.random(waves.size)
    worth = _worth(rng.random((_REFERENCE, waves.size)), waves, phases)
    return Grader(
        directions=np.ascontiguousarray(rotation[: waves.size]),
        frequencies=waves,
        phases=phases,
        levels=levels,
        mean=float(worth.mean()),
        deviation=float(worth.std()),
    )


def draw_inputs(count: int, dimension: int, rng: np.random.Generator) -> Floats:
    """Draw standard normal vectors [count, dimension]."""
    return rng.standard_normal((count, dimension))


def shift(x: Floats, grader: Grader, distance: float, spread: float) -> Floats:
    """Return vectors of another distribution: wider, and moved along the criteria's mean."""
    towards = grader.directions.sum(axis=0)
    moved: Floats = spread * x + distance * towards / np.linalg.norm(towards)
    return moved


def render(x: Floats) -> npt.NDArray[np.str_]:
    """Return vectors as texts of numbers with two decimals."""
    return np.array([" ".join(f"{value:.2f}" for value in row) for row in x], dtype=np.str_)


def _worth(criteria: Floats, frequencies: Floats, phases: Floats) -> Floats:
    waves = np.cos(2.0 * np.pi * (frequencies * criteria + phases))
    found: Floats = waves.sum(axis=1) + waves[:, 0] * waves[:, 1]
    return found
