"""What the problems of GCD accuracy declare."""

from __future__ import annotations

import msgspec

from podium.benchmarks.gcd_accuracy import splits
from podium.contracts import Recipe
from podium.errors import InputError


class Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares: the labelled share of the old classes' samples."""

    labelled: float


class Counted(Params, frozen=True, kw_only=True):
    """A problem with declared numbers of classes, and of old ones among them."""

    classes: int
    old: int


class Parts(Counted, frozen=True, kw_only=True, tag="parts"):
    """Sets of tokens composed of parts; ``samples`` of each class."""

    samples: int
    tokens: int
    dimension: int
    parts: int
    class_parts: int
    part_tokens: int
    backgrounds: int
    background_scale: float
    noise: float


class Digits(Counted, frozen=True, kw_only=True, tag="digits"):
    """The digits of scikit-learn in patches; ``samples`` of each class, or all of them."""

    patch: int
    dimension: int
    samples: int | None = None


class Fashion(Counted, frozen=True, kw_only=True, tag="fashion"):
    """The training pictures of Fashion-MNIST in patches."""

    patch: int
    dimension: int


class Mnist(Counted, frozen=True, kw_only=True, tag="mnist5k"):
    """Five thousand digits of MNIST as tokens of MobileNetV2; ``dimension`` components."""

    dimension: int


class Emoji(Counted, frozen=True, kw_only=True, tag="twemoji"):
    """Emoji of ``subgroups`` (class k is the k-th) as tokens of MobileNetV2."""

    dimension: int
    subgroups: list[str]


class Cifar(Counted, frozen=True, kw_only=True, tag="cifar100"):
    """The training pictures of CIFAR-100 as tokens of a transformer; see ``Folder``."""

    weights: str
    size: int
    pool: int
    last_block: bool = False


class Folder(Params, frozen=True, kw_only=True, tag="folder"):
    """Pictures of the user's own in ``folder``, as tokens of a transformer.

    ``weights`` is the folder with its checkpoint, ``size`` the pictures' side; squares of
    ``pool`` x ``pool`` tokens are averaged. ``classes`` and ``old`` are checked unless they are 0;
    ``split``: whether ``split.json`` must be there. ``last_block``: whether the last block and the
    tokens that enter it are given, so that it can be trained.
    """

    folder: str
    weights: str
    size: int
    pool: int = 1
    classes: int = 0
    old: int = 0
    split: bool = False
    last_block: bool = False


AnyParams = Parts | Digits | Fashion | Mnist | Emoji | Cifar | Folder


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown or of the wrong type.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError("bad parameters", where=where(recipe), found=str(error)) from error
    if isinstance(params, Counted):
        splits.check_classes(params.classes, params.old, where(recipe))
    if not 0.0 < params.labelled < 1.0:
        raise InputError(
            "bad share of labelled samples",
            where=where(recipe),
            expected="labelled between 0 and 1",
            found=str(params.labelled),
        )
    return params


def where(recipe: Recipe) -> str:
    """Return what to name in an error."""
    return f"{recipe.task}/{recipe.problem}"
