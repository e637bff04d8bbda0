"""The resize of clean-fid: its identities, and clean-fid itself."""

from __future__ import annotations

import numpy as np
import pytest

from podium.features.clean_resize import clean_resized
from podium.features.extractor import Images
from podium.features.resize import resized


def noise(*shape: int) -> Images:
    return np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)


def test_equal_size_and_one_colour_stay_as_they_are() -> None:
    images = noise(2, 9, 9)
    np.testing.assert_array_equal(clean_resized(images, 9), images)
    flat = np.full((1, 5, 13, 3), 77, dtype=np.uint8)
    np.testing.assert_allclose(clean_resized(flat, 21), 77.0, rtol=1e-6)
    assert clean_resized(images[:0], 7).shape == (0, 7, 7, 3)
    assert np.isfinite(clean_resized(noise(1, 1, 1), 299)).all()


def test_values_are_cut_but_not_rounded() -> None:
    step = np.zeros((1, 8, 8, 3), dtype=np.uint8)
    step[:, :, 4:] = 255
    result = clean_resized(step, 50)
    assert result.dtype == np.float32
    assert result.min() == 0.0
    assert result.max() == 255.0
    assert (result != np.round(result)).any()
    assert np.abs(result - resized(step, 50)).max() <= 1.0  # Pillow on 8 bits rounds twice


def test_scaling_down_is_antialiased() -> None:
    board = np.indices((64, 64)).sum(axis=0) % 2 * 255
    images = np.repeat(board[None, ..., None], 3, axis=3).astype(np.uint8)
    inner = clean_resized(images, 16)[:, 2:-2, 2:-2]
    np.testing.assert_allclose(inner, 127.5, atol=1.0)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("shape", [(28, 28), (64, 40), (299, 299), (400, 333), (1, 1)])
def test_agrees_with_clean_fid(shape: tuple[int, int]) -> None:
    theirs = pytest.importorskip("cleanfid.resize", exc_type=ImportError)
    image = noise(1, *shape)
    expected = theirs.build_resizer("clean")(image[0])
    np.testing.assert_array_equal(clean_resized(image, 299)[0], expected)
