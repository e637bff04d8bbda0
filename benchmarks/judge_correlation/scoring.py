"""A judge's answers in the items' order, and what they are worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from podium.contracts import Instance, InvalidPredictionError, Prediction, Scores, Undefined
from podium.judging.items import shown
from podium.metrics.agreement import (
    calibration_error,
    kendall_tau_b,
    pearson,
    pearson_interval,
    rmse,
    spearman,
    stepped_up,
)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.str_]

_ROW_SUM = 1e-4
"""How far a row's sum may be from 1: rows of single precision over a few hundred levels."""


@dataclass(frozen=True)
class Answers:
    """A prediction in the order of the problem's items.

    Attributes:
        scores: float64 [items]; the scale's middle where there is no answer.
        answered: bool [items], whether there is one.
        distribution: float64 [items, levels], or None; uniform where there is no answer.
        human: whether the raters are asked for instead of a judge.
    """

    scores: Floats
    answered: Flags
    distribution: Floats | None
    human: bool


def aligned(prediction: Prediction, ids: Texts, levels: Floats) -> Answers:
    """Return a prediction in the order of the items.

    Raises:
        InvalidPredictionError: lists every fault.
    """
    faults = _id_faults(prediction["ids"], ids)
    scores = prediction["scores"]
    faults += _rows("scores is infinite in row", np.isinf(scores))
    distribution: Floats | None = prediction.get("distribution")
    empty: Flags = np.zeros(scores.size, dtype=np.bool_)
    if distribution is not None:
        empty = np.asarray(np.isnan(distribution).all(axis=1), dtype=np.bool_)
        with np.errstate(over="ignore", invalid="ignore"):
            even = np.abs(distribution.sum(axis=1) - 1.0) <= _ROW_SUM
            good = even & (distribution >= 0).all(axis=1)
        text = "distribution is not a row of probabilities with sum 1 (or all NaN) in row"
        faults += _rows(text, ~(empty | good))
    human = bool(prediction.get("human", np.zeros(1, dtype=np.bool_))[0])
    if human and not np.isnan(scores).all():
        faults.append("human asks for the raters' own scores: all scores must then be NaN")
    if faults:
        raise InvalidPredictionError("; ".join(faults))
    order = np.argsort(prediction["ids"])
    rows = order[np.searchsorted(prediction["ids"][order], ids)]
    found = scores[rows]
    answered = ~np.isnan(found)
    middle = (float(levels[0]) + float(levels[-1])) / 2.0
    if distribution is not None:
        distribution = np.where(empty[:, None], 1.0 / levels.size, distribution)[rows]
    return Answers(np.where(answered, found, middle), answered, distribution, human)


def of_judge(answers: Answers, instance: Instance, rng: np.random.Generator) -> Scores:
    """Return every metric of a judge."""
    levels, gold = instance.public["levels"], instance.hidden["gold"]
    width = float(levels[-1] - levels[0])
    shifted: Flags = instance.hidden["shifted"]
    here = ~shifted
    x, y = answers.scores[here], gold[here]
    low, high = pearson_interval(x, y, rng)
    found = {
        "pearson": pearson(x, y),
        "spearman": spearman(x, y),
        "kendall": kendall_tau_b(x, y),
        "rmse": rmse(x, y, width),
        "pearson_shifted": _NO_SHIFT,
        "rmse_shifted": _NO_SHIFT,
        "calibration_error": Undefined("the judge returns no distribution"),
        "parse_rate": float(answers.answered.mean()),
        "pearson_low": low,
        "pearson_high": high,
    }
    if shifted.any():
        found["pearson_shifted"] = pearson(answers.scores[shifted], gold[shifted])
        found["rmse_shifted"] = rmse(answers.scores[shifted], gold[shifted], width)
    if answers.distribution is not None:
        observed = instance.hidden["observed"][here]
        found["calibration_error"] = calibration_error(answers.distribution[here], observed, levels)
    return found


def of_people(answers: Answers, instance: Instance, rng: np.random.Generator) -> Scores:
    """Return every metric of people: of another panel as large as the one that gave the truth.

    From the means of two halves of each item's raters: their correlations stepped up by Spearman
    and Brown, and their RMSE divided by the square root of 2, as the variance of a mean halves
    with twice the raters. Where labels are simulated it is one more label against the truth.
    """
    hidden, levels = instance.hidden, instance.public["levels"]
    if "rater" in hidden:
        one_more = Answers(hidden["rater"], answers.answered, None, human=True)
        return {**of_judge(one_more, instance, rng), "calibration_error": _NO_DISTRIBUTION}
    if "ratings_a" not in hidden:
        reason = Undefined("these items have a single rating")
        return {name: reason for name in _ALL} | {"parse_rate": float(answers.answered.mean())}
    a, b = hidden["ratings_a"], hidden["ratings_b"]
    low, high = pearson_interval(a, b, rng)
    return {
        "pearson": stepped_up(pearson(a, b)),
        "spearman": stepped_up(spearman(a, b)),
        "kendall": Undefined("no formula takes Kendall's tau of two halves to whole panels"),
        "rmse": rmse(a, b, float(levels[-1] - levels[0])) / math.sqrt(2.0),
        "pearson_shifted": _NO_SHIFT,
        "rmse_shifted": _NO_SHIFT,
        "calibration_error": _NO_DISTRIBUTION,
        "parse_rate": float(answers.answered.mean()),
        "pearson_low": stepped_up(low),
        "pearson_high": stepped_up(high),
    }


_NO_SHIFT = Undefined("this problem has no shifted items")
_NO_DISTRIBUTION = Undefined("people's scores are means, not distributions")
_ALL = (
    "pearson",
    "spearman",
    "kendall",
    "rmse",
    "pearson_shifted",
    "rmse_shifted",
    "calibration_error",
    "pearson_low",
    "pearson_high",
)


def _id_faults(given: Texts, ids: Texts) -> list[str]:
    names, counts = np.unique(given, return_counts=True)
    lists = {
        "unknown ids": np.setdiff1d(names, ids),
        "ids that stand twice or more": names[counts > 1],
        "missing ids": np.setdiff1d(ids, names),
    }
    return [
        f"{what}: {shown([repr(str(name)) for name in found])}"
        for what, found in lists.items()
        if found.size
    ]


def _rows(what: str, bad: Flags) -> list[str]:
    rows = np.flatnonzero(bad)
    return [f"{what} {shown([str(row) for row in rows])}"] if rows.size else []
