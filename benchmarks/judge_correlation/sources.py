"""The items of judge correlation, made or read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from podium.benchmarks.judge_correlation import hutto, local, synthetic
from podium.benchmarks.judge_correlation.encoding import text_features
from podium.benchmarks.judge_correlation.params import (
    AnyParams,
    Hutto,
    Local,
    Synthetic,
    scale,
    where,
)
from podium.benchmarks.judge_correlation.rated import RatedTexts, halves, split, spread
from podium.contracts import Array, BuildContext, Recipe
from podium.seeding import seed_sequence

Floats = npt.NDArray[np.float64]

_HUTTO = "hutto/hutto_ICWSM_2014.tar.gz"
_MINILM = "minilm/model.zip"
_ASK = (
    "Grade the vector of numbers from 1 (worst) to {levels} (best). Its quality depends on "
    "{criteria} criteria, each with sweet spots of its own."
)


@dataclass(frozen=True)
class Source:
    """A problem's arrays.

    Attributes:
        public: by name, as the task declares them; ``levels`` aside.
        hidden: by name, as ``podium.benchmarks.judge_correlation.task`` scores them.
    """

    public: dict[str, Array]
    hidden: dict[str, Array]


def read_source(params: AnyParams, recipe: Recipe, context: BuildContext) -> Source:
    """Return a problem's arrays: the test items are the same for every seed.

    Raises:
        InputError: files that do not hold what they should.
        MissingError: files or folders that are not there.
    """
    match params:
        case Synthetic():
            return _synthetic(params, recipe, context)
        case Hutto():
            archive = context.files.path(_HUTTO)
            return _texts(
                params, hutto.read_set(archive, params.member, group=params.group), recipe, context
            )
        case Local():
            place = context.files.folder(params.folder, local.CONTENT[params.form])
            return _texts(params, local.read_set(place, params), recipe, context)


def fixed_rng(recipe: Recipe, name: str) -> np.random.Generator:
    """Return a generator that depends on the problem and the name, never on the run's seed."""
    return np.random.default_rng(seed_sequence(0, "fixed", recipe.task, recipe.problem, name))


def _synthetic(params: Synthetic, recipe: Recipe, context: BuildContext) -> Source:
    grader = synthetic.draw_grader(
        params.dimension, params.frequencies, params.levels, fixed_rng(recipe, "grader")
    )
    count, width = params.items, params.dimension
    drawn = synthetic.draw_inputs(2 * count, width, fixed_rng(recipe, "items"))
    elsewhere = synthetic.shift(drawn[count:], grader, params.distance, params.spread)
    # What is given is what is graded, to the last bit.
    x = np.concatenate([drawn[:count], elsewhere]).astype(np.float32)
    train = synthetic.draw_inputs(params.train, width, context.rng("train")).astype(np.float32)
    exact, exact_train = x.astype(np.float64), train.astype(np.float64)
    order = fixed_rng(recipe, "order").permutation(2 * count)
    gold = grader.quality(exact)[order]
    public: dict[str, Array] = {
        "ids": np.array([f"item-{row:05d}" for row in range(2 * count)]),
        "texts": synthetic.render(exact)[order],
        "rubric": np.array([_ASK.format(levels=params.levels, criteria=len(params.frequencies))]),
        "train_texts": synthetic.render(exact_train),
        "train_scores": grader.label(exact_train, params.label_noise, context.rng("labels")),
        "features": x[order][:, None, :],
        "train_features": train[:, None, :],
        "lengths": np.ones(2 * count, dtype=np.int64),
        "train_lengths": np.ones(params.train, dtype=np.int64),
        "embeddings": x[order],
        "train_embeddings": train,
        "train_reasoning": grader.reasoning(
            exact_train, params.symbols, params.teacher_noise, context.rng("reasoning")
        ),
    }
    hidden: dict[str, Array] = {
        "gold": gold,
        "observed": _label_shares(gold, scale(params), params.label_noise),
        "shifted": (order >= count),
        "rater": grader.label(exact, params.label_noise, fixed_rng(recipe, "rater"))[order],
    }
    return Source(public, hidden)


def _texts(
    params: Hutto | Local, texts: RatedTexts, recipe: Recipe, context: BuildContext
) -> Source:
    levels = scale(params)
    texts.check(levels, where(recipe))
    test, pool = split(texts, params.items, fixed_rng(recipe, "split"))
    ids, judged = texts.named(test)
    _, pooled = texts.named(pool)
    features = text_features(
        f"judge-{recipe.problem}",
        [*pooled.tolist(), *judged.tolist()],
        pool.size,
        weights=context.files.path(_MINILM),
        tokens=params.tokens,
        width=params.width,
    )
    drawn = context.rng("train").permutation(pool.size)[: params.train]
    train, items = features.rows(drawn), features.rows(slice(pool.size, None))
    public: dict[str, Array] = {
        "ids": ids,
        "texts": judged,
        "rubric": np.array([params.rubric]),
        "train_texts": pooled[drawn],
        "train_scores": texts.means(pool[drawn]),
        "features": items.tokens,
        "train_features": train.tokens,
        "lengths": items.lengths,
        "train_lengths": train.lengths,
        "embeddings": items.embeddings,
        "train_embeddings": train.embeddings,
    }
    ratings = [texts.ratings[row] for row in test]
    hidden: dict[str, Array] = {
        "gold": texts.means(test),
        "observed": np.stack([spread(found, levels) for found in ratings]),
        "shifted": np.zeros(test.size, dtype=np.bool_),
    }
    if min(found.size for found in ratings) > 1:
        rng = fixed_rng(recipe, "halves")
        pairs = np.array([halves(found, rng) for found in ratings])
        hidden |= {"ratings_a": pairs[:, 0], "ratings_b": pairs[:, 1]}
    return Source(public, hidden)


def _label_shares(quality: Floats, levels: Floats, noise: float) -> Floats:
    """Return how the labels of an item of this quality are spread, float64 [items, levels]."""
    edges = (levels[1:] + levels[:-1]) / 2
    below = ndtr((edges[None, :] - quality[:, None]) / noise)
    bounds = np.hstack([np.zeros((len(quality), 1)), below, np.ones((len(quality), 1))])
    shares: Floats = np.diff(bounds, axis=1)
    return shares
