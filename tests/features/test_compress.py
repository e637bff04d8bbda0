"""Principal components of tokens, against scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from sklearn.decomposition import PCA

from podium.errors import InputError
from podium.features.compress import principal_tokens
from podium.features.extractor import Floats, slices


def made(seed: int = 0, samples: int = 40, mean: float = 3.0) -> Floats:
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((samples, 9, 6)) * [5, 4, 3, 2, 1, 0.5]
    mixed = factors @ rng.standard_normal((6, 12)) / 4 + mean
    return mixed.astype(np.float32)


def in_batches(tokens: Floats, batch: int = 7) -> Iterator[tuple[slice, Floats]]:
    for part in slices(len(tokens), batch):
        yield part, tokens[part]


def test_components_agree_with_scikit_learn() -> None:
    tokens = made()
    found = principal_tokens(in_batches(tokens), 4)
    peer = PCA(4).fit(tokens.reshape(-1, 12).astype(np.float64))
    expected = peer.transform(tokens.reshape(-1, 12)).reshape(40, 9, 4)
    # scikit-learn's variance is over n - 1.
    scale = np.sqrt(peer.explained_variance_.sum() / 4 * (360 - 1) / 360)
    ours = found.tokens.reshape(-1, 4)
    theirs = expected.reshape(-1, 4) / scale
    signs = np.sign((ours * theirs).sum(axis=0))
    # Half precision near 3 is exact to 2e-3.
    np.testing.assert_allclose(ours, theirs * signs, atol=5e-3)
    assert found.kept == pytest.approx(peer.explained_variance_ratio_.sum(), abs=1e-3)


def test_scale_and_form() -> None:
    found = principal_tokens(in_batches(made()), 5).tokens
    assert found.dtype == np.float32
    assert found.shape == (40, 9, 5)
    assert (found**2).sum(axis=2).mean() == pytest.approx(5.0, rel=1e-2)
    np.testing.assert_allclose(found.mean(axis=(0, 1)), 0.0, atol=1e-3)


def test_all_components_keep_every_distance() -> None:
    tokens = made()
    found = principal_tokens(in_batches(tokens), 12)
    assert found.kept == pytest.approx(1.0)
    before = np.linalg.norm(tokens[0, 0] - tokens[1:, 3], axis=1)
    after = np.linalg.norm(found.tokens[0, 0] - found.tokens[1:, 3], axis=1)
    np.testing.assert_allclose(after / after.mean(), before / before.mean(), rtol=2e-2)


def test_batches_change_nothing_but_rounding() -> None:
    tokens = made()
    whole = principal_tokens(in_batches(tokens, 40), 3).tokens
    np.testing.assert_allclose(principal_tokens(in_batches(tokens, 3), 3).tokens, whole, atol=1e-4)


def test_a_mean_far_from_zero_costs_nothing() -> None:
    # Without a shift, single-precision products would lose the spread.
    near, far = (principal_tokens(in_batches(made(mean=m)), 4) for m in (0.0, 50.0))
    assert far.kept == pytest.approx(near.kept, abs=1e-3)


def test_what_has_no_components_is_named() -> None:
    with pytest.raises(InputError, match="no tokens"):
        principal_tokens(iter(()), 3)
    with pytest.raises(InputError, match="1 to 12"):
        principal_tokens(in_batches(made()), 13)
    with pytest.raises(InputError, match="1 to 12"):
        principal_tokens(in_batches(made()), 0)
    with pytest.raises(InputError, match="all tokens are the same"):
        principal_tokens(in_batches(np.ones((4, 9, 12), dtype=np.float32)), 3)
