"""The metrics of FID-50K, from samples and what the scorer holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.stats import spearmanr

from podium.benchmarks.fid_50k.second import SecondFeatures
from podium.contracts import Arrays, Prediction, Undefined
from podium.generation.problem import read_classifier, reward_map
from podium.metrics import neighbours
from podium.metrics.frechet import frechet_of_features
from podium.metrics.kernel_distance import kernel_distance

Floats = npt.NDArray[np.float32]
Images = npt.NDArray[np.uint8]

TOLERANCE = 2.0
"""Root mean square difference, in levels of 0 to 255, up to which a picture is a copy."""

_BLOCK = 2000
_PARTS = 8
_KID_SUBSETS = 100
_KID_SIZE = 1000


def feature_metrics(
    samples: Images, public: Arrays, hidden: Arrays, rng: np.random.Generator
) -> dict[str, float]:
    """Return all metrics that look at the samples.

    Args:
        samples: uint8 [n, h, w, c], may be mapped from disk: read block by block.
        public: the problem's public arrays.
        hidden: its hidden arrays.
        rng: for the subsets of the kernel distance.
    """
    second = SecondFeatures(hidden)
    classifier = read_classifier(public["classifier_architecture"], public["classifier_weights"])
    train_pixels = _pixels(public["train_images"])
    found, rewarded, copies = [], [], 0.0
    for images in _blocks(samples):
        found.append(second(images))
        rewarded.append(reward_map(classifier, images))
        share = neighbours.duplicates(train_pixels, _pixels(images), TOLERANCE)
        copies += share * len(images)
    features = np.concatenate(found)
    held_out = hidden["held_out_features"]
    distance = frechet_of_features(features, held_out)
    return {
        "relative_frechet": distance / float(hidden["base_frechet"][0]),
        "frechet": distance,
        "frechet_reward_map": frechet_of_features(
            np.concatenate(rewarded), reward_map(classifier, hidden["held_out_images"])
        ),
        "kid": kernel_distance(
            held_out,
            features,
            subsets=_KID_SUBSETS,
            size=min(_KID_SIZE, len(held_out), len(features)),
            rng=rng,
        ),
        **_manifolds(held_out, features),
        "authenticity": neighbours.authenticity(hidden["train_features"], features),
        "duplicates": copies / len(samples),
    }


def rank_correlation(prediction: Prediction) -> float:
    """Return Spearman's correlation of the rewards by the incremental and by the full sum."""
    names = ("subset_rewards", "recomputed_rewards")
    if any(name not in prediction for name in names):
        return Undefined("the method returns no rewards to compare")
    first, second = (prediction[name] for name in names)
    if first.size < 3:
        return Undefined(f"a rank correlation needs three rewards or more, found {first.size}")
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return Undefined("all rewards are equal")
    return float(spearmanr(first, second).statistic)


def _pixels(images: Images) -> Floats:
    return images.reshape(len(images), -1).astype(np.float32)


def _manifolds(held_out: Floats, features: Floats) -> dict[str, float]:
    """Return the four measures, each the mean over parts of as many samples as are held out.

    They depend on both numbers: with many more samples than real pictures every real one has a
    sample near it, and coverage says nothing.
    """
    size = len(held_out)
    parts = [features[k * size : (k + 1) * size] for k in range(_PARTS)]
    whole = [part for part in parts if len(part) == size] or [features]
    rows = []
    for part in whole:
        precision, recall = neighbours.precision_recall(held_out, part)
        density, coverage = neighbours.density_coverage(held_out, part)
        rows.append((precision, recall, density, coverage))
    mean = np.mean(rows, axis=0)
    names = ("precision", "recall", "density", "coverage")
    return dict(zip(names, (float(value) for value in mean), strict=True))


def _blocks(samples: Images) -> Iterator[Images]:
    for start in range(0, len(samples), _BLOCK):
        yield np.asarray(samples[start : start + _BLOCK])
