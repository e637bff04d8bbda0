"""Which samples are labelled, and in what order all of them come."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Ints = npt.NDArray[np.int64]


def check_classes(classes: int, old: int, where: str) -> None:
    """Refuse numbers of classes that leave nothing to name or nothing to discover.

    Raises:
        InputError: fewer than two classes, no old class, or no new one.
    """
    if not 1 <= old < classes:
        raise InputError(
            "category discovery needs an old and a new class at least",
            where=where,
            expected="1 <= old < classes",
            found=f"old = {old}, classes = {classes}",
        )


def halves(
    labels: Ints, *, classes: int, old: int, labelled: float, rng: np.random.Generator, where: str
) -> tuple[Ints, Ints]:
    """Draw the labelled samples: a share of each old class; the rest is unlabelled.

    Both parts are in a random order, so that no place tells a class.

    Args:
        labels: int64 [samples], classes 0 to ``classes - 1``, the old ones first.
        classes, old: number of classes, and of old ones among them.
        labelled: share of each old class's samples that is labelled, rounded to the nearest.
        rng: decides which samples, and the order.
        where: what to name in an error.

    Returns:
        Row numbers of the labelled and of the unlabelled samples, int64.

    Raises:
        InputError: labels outside the classes, an old class without a labelled sample, a class
            without an unlabelled one, or bad numbers of classes.
    """
    check_classes(classes, old, where)
    if labels.size and not 0 <= labels.min() <= labels.max() < classes:
        raise InputError(
            "labels must name the declared classes",
            where=where,
            expected=f"0 to {classes - 1}",
            found=f"{labels.min()} to {labels.max()}",
        )
    order = rng.permutation(labels.size)
    sizes = np.bincount(labels, minlength=classes)
    wanted = np.zeros(classes, dtype=np.int64)
    wanted[:old] = np.rint(labelled * sizes[:old]).astype(np.int64)
    _refuse("an old class has no labelled sample", np.flatnonzero(wanted[:old] == 0), sizes, where)
    _refuse("a class has no unlabelled sample", np.flatnonzero(sizes <= wanted), sizes, where)
    # The place of each sample among those of its class, in the random order.
    shuffled = labels[order]
    by_class = np.argsort(shuffled, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(labels.size, dtype=np.int64)
    place[by_class] = np.arange(labels.size) - np.repeat(starts, sizes)
    chosen = place < wanted[shuffled]
    # Ordered anew: what is left of an old class came late, after its labelled samples.
    return rng.permutation(order[chosen]), rng.permutation(order[~chosen])


def _refuse(what: str, classes: Ints, sizes: Ints, where: str) -> None:
    if classes.size:
        raise InputError(
            what,
            where=where,
            expected="at least one labelled sample of each old class, and an unlabelled one of all",
            found=", ".join(f"class {c} has {sizes[c]} samples" for c in classes[:5]),
            fix="add samples of these classes, or change the share of labelled ones",
        )
