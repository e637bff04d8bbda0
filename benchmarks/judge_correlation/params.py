"""What the problems of judge correlation declare."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from podium.contracts import Recipe
from podium.errors import InputError
from podium.judging.items import check_levels


class Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares: the most train items that a run is given."""

    train: int


class Synthetic(Params, frozen=True, kw_only=True, tag="synthetic"):
    """Vectors graded by a function; ``items`` in domain and as many under shift."""

    items: int
    dimension: int
    levels: int
    frequencies: list[float]
    symbols: int
    teacher_noise: float
    label_noise: float
    distance: float
    spread: float


class Texts(Params, frozen=True, kw_only=True):
    """Rated texts: at most ``items`` test items, cut to ``tokens`` of ``width`` components."""

    items: int
    scale: list[float]
    rubric: str
    tokens: int
    width: int


class Hutto(Texts, frozen=True, kw_only=True, tag="hutto"):
    """One of the four sets of rated sentiment; ``group``: whether ids name what a text is of."""

    member: str
    group: bool


class Local(Texts, frozen=True, kw_only=True, tag="local"):
    """Rated texts in JSON files of the user's own, in ``folder``.

    ``form``: ``rows`` for objects with the fields ``text`` and ``score``; ``squality`` for
    ``all-responses.jsonl`` of that set.
    """

    folder: str
    form: Literal["rows", "squality"]
    text: str = "text"
    score: str = "score"


AnyParams = Synthetic | Hutto | Local


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown or of the wrong type, or makes no problem.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError("bad parameters", where=where(recipe), found=str(error)) from error
    check_levels(scale(params), where(recipe))
    sizes = {"train": params.train, "items": params.items}
    if isinstance(params, Texts):
        sizes |= {"tokens": params.tokens, "width": params.width}
    else:
        sizes |= {"dimension": params.dimension, "symbols": params.symbols}
    few = [f"{name} = {size}" for name, size in sizes.items() if size < 1]
    if few:
        raise InputError(
            "bad sizes", where=where(recipe), expected="1 or more", found=", ".join(few)
        )
    if isinstance(params, Synthetic) and not 2 <= len(params.frequencies) <= params.dimension:
        raise InputError(
            "bad number of criteria",
            where=where(recipe),
            expected=f"2 to {params.dimension} frequencies",
            found=str(len(params.frequencies)),
        )
    return params


def scale(params: AnyParams) -> npt.NDArray[np.float64]:
    """Return the levels of a problem's scale."""
    if isinstance(params, Synthetic):
        return np.arange(1.0, params.levels + 1.0)
    return np.array(params.scale, dtype=np.float64)


def where(recipe: Recipe) -> str:
    """Return what to name in an error."""
    return f"{recipe.task}/{recipe.problem}"
