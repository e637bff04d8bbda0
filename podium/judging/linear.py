"""Scores by a line through one number a text, or by ridge regression on embeddings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError
from podium.judging.items import Items

Floats = npt.NDArray[np.float64]


def line_scores(items: Items, train: Floats, judged: Floats) -> Floats:
    """Return the items' scores from one number each, by least squares, clipped to the scale.

    Args:
        items: with the train items' scores.
        train: float64 [train], the number of each train item; the line is flat where all are equal.
        judged: float64 [items], the number of each item.

    Returns:
        float64 [items].

    Raises:
        InputError: no train item.
    """
    if not train.size:
        raise InputError("there are no train items", expected="1 or more", found="0")
    mean = float(train.mean())
    spread = float(np.square(train - mean).sum())
    slope = float((train - mean) @ items.train_scores) / spread if spread > 0 else 0.0
    found: Floats = items.train_scores.mean() + slope * (judged - mean)
    return np.clip(found, items.low, items.high)


def ridge_scores(
    items: Items, train_scores: Floats, weakest: float, strongest: float, penalties: int
) -> Floats:
    """Return the items' scores by ridge regression, clipped to the scale.

    Columns are centred and scaled to variance 1; of the penalties, in equal ratios, the one of the
    lowest leave-one-out error is taken.

    Args:
        items: with embeddings of items and train items.
        train_scores: float64 [train], what is regressed.
        weakest, strongest: smallest and largest penalty, above 0.
        penalties: how many are tried.

    Returns:
        float64 [items].

    Raises:
        InputError: bad penalties, or fewer than two train items.
    """
    if not 0 < weakest <= strongest < np.inf or penalties < 1:
        raise InputError(
            "bad penalties",
            where="weakest, strongest, penalties",
            expected="0 < weakest <= strongest, one penalty or more",
            found=f"{weakest}, {strongest}, {penalties}",
        )
    if train_scores.size < 2:
        raise InputError("too few train items", expected="2 or more", found=str(train_scores.size))
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    tried = np.geomspace(weakest, strongest, penalties) * train_scores.size
    model = make_pipeline(StandardScaler(), RidgeCV(tried))
    model.fit(items.train_embeddings.astype(np.float64), train_scores)
    found: Floats = model.predict(items.embeddings.astype(np.float64))
    return np.clip(found, items.low, items.high)
