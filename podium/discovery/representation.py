"""From the tokens of a sample to one row of numbers, with nothing trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from podium.contracts import Context, Prediction, Problem
from podium.discovery.samples import Ints, Samples, Tokens, read_samples
from podium.discovery.scale import measured
from podium.errors import InputError

Kind = Literal["class", "mean", "flat", "centred"]
Representation = Literal["auto", "class", "mean", "flat", "centred"]
Rows = npt.NDArray[np.float32]

FITTED = 10_000
"""Samples that the principal axes are fitted on; of larger sets as many are drawn."""

_FOLDS = 5


@dataclass(frozen=True)
class Represented:
    """One row for each sample.

    Attributes:
        kind: what the rows are, see ``represent``.
        labelled: float32 [labelled, dimension].
        unlabelled: float32 [unlabelled, dimension].
        merits: the accuracy that each kind was chosen by; empty where there was no choice.
    """

    kind: Kind
    labelled: Rows
    unlabelled: Rows
    merits: Mapping[str, float]

    def prediction(self, clusters: Ints) -> Prediction:
        """Return clusters int64 [unlabelled] as a prediction, with the rows as its features."""
        return {
            "clusters": clusters,
            "labelled_features": self.labelled,
            "unlabelled_features": self.unlabelled,
        }


def read_rows(
    problem: Problem, context: Context, representation: Representation, axes: int
) -> tuple[Samples, Represented]:
    """Read a problem and ``represent`` its samples; what decided is logged with the run.

    Raises:
        InputError: fewer samples than classes; as ``represent``.
    """
    samples = read_samples(problem.public)
    size = len(samples.labelled) + len(samples.unlabelled)
    if size < samples.classes:
        raise InputError(
            "fewer samples than classes",
            where="labelled_tokens, unlabelled_tokens",
            expected=f"at least {samples.classes} samples",
            found=str(size),
        )
    rows = represent(samples, representation, context.rng("representation"), axes=axes)
    if rows.merits:
        context.log(0, **{f"centroid_accuracy_{kind}": m for kind, m in rows.merits.items()})
    return samples, rows


def represent(
    samples: Samples, representation: Representation, rng: np.random.Generator, *, axes: int = 50
) -> Represented:
    """Return one row for each sample.

    - ``class``: the class token at unit length, as Vaze et al. cluster them;
    - ``mean``: the mean of the tokens;
    - ``flat``: the tokens side by side, on the leading principal axes of labelled and unlabelled
      samples, not scaled: nearly the distance between the images that the tokens come from;
    - ``centred``: the mean of the tokens less that of all samples, plus the class token treated
      alike where there is one (each set with a root mean square of 1), at unit length: what a
      module between backbone and k-means gives that changes nothing;
    - ``auto``: of the first three, as far as the samples have them (``flat`` needs a grid: a set
      has no order), the one whose nearest class mean names most LABELLED samples right, in
      five-fold cross-validation; the earlier in this list between equals.

    Args:
        samples: tokens and labels.
        representation: one of the above.
        rng: decides the folds, and the sketch and the samples that the principal axes come from.
        axes: how many principal axes, at least 1; fewer where tokens or samples are fewer.

    Raises:
        InputError: tokens that are not finite, a representation that the samples do not have, or
            bad ``axes``.
    """
    if axes < 1:
        raise InputError("bad axes", where="axes", expected="1 or more", found=str(axes))
    for name, tokens in (("labelled", samples.labelled), ("unlabelled", samples.unlabelled)):
        if not math.isfinite(tokens.sum(dtype=np.float64)):
            raise InputError(
                "tokens are not finite", where=f"{name}_tokens", found="NaN or infinite values"
            )
    possible = _possible(samples)
    if representation != "auto":
        if representation not in (*possible, "centred"):
            raise InputError(
                "the samples do not have this representation",
                where="representation",
                expected=f"auto or {' or '.join((*possible, 'centred'))}",
                found=representation,
                fix="class needs class tokens; flat needs tokens on a grid",
            )
        return _rows(samples, representation, rng, axes)
    first, *others = (_rows(samples, kind, rng, axes) for kind in possible)
    if not others:
        return first
    folds = _folds(samples.labels, rng)
    merits: dict[str, float] = {
        r.kind: centroid_accuracy(r.labelled, samples.labels, folds) for r in (first, *others)
    }
    best = max((first, *others), key=lambda r: merits[r.kind])
    return Represented(best.kind, best.labelled, best.unlabelled, merits)


def centroid_accuracy(rows: Rows, labels: Ints, folds: Ints) -> float:
    """Return how often the nearest mean of a class, without the sample's fold, is its own.

    A class that lies wholly in one fold has no mean without it: its samples there count as errors.

    Args:
        rows: float32 [samples, dimension].
        labels: int64 [samples], 0 to ``old - 1``.
        folds: int64 [samples].

    Returns:
        Accuracy in [0, 1], higher is better.
    """
    right = 0
    for fold in np.unique(folds):
        inside = folds == fold
        known, index = np.unique(labels[~inside], return_inverse=True)
        if not known.size:
            continue
        means = np.stack([rows[~inside][index == k].mean(axis=0) for k in range(known.size)])
        right += int(np.count_nonzero(known[nearest(rows[inside], means)] == labels[inside]))
    return right / len(labels)


def nearest(rows: Rows, means: Rows) -> Ints:
    r"""Return the nearest of the means of each row: the least :math:`\|\mu\|^2 - 2 \mu^\top x`."""
    scores = (means**2).sum(axis=1) - 2 * (rows @ means.T)
    return np.asarray(scores.argmin(axis=1), dtype=np.int64)


def _possible(samples: Samples) -> tuple[Kind, ...]:
    kinds: list[Kind] = [] if samples.labelled_class is None else ["class"]
    kinds.append("mean")
    if samples.grid is not None:
        kinds.append("flat")
    return tuple(kinds)


def _folds(labels: Ints, rng: np.random.Generator) -> Ints:
    """Deal the samples of each class to the folds in turn, in a random order."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), np.int64)
    folds[order] = np.arange(len(labels)) % _FOLDS
    return folds


