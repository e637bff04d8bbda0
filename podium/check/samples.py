"""Predictions that fit a task's contract and know nothing of the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from podium.contracts import Array
from podium.declarations.task import INTEGERS, ArraySpec

FREE_LENGTH = 5
"""The length given to a word of a prediction's shape that no public array has."""

_WORDS = ("", "a", "b", "no", "yes")


def sample_predictions(
    specs: Sequence[ArraySpec], lengths: Mapping[str, int], rng: np.random.Generator
) -> dict[str, dict[str, Array]]:
    """Return predictions by what they are: random, constant, zeros, and without optional arrays.

    ``lengths``: the length of each word of the public arrays' shapes. Numbers stay within the
    declared range; zeros are moved to the nearest number that is in it.
    """
    samples: dict[str, dict[str, Array]] = {"random": {}, "constant": {}, "zeros": {}}
    for spec in specs:
        shape = tuple(n if isinstance(n, int) else lengths.get(n, FREE_LENGTH) for n in spec.shape)
        low, high = bounds(spec)
        samples["random"][spec.name] = random_array(spec, shape, rng)
        samples["constant"][spec.name] = _filled(spec, shape, high)
        samples["zeros"][spec.name] = _filled(spec, shape, min(max(0.0, low), high))
    if any(spec.optional for spec in specs):
        samples["random, required arrays only"] = {
            spec.name: samples["random"][spec.name] for spec in specs if not spec.optional
        }
    return samples


def bounds(spec: ArraySpec) -> tuple[float, float]:
    """Return the range numbers are drawn from: the declared one, or ten wide where it is open."""
    low, high = spec.minimum, spec.maximum
    if low is None and high is None:
        return {"uint8": (0.0, 255.0), "bool": (0.0, 1.0)}.get(spec.dtype, (-5.0, 5.0))
    if low is None:
        assert high is not None
        return (0.0 if spec.dtype == "uint8" else high - 10.0), high
    return low, (low + 10.0 if high is None else high)


def random_array(spec: ArraySpec, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return an array of the declared dtype, uniform over ``bounds``."""
    # Without a size numpy draws a plain number instead of an array.
    return np.asarray(_drawn(spec, shape, rng))


def _drawn(spec: ArraySpec, shape: tuple[int, ...], rng: np.random.Generator) -> object:
    low, high = bounds(spec)
    if spec.dtype == "str":
        return rng.choice(np.array(_WORDS), size=shape)
    if spec.dtype == "bool":
        return rng.random(shape) < 0.5
    if spec.dtype in INTEGERS:
        first, last = int(np.ceil(low)), int(np.floor(high))
        return np.asarray(rng.integers(first, last, size=shape, endpoint=True)).astype(spec.dtype)
    # Rounding to a narrower float may pass a bound.
    return np.asarray(rng.uniform(low, high, size=shape)).astype(spec.dtype).clip(low, high)


def _filled(spec: ArraySpec, shape: tuple[int, ...], value: float) -> Array:
    if spec.dtype == "str":
        return np.full(shape, _WORDS[round(value) % len(_WORDS)])
    return np.full(shape, value).astype(spec.dtype)
