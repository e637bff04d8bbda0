"""Features of texts: projection, padding, and the cache. The encoder is a stand-in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from podium.benchmarks.judge_correlation.encoding import TextFeatures, text_features
from podium.text import minilm
from podium.text.minilm import WIDTH, Encoded

TRAIN = [f"{'word ' * (1 + row % 4)}{row}" for row in range(40)]
JUDGED = ["", "one", "more than there is room for here"]


class StandIn:
    """As many tokens as words and two more; each is drawn from the text alone."""

    calls = 0

    def __init__(self, archive: Path) -> None:
        assert archive.is_file()

    def encode(self, texts: Sequence[str], *, longest: int, batch: int = 32) -> Encoded:
        del batch
        type(self).calls += 1
        lengths = np.array([min(len(text.split()) + 2, longest) for text in texts])
        rows = []
        for text, length in zip(texts, lengths, strict=True):
            rng = np.random.default_rng(list(text.encode()))
            rows.append(rng.normal(size=(length, WIDTH)) * np.linspace(3, 0.1, WIDTH) + 1)
        tokens = np.concatenate(rows).astype(np.float32)
        means = np.stack([row.mean(axis=0) for row in rows]).astype(np.float32)
        return Encoded(tokens, lengths, means)


@pytest.fixture
def features(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TextFeatures:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path))
    monkeypatch.setattr(minilm, "MiniLM", StandIn)
    StandIn.calls = 0
    (tmp_path / "model.zip").write_bytes(b"weights")
    return encoded(tmp_path, TRAIN + JUDGED)


def encoded(folder: Path, texts: list[str], width: int = 8) -> TextFeatures:
    weights = folder / "model.zip"
    return text_features("judge-test", texts, len(TRAIN), weights=weights, tokens=5, width=width)


def test_tokens_are_padded_with_zeros(features: TextFeatures) -> None:
    assert features.tokens.shape == (43, 5, 8)
    assert features.tokens.dtype == features.embeddings.dtype == np.float32
    assert features.lengths[-3:].tolist() == [2, 3, 5]
    padding = np.arange(5)[None, :] >= features.lengths[:, None]
    assert (features.tokens[padding] == 0).all()
    assert (np.abs(features.tokens[~padding]).sum(axis=1) > 0).all()


def test_components_are_uncorrelated_and_scaled_on_the_train_texts(features: TextFeatures) -> None:
    real = np.arange(5)[None, :] < features.lengths[:, None]
    train = features.tokens[:40][real[:40]].astype(np.float64)
    assert np.square(train).sum(axis=1).mean() == pytest.approx(8.0, rel=1e-2)
    assert train.mean(axis=0) == pytest.approx(np.zeros(8), abs=1e-2)
    covariance = np.cov(train.T)
    variances = np.diag(covariance)
    assert (np.diff(variances) < 0).all()
    assert np.abs(covariance - np.diag(variances)).max() < 0.02 * variances[0]


def test_judged_texts_do_not_move_the_components(features: TextFeatures, tmp_path: Path) -> None:
    other = encoded(tmp_path, [*TRAIN, "quite", "other", "texts"])
    assert np.array_equal(other.tokens[:40], features.tokens[:40])


def test_texts_are_encoded_once(features: TextFeatures, tmp_path: Path) -> None:
    calls = StandIn.calls
    again = encoded(tmp_path, TRAIN + JUDGED)
    assert StandIn.calls == calls
    assert np.array_equal(again.tokens, features.tokens)
    assert not np.array_equal(encoded(tmp_path, TRAIN + JUDGED, 4).tokens, features.tokens)
    assert StandIn.calls > calls
