"""One pass over a set: what is kept, what is counted, what the digest stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from podium.errors import InputError
from podium.features.extractor import Floats, Images
from podium.features.module import ModuleFeatures
from podium.images.encoding import Encoded, encode, encode_set
from podium.images.sets import ArraySet

MakePictures = Callable[..., Images]


class Given:
    """A map that gives what a function says."""

    name = "given"

    def __init__(self, dimension: int, function: Callable[[Images], Any]) -> None:
        self.dimension = dimension
        self._function = function

    def __call__(self, images: Images) -> Floats:
        result: Floats = self._function(images)
        return result


def first_pixel(images: Images) -> Floats:
    return images[:, 0, 0].astype(np.float32)


def encoded(images: Images, keep: int = 100, salt: str = "0", batch: int = 7) -> Encoded:
    return encode_set(ArraySet(images), Given(3, first_pixel), keep=keep, salt=salt, batch=batch)


def test_moments_are_those_of_all_pictures(
    smooth_pictures: MakePictures, small_map: ModuleFeatures
) -> None:
    images = smooth_pictures(50, 0)
    found = encode_set(ArraySet(images), small_map, keep=5, salt="0", batch=16)
    features = small_map(images).astype(np.float64)
    np.testing.assert_allclose(found.moments.mean, features.mean(axis=0), atol=1e-6)
    expected = np.cov(features, rowvar=False)
    np.testing.assert_allclose(found.moments.covariance(), expected, atol=1e-6)
    assert (found.count, found.distinct, found.kept.shape) == (50, 5, (5, 16))


def test_mixed_sizes_come_back_in_their_order() -> None:
    rng = np.random.default_rng(0)
    sizes = (4, 1, 4, 9, 1)
    images = [rng.integers(0, 256, (s, s + 1, 3), dtype=np.uint8) for s in sizes]
    found = encode(Given(3, first_pixel), images)
    np.testing.assert_array_equal(found, [image[0, 0] for image in images])


def test_what_is_kept_hangs_on_the_set_not_on_its_order(smooth_pictures: MakePictures) -> None:
    images = smooth_pictures(400, 1)
    order = np.random.default_rng(0).permutation(400)
    one, other = encoded(images, keep=300), encoded(images[order], keep=300, batch=50)
    np.testing.assert_array_equal(one.kept, other.kept)
    assert one.digest == other.digest
    assert encoded(images, keep=300, salt="1").kept.tolist() != one.kept.tolist()
    np.testing.assert_array_equal(
        np.unique(encoded(images, keep=400).kept, axis=0), np.unique(first_pixel(images), axis=0)
    )


def test_every_picture_is_kept_equally_often() -> None:
    """Of 20 pictures, the last 5 of which are one picture: copies are drawn each on its own."""
    images = np.zeros((20, 1, 1, 3), dtype=np.uint8)
    images[:, 0, 0, 0] = [*range(15), *[99] * 5]
    counts = np.zeros(100)
    rounds = 2000
    for salt in range(rounds):
        values = encoded(images, keep=4, salt=str(salt), batch=20).kept[:, 0].astype(int)
        np.add.at(counts, values, 1)
    shares = counts[[*range(15), 99]] / rounds / np.array([1] * 15 + [5])
    # Standard deviation of a share: (.2 * .8 / 2000) ** .5 = .009
    np.testing.assert_allclose(shares, 0.2, atol=0.04)


def test_the_digest_changes_with_any_picture() -> None:
    images = np.zeros((3, 2, 3, 3), dtype=np.uint8)
    images[1] = 1
    base = encoded(images)
    assert (base.count, base.distinct) == (3, 2)
    assert encoded(images, keep=1).distinct == 1
    changed = images.copy()
    changed[0, 0, 0, 0] = 1
    others = [changed, images[:2], images[[0, 1, 1]], images.transpose(0, 2, 1, 3).copy()]
    assert len({base.digest, *(encoded(other).digest for other in others)}) == 5


def test_features_that_are_not_finite_are_named() -> None:
    def broken(images: Images) -> Floats:
        result = first_pixel(images)
        result[images[:, 0, 0, 0] == 42] = np.nan
        return result

    images = np.zeros((12, 1, 1, 3), dtype=np.uint8)
    images[8] = 42
    with pytest.raises(InputError, match=r"(?s)not finite|images, picture 9"):
        encode_set(ArraySet(images), Given(3, broken), keep=1, salt="0", batch=5)


def test_another_shape_than_said_is_named() -> None:
    images = np.zeros((2, 1, 1, 3), dtype=np.uint8)
    for wrong in (Given(4, first_pixel), Given(3, lambda x: first_pixel(x)[:1])):
        with pytest.raises(InputError, match="another shape than it says"):
            encode(wrong, list(images))


def test_progress_is_told() -> None:
    heard: list[int] = []
    images = np.zeros((10, 1, 1, 3), dtype=np.uint8)
    given = Given(3, first_pixel)
    encode_set(ArraySet(images), given, keep=1, salt="", batch=4, progress=heard.append)
    assert heard == [4, 8, 10]
