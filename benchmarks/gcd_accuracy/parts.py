"""Token sets composed of parts: which four parts a sample holds is its class, nothing else is."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def directions(count: int, dimension: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Draw unit vectors uniformly, float64 [count, dimension]."""
    drawn = rng.standard_normal((count, dimension))
    unit: npt.NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


def class_parts(classes: int, parts: int, each: int, rng: np.random.Generator) -> Ints:
    """Draw the parts of each class: distinct sets of ``each`` parts, uniformly.

    Returns:
        int64 [classes, each], rising in a row.

    Raises:
        InputError: fewer sets than classes.
    """
    sets = comb(parts, each)
    if sets < classes:
        raise InputError(
            "too few sets of parts for the classes",
            where="class_parts",
            expected=f"at least {classes} sets",
            found=f"{sets} sets of {each} out of {parts}",
        )
    chosen = set(rng.choice(sets, size=classes, replace=False).tolist())
    rows = [parts for k, parts in enumerate(combinations(range(parts), each)) if k in chosen]
    drawn: Ints = np.array(rows, dtype=np.int64)
    return drawn[rng.permutation(classes)]


def compose(
    members: Ints,
    samples: int,
    *,
    tokens: int,
    part_vectors: npt.NDArray[np.float64],
    background_vectors: npt.NDArray[np.float64],
    part_tokens: int,
    background_scale: float,
    noise: float,
    rng: np.random.Generator,
) -> tuple[Floats, Ints]:
    r"""Compose ``samples`` token sets of each class.

    Each sample holds each part of its class once, and then parts of its class drawn uniformly until
    ``part_tokens`` tokens are parts, all at random places; every other token is a background
    direction, drawn uniformly, with a random sign:

    .. math:: x_{part} = p + \sigma\varepsilon, \qquad x_{background} = \pm s\,b + \sigma\varepsilon

    Args:
        members: int64 [classes, each], the parts of each class.
        samples: samples of each class.
        tokens: tokens of a sample.
        part_vectors: float64 [parts, dimension].
        background_vectors: float64 [backgrounds, dimension].
        part_tokens: tokens of a sample that are parts, at least as many as a class has parts.
        background_scale: length s of a background token.
        noise: standard deviation of the noise on every number.
        rng: the generator.

    Returns:
        float32 [classes * samples, tokens, dimension] and classes, int64 [classes * samples].

    Raises:
        InputError: fewer part tokens than a class has parts, or more than there are tokens.
    """
    classes, each = members.shape
    if not each <= part_tokens <= tokens:
        raise InputError(
            "the parts of a sample need a token each",
            where="part_tokens",
            expected=f"{each} to {tokens}",
            found=str(part_tokens),
        )
    labels = np.repeat(np.arange(classes, dtype=np.int64), samples)
    count, dimension = labels.size, part_vectors.shape[1]
    kind = rng.integers(len(background_vectors), size=(count, tokens))
    sign = rng.choice((-1.0, 1.0), size=(count, tokens))
    composed = background_scale * sign[..., None] * background_vectors[kind]
    places = rng.permuted(np.tile(np.arange(tokens), (count, 1)), axis=1)[:, :part_tokens]
    extra = rng.integers(each, size=(count, part_tokens - each))
    held = np.concatenate([members[labels], members[labels[:, None], extra]], axis=1)
    np.put_along_axis(composed, places[..., None], part_vectors[held], axis=1)
    composed += noise * rng.standard_normal((count, tokens, dimension))
    return composed.astype(np.float32), labels
