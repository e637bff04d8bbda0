"""What the problems of FID-50K declare."""

from __future__ import annotations

from typing import Literal

import msgspec

from podium.contracts import Recipe
from podium.errors import InputError

SecondMap = Literal["random", "perceptron", "mobilenet"]


class Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares.

    Attributes:
        samples: how many pictures to generate.
        features: numbers of either feature map.
        second: the kind of the scorer's map, see ``podium.benchmarks.fid_50k.second``.
        patch, dimension, depth, heads: of the base generator.
        steps, batch, rate: of its training, whose rate stays constant.
        decay: of the moving average of its weights that is the base.
        classifier_steps: of the training of the reward's feature map, and of a perceptron.
        train: share of the pictures to train on; the rest is halved between reward and scorer.
    """

    samples: int
    features: int
    second: SecondMap
    patch: int
    dimension: int
    depth: int
    heads: int
    steps: int
    batch: int
    rate: float
    decay: float
    classifier_steps: int
    train: float = 0.5


class Mixture(Params, frozen=True, kw_only=True, tag="mixture"):
    """Pictures of 2 x 4 grey pixels around six modes, two to a class.

    ``pictures`` in all; ``noise`` is the standard deviation around a mode in levels; ``skew`` is
    the share of the first mode of each class in the train split (in the others it is a half).
    """

    pictures: int
    noise: float
    skew: float


class Digits(Params, frozen=True, kw_only=True, tag="digits"):
    """The digits of scikit-learn, 8 x 8."""


class Mnist(Params, frozen=True, kw_only=True, tag="mnist5k"):
    """Five thousand digits of MNIST, 28 x 28."""


class Emoji(Params, frozen=True, kw_only=True, tag="twemoji"):
    """Emoji at ``size`` x ``size``; a class is a group of Unicode's subgroups, by its name."""

    size: int
    groups: dict[str, list[str]]


class Fashion(Params, frozen=True, kw_only=True, tag="fashion"):
    """The training pictures of Fashion-MNIST, 28 x 28."""


class Folder(Params, frozen=True, kw_only=True, tag="folder"):
    """Pictures of the user's own, ``<class>/<picture>`` in ``folder``, at ``size`` x ``size``."""

    folder: str
    size: int


AnyParams = Mixture | Digits | Mnist | Emoji | Fashion | Folder


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown, of the wrong type or of no sense.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError("bad parameters", where=where(recipe), found=str(error)) from error
    if not 0.0 < params.train < 1.0:
        raise InputError(
            "bad share of pictures to train on",
            where=where(recipe),
            expected="train between 0 and 1",
            found=str(params.train),
        )
    if min(params.features, params.steps, params.batch, params.classifier_steps) < 1:
        raise InputError(
            "bad sizes",
            where=where(recipe),
            expected="features, steps, batch and classifier_steps from 1 on",
        )
    if not 0.0 <= params.decay < 1.0:
        raise InputError(
            "bad decay of the moving average",
            where=where(recipe),
            expected="decay from 0 to below 1",
            found=str(params.decay),
        )
    if params.samples < 10 * params.features:
        raise InputError(
            "too few samples: a Fréchet distance needs ten for each feature",
            where=where(recipe),
            expected=f"samples of {10 * params.features} or more",
            found=str(params.samples),
        )
    return params


def where(recipe: Recipe) -> str:
    """Return what to name in an error."""
    return f"{recipe.task}/{recipe.problem}"
