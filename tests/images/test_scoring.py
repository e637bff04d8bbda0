"""Scores of sets: identities, order, damage, degenerate sets, and the names of numbers."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from podium.contracts import Undefined
from podium.errors import InputError
from podium.features.extractor import Floats, Images
from podium.features.module import ModuleFeatures
from podium.images.scoring import SUBSETS, Score, score_sets
from podium.images.sets import ArraySet
from podium.metrics.frechet import frechet_of_features
from podium.metrics.kernel_distance import kernel_distance
from podium.metrics.neighbours import density_coverage, precision_recall
from podium.seeding import generator

MakePictures = Callable[..., Images]
Scorer = Callable[..., Score]
SHARES = ("precision", "recall", "density", "coverage")


@pytest.fixture
def scored(small_map: ModuleFeatures) -> Scorer:
    def made(samples: Images, reference: Images, **options: Any) -> Score:
        return score_sets(ArraySet(samples), ArraySet(reference), small_map, **options)

    return made


def numbers(score: Score) -> list[float]:
    return [score.frechet, score.kid, *(getattr(score, name) for name in SHARES)]


def test_a_set_against_itself(scored: Scorer, smooth_pictures: MakePictures) -> None:
    images = smooth_pictures(200, 0)
    found = scored(images, images)
    assert 0.0 <= found.frechet < 1e-9
    assert found.kid <= 0.0  # unbiased: pairs of a picture with itself count in one term alone
    assert (found.precision, found.recall, found.coverage) == (1.0, 1.0, 1.0)
    assert found.density >= 1.0
    assert isinstance(found.kid_spread, Undefined)
    assert not found.unreliable
    assert found.warnings == ()


def test_scores_are_those_of_the_metrics(
    scored: Scorer, smooth_pictures: MakePictures, small_map: ModuleFeatures
) -> None:
    fake, real = smooth_pictures(150, 1, 0.2), smooth_pictures(130, 2)
    x, y = small_map(real), small_map(fake)
    found = scored(fake, real, seed=3)
    assert found.frechet == pytest.approx(frechet_of_features(x, y), rel=1e-5)
    assert (found.precision, found.recall) == precision_recall(x, y, 3)
    assert (found.density, found.coverage) == density_coverage(x, y, 5)
    assert found.subsets == (SUBSETS, 130)
    assert found.kid_spread > 0.0
    rng = generator(0)
    draws = [kernel_distance(x, y, subsets=SUBSETS, size=130, rng=rng) for _ in range(5)]
    assert found.kid == pytest.approx(np.mean(draws), abs=found.kid_spread)


def test_fewer_pictures_than_dimensions(smooth_pictures: MakePictures) -> None:
    class Pixels:
        name = "pixels"
        dimension = 768

        def __call__(self, images: Images) -> Floats:
            return images.reshape(len(images), -1).astype(np.float32)

    fake, real = smooth_pictures(40, 1, 0.2), smooth_pictures(50, 2)
    found = score_sets(ArraySet(fake), ArraySet(real), Pixels())
    features = [x.reshape(len(x), -1).astype(float) for x in (real, fake)]
    assert found.frechet == pytest.approx(frechet_of_features(*features), rel=1e-6)
    assert found.unreliable
    [warning] = found.warnings
    assert "40 pictures for 768 dimensions" in warning
    assert "N >= 7680" in warning
    # Where not all features are kept, the moments are all that is left.
    again = score_sets(ArraySet(fake), ArraySet(real), Pixels(), keep=20)
    assert again.frechet == pytest.approx(found.frechet, rel=1e-4)


@pytest.mark.parametrize("keep", [1000, 60])
def test_order_and_batches_change_nothing(
    scored: Scorer, smooth_pictures: MakePictures, keep: int
) -> None:
    fake, real = smooth_pictures(120, 1, 0.2), smooth_pictures(90, 2)
    rng = np.random.default_rng(0)
    base = scored(fake, real, keep=keep)
    other = scored(rng.permutation(fake), rng.permutation(real), keep=keep, batch=13)
    np.testing.assert_allclose(numbers(other), numbers(base), rtol=1e-4)
    assert other.kid_spread == pytest.approx(base.kid_spread, rel=1e-3, nan_ok=True)
    assert other.name == base.name
    assert base.kept == (min(keep, 120), min(keep, 90))
    reseeded = scored(fake, real, keep=keep, seed=1)
    assert reseeded.kid != base.kid
    assert reseeded.frechet == pytest.approx(base.frechet, rel=1e-6)


def test_the_worse_the_jpeg_the_worse_the_score(
    scored: Scorer, smooth_pictures: MakePictures
) -> None:
    def damaged(images: Images, quality: int) -> Images:
        result = []
        for image in images:
            file = io.BytesIO()
            Image.fromarray(image).save(file, "JPEG", quality=quality)
            result.append(np.asarray(Image.open(file)))
        return np.stack(result)

    images = smooth_pictures(200, 0)
    scores = [scored(damaged(images, q), images) for q in (95, 40, 15, 5, 1)]
    distances = [s.frechet for s in scores]
    assert distances == sorted(distances)
    assert distances[0] > 0.0
    assert distances[-1] > 5 * distances[0]
    assert scores[-1].kid > scores[0].kid
    assert scores[-1].coverage < scores[0].coverage


def test_the_name_changes_with_all_that_changes_the_number(
    scored: Scorer, smooth_pictures: MakePictures, small_map: ModuleFeatures
) -> None:
    fake, real = smooth_pictures(60, 1), smooth_pictures(60, 2)
    base = scored(fake, real)
    assert base.name == (
        f"frechet[{small_map.name}, N=60, reference=sha256:{base.reference.digest[:16]}]"
    )
    assert scored(smooth_pictures(60, 9), real).name == base.name
    resized = ModuleFeatures(
        small_map._module, name="small", dimension=16, size=15, mean=(0.5,) * 3, std=(0.25,) * 3
    )
    others = [
        scored(fake[:59], real),
        scored(fake, real[:59]),
        scored(fake, smooth_pictures(60, 3)),
        score_sets(ArraySet(fake), ArraySet(real), resized),
    ]
    assert len({base.name, *(other.name for other in others)}) == 5


def test_fid_is_the_name_of_one_network_and_holds_n(
    scored: Scorer, smooth_pictures: MakePictures
) -> None:
    found = scored(smooth_pictures(60, 1), smooth_pictures(60, 2))
    assert found.label.startswith("Fréchet distance (small-")
    assert replace(found, fid=True).label == "FID-60"
    for count, label in ((50_000, "FID-50K"), (10_000, "FID-10K"), (50_001, "FID-50001")):
        side = replace(found.samples, count=count)
        assert replace(found, fid=True, samples=side).label == label
    assert replace(found, fid=True).name.startswith("fid[")


def test_pictures_that_are_all_alike(scored: Scorer, smooth_pictures: MakePictures) -> None:
    same = np.repeat(smooth_pictures(1, 0), 30, axis=0)
    real = smooth_pictures(40, 1)
    found = scored(same, real, batch=7)
    assert found.frechet > 0.0
    assert isinstance(found.recall, Undefined)
    assert "1 different pictures in samples" in found.recall.reason
    assert found.precision in (0.0, 1.0)
    assert 0.0 <= found.coverage < 0.5
    turned = scored(real, same)
    for name in ("precision", "density", "coverage"):
        value = getattr(turned, name)
        assert isinstance(value, Undefined)
        assert "reference" in value.reason
    assert 0.0 <= turned.recall <= 1.0
    both = scored(same, same)
    assert 0.0 <= both.frechet < 1e-9
    assert all(isinstance(getattr(both, name), Undefined) for name in SHARES)


def test_a_map_that_gives_the_same_for_all(smooth_pictures: MakePictures) -> None:
    class Constant:
        name = "constant"
        dimension = 4

        def __call__(self, images: Images) -> Floats:
            return np.full((len(images), 4), 0.1, dtype=np.float32)

    found = score_sets(
        ArraySet(smooth_pictures(20, 0)), ArraySet(smooth_pictures(30, 1)), Constant()
    )
    assert found.frechet == pytest.approx(0.0, abs=1e-9)
    assert all(isinstance(getattr(found, name), Undefined) for name in SHARES)


def test_very_few_pictures(scored: Scorer, smooth_pictures: MakePictures) -> None:
    found = scored(smooth_pictures(2, 0), smooth_pictures(40, 1))
    assert found.frechet > 0.0
    assert math.isfinite(found.kid)
    assert math.isnan(found.recall)
    assert math.isnan(found.precision)
    assert found.density >= 0.0
    for few, many in ((1, 5), (5, 1)):
        with pytest.raises(InputError, match="too few pictures"):
            scored(smooth_pictures(few, 0), smooth_pictures(many, 1))


def test_progress_is_told(smooth_pictures: MakePictures, small_map: ModuleFeatures) -> None:
    heard: list[tuple[str, int, int]] = []
    fake, real = ArraySet(smooth_pictures(10, 0)), ArraySet(smooth_pictures(6, 1))
    score_sets(
        fake, real, small_map, batch=6, listen=lambda role, done, of: heard.append((role, done, of))
    )
    assert heard == [("reference", 6, 6), ("samples", 6, 10), ("samples", 10, 10)]