def _rows(samples: Samples, kind: Kind, rng: np.random.Generator, axes: int) -> Represented:
    if kind == "class":
        pair = (samples.labelled_class, samples.unlabelled_class)
        labelled, unlabelled = (_unit(tokens) for tokens in pair if tokens is not None)
    elif kind == "centred":
        labelled, unlabelled = _centred(samples)
    elif kind == "mean":
        labelled, unlabelled = (t.mean(axis=1) for t in (samples.labelled, samples.unlabelled))
    else:
        labelled, unlabelled = _principal(samples, rng, axes)
    return Represented(kind, labelled, unlabelled, {})


def _centred(samples: Samples) -> tuple[Rows, Rows]:
    parts = samples.labelled, samples.unlabelled
    scale = measured(parts, "tokens")
    rows = [(part.mean(axis=1, dtype=np.float64) - scale.mean) / scale.spread for part in parts]
    if samples.labelled_class is not None and samples.unlabelled_class is not None:
        pair = samples.labelled_class, samples.unlabelled_class
        scale = measured([part[:, None] for part in pair], "class tokens")
        rows = [
            row + (part - scale.mean) / scale.spread for row, part in zip(rows, pair, strict=True)
        ]
    labelled, unlabelled = (_unit(row.astype(np.float32)) for row in rows)
    return labelled, unlabelled


def _unit(rows: Rows) -> Rows:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def _principal(samples: Samples, rng: np.random.Generator, axes: int) -> tuple[Rows, Rows]:
    """Return flattened tokens on their principal axes; only the fitted samples are copied."""
    from sklearn.utils.extmath import randomized_svd

    labelled, unlabelled = _flat(samples.labelled), _flat(samples.unlabelled)
    total = len(labelled) + len(unlabelled)
    drawn = np.sort(rng.permutation(total)[:FITTED])
    own = drawn < len(labelled)
    fitted = np.concatenate([labelled[drawn[own]], unlabelled[drawn[~own] - len(labelled)]])
    centre = fitted.mean(axis=0, dtype=np.float64).astype(np.float32)
    fitted -= centre
    _, _, directions = randomized_svd(
        fitted,
        min(axes, *fitted.shape),
        n_iter=4,
        random_state=int(rng.integers(2**31)),
    )
    onto = np.ascontiguousarray(directions.T, dtype=np.float32)
    offset = centre @ onto
    return labelled @ onto - offset, unlabelled @ onto - offset


def _flat(tokens: Tokens) -> Rows:
    return tokens.reshape(len(tokens), -1)
