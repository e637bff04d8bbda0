"""The samples of a category-discovery problem, typed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Arrays
from podium.errors import InputError

Tokens = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Halves = npt.NDArray[np.float16]

_SHOWN = 5


@dataclass(frozen=True)
class BackboneBlock:
    """The last block of the backbone, and the tokens that enter it.

    Attributes:
        labelled: float16 of shape (labelled, 1 + patch, feature), the class token first.
        unlabelled: the same for the unlabelled samples.
        weights: of the block and the normalisation after it, float32 in one row, in the order of
            ``podium.features.vit.LastBlock``.
        heads: number of heads of its attention.
    """

    labelled: Halves
    unlabelled: Halves
    weights: Tokens
    heads: int


@dataclass(frozen=True)
class Samples:
    """What a method may know.

    Attributes:
        labelled: tokens of the labelled samples, float32 of shape (labelled, token, feature).
        labels: their classes, int64 of shape (labelled,), 0 to ``old - 1``.
        unlabelled: tokens of the unlabelled samples, float32 of shape (unlabelled, token, feature).
        classes: number of classes in all, old and new.
        grid: rows and columns of the tokens; None where they are a set without order.
        labelled_class: class tokens of the labelled samples, float32 of shape (labelled, feature),
            where the backbone has one.
        unlabelled_class: the same for the unlabelled samples.
        block: the last block of the backbone, where it may be trained.
    """

    labelled: Tokens
    labels: Ints
    unlabelled: Tokens
    classes: int
    grid: tuple[int, int] | None
    labelled_class: Tokens | None = None
    unlabelled_class: Tokens | None = None
    block: BackboneBlock | None = None

    @property
    def old(self) -> int:
        """Number of old classes: those with a labelled sample."""
        return int(self.labels.max()) + 1

    @property
    def tokens(self) -> Tokens:
        """Tokens of all samples, the labelled ones first."""
        return np.concatenate([self.labelled, self.unlabelled])


def read_samples(public: Arrays) -> Samples:
    """Return a problem's public arrays as ``Samples``.

    Raises:
        InputError: no labels, a negative one, an old class without a labelled sample, or fewer
            classes than old ones.
    """
    _check_labels(public["labels"], int(public["classes"][0]))
    rows, columns = (int(n) for n in public["grid"])
    return Samples(
        labelled=public["labelled_tokens"],
        labels=public["labels"],
        unlabelled=public["unlabelled_tokens"],
        classes=int(public["classes"][0]),
        grid=(rows, columns) if rows else None,
        labelled_class=public.get("labelled_class_tokens"),
        unlabelled_class=public.get("unlabelled_class_tokens"),
        block=_block(public),
    )


def _check_labels(labels: Ints, classes: int) -> None:
    if not labels.size:
        raise InputError("there are no labelled samples", where="labels", expected="one or more")
    least = int(labels.min())
    if least < 0:
        raise InputError("a label is negative", where="labels", expected=">= 0", found=str(least))
    check_old(labels, classes)


def check_old(labels: Ints, classes: int) -> int:
    """Return the number of old classes that labels >= 0 speak of; none for no labels.

    Raises:
        InputError: one of them without a sample, or fewer classes than these, or than one.
    """
    old = int(labels.max()) + 1 if labels.size else 0
    if classes < max(old, 1):
        raise InputError(
            "fewer clusters than old classes",
            where="classes",
            expected=f"at least {max(old, 1)}",
            found=str(classes),
        )
    missing = np.flatnonzero(np.bincount(labels, minlength=old) == 0)
    if missing.size:
        raise InputError(
            "an old class has no labelled sample",
            where="labels",
            expected=f"a sample of each class 0 to {old - 1}",
            found=f"none of {', '.join(map(str, missing[:_SHOWN]))}",
            fix="number the old classes 0, 1, ... without gaps",
        )
    return old


def _block(public: Arrays) -> BackboneBlock | None:
    if "block_weights" not in public:
        return None
    return BackboneBlock(
        labelled=public["labelled_entering_tokens"],
        unlabelled=public["unlabelled_entering_tokens"],
        weights=public["block_weights"],
        heads=int(public["block_heads"][0]),
    )
