"""Scoring as it should be: honest, repeatable, and without a trace on what it is given."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from podium.check.digests import differing, digests, instance_digests
from podium.check.states import read_states, set_states, touched
from podium.contracts import Instance, Prediction, Recipe, Undefined
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


@dataclass(frozen=True)
class Scored:
    """Two scorings of one prediction.

    ``scores``: what the first returned. ``differs``: metrics of which the second said otherwise.
    ``changed``: arrays that scoring changed. ``touched``: global random states it changed.
    """

    scores: object
    differs: tuple[str, ...]
    changed: tuple[str, ...]
    touched: tuple[str, ...]


def score_twice(
    score: Callable[[Prediction, Instance, Recipe], object],
    prediction: Prediction,
    instance: Instance,
    recipe: Recipe,
) -> Scored:
    """Score a prediction twice, on copies, under different global random states."""
    first, changed, _ = _score(score, prediction, instance, recipe, states=1)
    # The second tells what is touched: by then every library is loaded, and none draws as it loads.
    second, _, states_changed = _score(score, prediction, instance, recipe, states=2)
    differs: list[str] = []
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        differs = [name for name in first if repr(first[name]) != repr(second.get(name))]
    return Scored(first, tuple(differs), tuple(changed), tuple(states_changed))


def _score(
    score: Callable[[Prediction, Instance, Recipe], object],
    prediction: Prediction,
    instance: Instance,
    recipe: Recipe,
    *,
    states: int,
) -> tuple[object, list[str], list[str]]:
    given = {name: array.copy() for name, array in prediction.items()}
    problem = Instance(
        public={name: array.copy() for name, array in instance.public.items()},
        hidden={name: array.copy() for name, array in instance.hidden.items()},
    )
    set_states(states)
    before = read_states()
    scores = score(MappingProxyType(given), problem, recipe)
    states_changed = touched(before, read_states())
    changed = [f"prediction {name}" for name in differing(digests(prediction), digests(given))]
    changed += differing(instance_digests(instance), instance_digests(problem))
    return scores, changed, states_changed
