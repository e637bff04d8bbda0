"""The items of a judging problem, typed, and a judge's answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Array, Arrays, Prediction, Problem
from podium.errors import InputError

Floats = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Texts = npt.NDArray[np.str_]

_SHOWN = 5


@dataclass(frozen=True)
class Items:
    """What a judge may know.

    Attributes:
        ids: names of the items to judge [items], each of them once.
        texts: what is to be judged [items].
        rubric: the instruction, and what the scale means.
        levels: the scale, float64 [levels], rising; at least two.
        train_texts: texts with a score [train].
        train_scores: their scores by people, float64 [train], on the scale.
        features: token features of the items, float32 [items, token, width], padded with 0.
        train_features: the same for the train texts.
        lengths: how many tokens of an item are no padding, int64 [items].
        train_lengths: the same for the train texts.
        embeddings: one vector an item, float32 [items, dimension].
        train_embeddings: the same for the train texts.
        train_reasoning: a noisy teacher's reasoning about the train texts, int64 [train, steps],
            symbols from 0; None where there is no teacher.
    """

    ids: Texts
    texts: Texts
    rubric: str
    levels: Floats
    train_texts: Texts
    train_scores: Floats
    features: Features
    train_features: Features
    lengths: Ints
    train_lengths: Ints
    embeddings: Features
    train_embeddings: Features
    train_reasoning: Ints | None = None

    @property
    def low(self) -> float:
        """The lowest level."""
        return float(self.levels[0])

    @property
    def high(self) -> float:
        """The highest level."""
        return float(self.levels[-1])


def read_items(problem: Problem) -> Items:
    """Return a problem's public arrays as ``Items``.

    Raises:
        InputError: a scale that is not two or more rising finite levels, an id that stands twice,
            or ratings of the train texts that are missing or outside the scale.
    """
    public = problem.public
    check_public(public, f"{problem.task}/{problem.id}")
    return Items(
        ids=public["ids"],
        texts=public["texts"],
        rubric=str(public["rubric"][0]),
        levels=public["levels"],
        train_texts=public["train_texts"],
        train_scores=public["train_scores"],
        features=public["features"],
        train_features=public["train_features"],
        lengths=public["lengths"],
        train_lengths=public["train_lengths"],
        embeddings=public["embeddings"],
        train_embeddings=public["train_embeddings"],
        train_reasoning=public.get("train_reasoning"),
    )


def check_public(public: Arrays, where: str) -> None:
    """Check what no array's contract can say.

    Raises:
        InputError: see ``read_items``.
    """
    check_levels(public["levels"], where)
    names, counts = np.unique(public["ids"], return_counts=True)
    twice = names[counts > 1]
    if twice.size:
        raise InputError(
            "an id stands for one item",
            where=where,
            expected="every id once",
            found="twice or more: " + shown([repr(str(name)) for name in twice]),
        )
    check_ratings(public["train_scores"], public["levels"], where)


def check_levels(levels: Floats, where: str) -> None:
    """Check a scale.

    Raises:
        InputError: fewer than two levels, or levels that do not rise or are not finite.
    """
    if levels.size < 2 or not np.isfinite(levels).all() or not (np.diff(levels) > 0).all():
        raise InputError(
            "a scale has two or more rising levels",
            where=where,
            expected="finite numbers, each above the one before",
            found=shown([f"{level:g}" for level in levels]) or "no level",
        )


def check_ratings(ratings: Floats, levels: Floats, where: str) -> None:
    """Check ratings against the scale.

    Raises:
        InputError: a rating that is not finite or lies outside the scale.
    """
    low, high = float(levels[0]), float(levels[-1])
    outside = np.flatnonzero(~((ratings >= low) & (ratings <= high)))
    if outside.size:
        raise InputError(
            "a rating lies on the scale",
            where=where,
            expected=f"{low:g} to {high:g}",
            found=shown([f"{ratings[row]:g} in row {row}" for row in outside]),
        )


def answers(items: Items, scores: Floats, distribution: Floats | None = None) -> Prediction:
    """Return a judge's answers as a prediction.

    Args:
        items: what was judged.
        scores: float [items], in their order; NaN where the judge gave no answer that can be read.
        distribution: float [items, levels], a row the judge's probabilities of the levels, where
            it has them.

    Raises:
        InputError: another number of scores, or rows that are not of the scale.
    """
    found: dict[str, Array] = {
        "ids": np.array(items.ids),
        "scores": np.array(scores, dtype=np.float64),
    }
    if found["scores"].shape != items.ids.shape:
        raise InputError(
            "a judge gives one score an item",
            where="scores",
            expected=f"shape [{items.ids.size}]",
            found=f"shape {list(found['scores'].shape)}",
        )
    if distribution is not None:
        found["distribution"] = np.array(distribution, dtype=np.float64)
        wanted = (items.ids.size, items.levels.size)
        if found["distribution"].shape != wanted:
            raise InputError(
                "a judge's distribution has a probability for each item and level",
                where="distribution",
                expected=f"shape {list(wanted)}",
                found=f"shape {list(found['distribution'].shape)}",
            )
    return found


def shown(parts: list[str]) -> str:
    """Return the first few of many, and how many more there are."""
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return ", ".join(parts[:_SHOWN]) + more
