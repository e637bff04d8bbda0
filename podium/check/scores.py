"""Scores that say nothing untrue: in range, or undefined with a reason."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from podium.contracts import Undefined
from podium.declarations.task import MetricSpec
from podium.runner.scoring import checked_metrics


def score_faults(declared: Sequence[MetricSpec], scores: object) -> list[str]:
    """Return every way in which what a scorer returned is not honest; an empty list means none.

    Beyond what a run refuses (a missing or undeclared metric, a value out of range), a NaN must be
    an ``Undefined`` that carries a reason.
    """
    _, faults = checked_metrics(declared, scores)
    if isinstance(scores, Mapping):
        for name, score in scores.items():
            if isinstance(score, Undefined):
                if not score.reason.strip():
                    faults.append(f"metric {name} is Undefined with an empty reason")
            elif isinstance(score, float | np.floating) and math.isnan(score):
                faults.append(f"metric {name} is NaN without a reason")
    return faults
