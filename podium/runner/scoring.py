"""From what a scorer returns to the metrics of a record."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from podium.contracts import Undefined
from podium.declarations.task import MetricSpec
from podium.store.record import MetricValue

_ROUNDING = 1e-9
"""How far, relative to a bound, a score may pass it by rounding; it is then set to the bound."""


def checked_metrics(
    declared: Sequence[MetricSpec], scores: object
) -> tuple[dict[str, MetricValue], list[str]]:
    """Return the metrics in declared order, and every fault of the scorer.

    A score without a finite value becomes ``null`` with the reason that an ``Undefined`` carries.
    """
    if not isinstance(scores, Mapping):
        return {}, [f"it returned {type(scores).__name__}, expected a mapping of metrics"]
    metrics: dict[str, MetricValue] = {}
    faults = []
    for spec in declared:
        if spec.name not in scores:
            faults.append(f"metric {spec.name} is missing")
            continue
        found = _checked(spec, scores[spec.name])
        if isinstance(found, str):
            faults.append(found)
        else:
            metrics[spec.name] = found
    names = [m.name for m in declared]
    faults += [f"metric {n!r} is not declared" for n in scores if n not in names]
    return metrics, faults


def _checked(spec: MetricSpec, score: object) -> MetricValue | str:
    if isinstance(score, bool) or not isinstance(score, int | float | np.integer | np.floating):
        return f"metric {spec.name} is {type(score).__name__}, expected a number"
    value = float(score)
    if isinstance(score, Undefined):
        return MetricValue(value=None, reason=score.reason)
    if math.isnan(value):
        return MetricValue(value=None, reason="the scorer returned NaN and gave no reason")
    low, high = spec.range
    nearest = min(max(value, low), high)
    slack = _ROUNDING * max(1.0, abs(nearest))
    if nearest != value and not abs(nearest - value) <= slack:
        return f"metric {spec.name} is {value:g}, outside its range [{low:g}, {high:g}]"
    if math.isinf(nearest):
        return MetricValue(value=None, reason=f"the score is {nearest:g}")
    return MetricValue(value=nearest)
