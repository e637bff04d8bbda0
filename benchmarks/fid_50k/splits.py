"""Three disjoint splits of a set of pictures, and the classes that samples must be of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Images = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Pictures uint8 [n, height, width, channels] and their classes int64 [n]."""

    images: Images
    labels: Ints

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Splits:
    """The three splits: to train on, for rewards, and the scorer's."""

    train: Split
    reward: Split
    held_out: Split


def split_by_class(
    images: Images, labels: Ints, train: float, rng: np.random.Generator, where: str
) -> Splits:
    """Split each class: ``train`` of it to train on, the rest halved; each split in random order.

    Raises:
        InputError: a class of fewer than three pictures.
    """
    parts: tuple[list[Ints], list[Ints], list[Ints]] = ([], [], [])
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        if rows.size < 3:
            raise InputError(
                "a class is too small to split",
                where=where,
                expected="three pictures or more of each class",
                found=f"{rows.size} of class {label}",
            )
        first = min(max(round(train * rows.size), 1), rows.size - 2)
        second = first + (rows.size - first) // 2
        for part, chosen in zip(parts, np.split(rows, [first, second]), strict=True):
            part.append(chosen)
    made = []
    for part in parts:
        order = rng.permutation(np.concatenate(part))
        made.append(Split(images[order], labels[order]))
    return Splits(*made)


def check_sizes(splits: Splits, features: int, where: str) -> None:
    """Refuse splits that are too small for a Fréchet distance of so many features.

    Raises:
        InputError: a split for rewards or scores of fewer than ten pictures for each feature.
    """
    least = min(len(splits.reward), len(splits.held_out))
    if least < 10 * features:
        raise InputError(
            "too few pictures: a Fréchet distance needs ten for each feature",
            where=where,
            expected=f"{10 * features} or more for rewards, and as many for the scorer",
            found=str(least),
            fix="give more pictures, or lower the problem's features",
        )


def sample_labels(labels: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Return ``count`` classes in random order, in the proportions of ``labels``.

    The counts are the proportions' whole parts; what is missing goes to the largest remainders,
    among equal ones to the lowest class.
    """
    shares = np.bincount(labels) * count / labels.size
    counts = np.floor(shares).astype(np.int64)
    order = np.argsort(counts - shares, kind="stable")
    counts[order[: count - counts.sum()]] += 1
    return rng.permutation(np.repeat(np.arange(counts.size, dtype=np.int64), counts))
