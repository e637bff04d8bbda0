"""Build and score the problems of FID-50K."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.benchmarks.fid_50k.assets import Maker, public_assets
from podium.benchmarks.fid_50k.grid import sample_grid
from podium.benchmarks.fid_50k.params import read_params, where
from podium.benchmarks.fid_50k.reference import hidden_reference
from podium.benchmarks.fid_50k.scoring import feature_metrics, rank_correlation
from podium.benchmarks.fid_50k.sources import read_splits
from podium.benchmarks.fid_50k.splits import check_sizes, sample_labels
from podium.contracts import BuildContext, Instance, Prediction, Recipe, Scores
from podium.seeding import generator

_MOBILENET = "mobilenet_v2/mobilenet_v2-b0353104.pth"


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: a generator with its training pictures; hidden pictures and a hidden map.

    The splits, the generator and the maps are the same for every seed; the order of the classes
    that samples must be of is drawn from it. The generator is trained once, for minutes, and kept
    in the cache.
    """
    params = read_params(recipe)
    maker = Maker(recipe.task, recipe.problem, params, _device(recipe.tier))
    splits = read_splits(params, context.files, maker.rng, where(recipe))
    check_sizes(splits, params.features, where(recipe))
    assets = public_assets(maker, splits.train)
    reference = hidden_reference(
        maker,
        splits,
        assets,
        weights=context.files.path(_MOBILENET) if params.second == "mobilenet" else None,
    )
    asked = sample_labels(splits.train.labels, params.samples, context.rng("sample_labels"))
    return Instance(
        public={
            "train_images": splits.train.images,
            "train_labels": splits.train.labels,
            "reward_images": splits.reward.images,
            "reward_labels": splits.reward.labels,
            "sample_labels": asked,
            **assets,
        },
        hidden={"held_out_images": splits.held_out.images, **reference},
    )


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Score samples against the held-out split; every declared metric."""
    rng = generator(recipe.seed, recipe.task, recipe.problem, "kid")
    return {
        **feature_metrics(prediction["samples"], instance.public, instance.hidden, rng),
        "reward_rank_correlation": rank_correlation(prediction),
    }


def picture(prediction: Prediction, instance: Instance, recipe: Recipe) -> npt.NDArray[np.uint8]:
    """Return 8 x 8 of the samples, by class, uint8 [height, width, 3]."""
    del recipe  # all problems are shown alike
    return sample_grid(prediction["samples"], instance.public["sample_labels"])


def _device(tier: str) -> str:
    """Return where base generators are trained: large ones on a GPU, where there is one."""
    import torch

    return "cuda" if tier == "full" and torch.cuda.is_available() else "cpu"
