"""Texts with people's ratings: split, and spread over a scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.judging.items import check_ratings

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

POOL = 4000
"""The most train texts that are encoded; the train items of a run are drawn from them."""


@dataclass(frozen=True)
class RatedTexts:
    """A set of texts, each with the ratings of one person or more.

    Attributes:
        ids: names of the texts.
        texts: the texts.
        ratings: of each text, float64 [raters].
        groups: texts of the same group are on the same side of a split.
    """

    ids: list[str]
    texts: list[str]
    ratings: list[Floats]
    groups: list[str]

    def add(self, name: str, text: str, ratings: Floats, group: str) -> None:
        """Append a text."""
        self.ids.append(name)
        self.texts.append(text)
        self.ratings.append(ratings)
        self.groups.append(group)

    def means(self, rows: Ints) -> Floats:
        """Return the mean ratings of texts, float64 [rows]."""
        return np.array([self.ratings[row].mean() for row in rows], dtype=np.float64)

    def named(self, rows: Ints) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.str_]]:
        """Return ids and texts as arrays."""
        ids = np.array([self.ids[row] for row in rows], dtype=np.str_)
        return ids, np.array([self.texts[row] for row in rows], dtype=np.str_)

    def check(self, levels: Floats, where: str) -> None:
        """Check ids and ratings.

        Raises:
            InputError: an id that stands twice, a text without ratings, a rating outside the
                scale, or too few texts to split.
        """
        twice = (
            sorted({name for name in self.ids if self.ids.count(name) > 1})
            if (len(set(self.ids)) != len(self.ids))
            else []
        )
        if twice:
            raise InputError(
                "an id stands for one text", where=where, found=f"{twice[0]!r} more than once"
            )
        for name, ratings in zip(self.ids, self.ratings, strict=True):
            if not ratings.size:
                raise InputError("a text without ratings", where=where, found=f"id {name!r}")
            check_ratings(ratings, levels, f"{where}, id {name!r}")
        if len(set(self.groups)) < 4:
            raise InputError(
                "too few texts to split",
                where=where,
                expected="4 or more, of 4 groups or more",
                found=f"{len(self.ids)} of {len(set(self.groups))} groups",
            )


def split(texts: RatedTexts, items: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return the rows of the items to judge, and those of the train pool, both in random order.

    Whole groups are taken in random order until the next would pass ``items``, or half of all
    texts; all other groups are the pool, of which at most ``POOL`` texts are kept.
    """
    names = np.array(texts.groups, dtype=np.str_)
    groups, member = np.unique(names, return_inverse=True)
    sizes = np.bincount(member)
    order = rng.permutation(groups.size)
    most = min(items, names.size // 2)
    taken = order[np.cumsum(sizes[order]) <= most]
    # The first group may be larger than what is wanted: one group is judged in any case.
    chosen = np.isin(member, taken if taken.size else order[:1])
    test, pool = (rng.permutation(np.flatnonzero(rows)) for rows in (chosen, ~chosen))
    return test, pool[:POOL]


def halves(ratings: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """Return the means of two random halves of a text's raters; with an odd one in the second."""
    order = rng.permutation(ratings.size)
    middle = ratings.size // 2
    return float(ratings[order[:middle]].mean()), float(ratings[order[middle:]].mean())


def spread(ratings: Floats, levels: Floats) -> Floats:
    """Return the shares of the ratings at each level, float64 [levels].

    A rating between two levels counts to both, so that the mean stays what it is.
    """
    upper = np.clip(np.searchsorted(levels, ratings), 1, levels.size - 1)
    part = (ratings - levels[upper - 1]) / (levels[upper] - levels[upper - 1])
    shares = np.bincount(upper, part, levels.size) + np.bincount(upper - 1, 1 - part, levels.size)
    found: Floats = shares / ratings.size
    return found
