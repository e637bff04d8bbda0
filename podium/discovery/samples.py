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
    found = np.unique(labels)
    if found[0] < 0:
        raise InputError(
            "a label is negative", where="labels", expected=">= 0", found=f"{found[0]}"
        )
    old = int(found[-1]) + 1
    if classes < old:
        raise InputError(
            "fewer clusters than old classes",
            where="classes",
            expected=f"at least {old}",
            found=str(classes),
        )
    if found.size < old:
        missing = int(np.flatnonzero(found != np.arange(found.size))[0])
        raise InputError(
            "an old class has no labelled sample",
            where="labels",
            expected=f"a sample of each class 0 to {old - 1}",
            found=f"none of {missing}",
            fix="number the old classes 0, 1, ... without gaps",
        )


def _block(public: Arrays) -> BackboneBlock | None:
    if "block_weights" not in public:
        return None
    return BackboneBlock(
        labelled=public["labelled_entering_tokens"],
        unlabelled=public["unlabelled_entering_tokens"],
        weights=public["block_weights"],
        heads=int(public["block_heads"][0]),
    )
