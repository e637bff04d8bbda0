"""Build and score the problems of judge correlation."""

from __future__ import annotations

from podium.benchmarks.judge_correlation import scoring
from podium.benchmarks.judge_correlation.params import read_params, scale, where
from podium.benchmarks.judge_correlation.sources import read_source
from podium.contracts import BuildContext, Instance, Prediction, Recipe, Scores
from podium.judging.items import check_public
from podium.seeding import generator


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: items to judge, train items with scores, hidden people's scores.

    The items are the same for every seed; the train items are drawn from it.
    """
    params = read_params(recipe)
    source = read_source(params, recipe, context)
    public = {**source.public, "levels": scale(params)}
    check_public(public, where(recipe))
    return Instance(public=public, hidden=source.hidden)


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Score a judge's answers against people's; every declared metric.

    Raises:
        InvalidPredictionError: ids that are not those of the items, each once, infinite scores, or
            rows of the distribution that are none.
    """
    rng = generator(recipe.seed, recipe.task, recipe.problem, "resamples")
    answered = scoring.aligned(prediction, instance.public["ids"], instance.public["levels"])
    if answered.human:
        return scoring.of_people(answered, instance, rng)
    return scoring.of_judge(answered, instance, rng)
