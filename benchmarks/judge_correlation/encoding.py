"""Texts as token features and embeddings of a frozen encoder, computed once and kept."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from podium.data.derived import derived_arrays

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_CHUNK = 512
"""Texts that are encoded between two words of how far it is."""


class TextFeatures(NamedTuple):
    """Features of texts.

    ``tokens``: float32 [texts, token, width], padded with 0; ``lengths``: int64 [texts];
    ``embeddings``: float32 [texts, 384].
    """

    tokens: Floats
    lengths: Ints
    embeddings: Floats

    def rows(self, rows: Ints | slice) -> TextFeatures:
        """Return the features of some of the texts."""
        return TextFeatures(self.tokens[rows], self.lengths[rows], self.embeddings[rows])


def text_features(
    name: str, texts: Sequence[str], train: int, *, weights: Path, tokens: int, width: int
) -> TextFeatures:
    """Return token features and embeddings of texts from MiniLM, kept in the cache.

    A text's tokens are projected to the principal components of the tokens of the train texts
    about their mean, and scaled so that their mean squared length is ``width``. The first time it
    takes about a core's second for 100 short texts.

    Args:
        name: the problem, the name of its folder in the cache.
        texts: the train texts first.
        train: how many of them are train texts.
        weights: MiniLM's archive.
        tokens: the most tokens of a text.
        width: number of components, at most 384.

    Raises:
        InputError: not MiniLM's archive, or a bad number of tokens.
    """
    from podium.text import minilm

    def compute() -> dict[str, npt.NDArray[np.generic]]:
        network = minilm.MiniLM(weights)
        parts = []
        for start in range(0, len(texts), _CHUNK):
            parts.append(network.encode(texts[start : start + _CHUNK], longest=tokens))
            done = min(start + _CHUNK, len(texts))
            print(f"{name}: {done} of {len(texts)} texts", file=sys.stderr, flush=True)
        flat = np.concatenate([part.tokens for part in parts])
        lengths = np.concatenate([part.lengths for part in parts])
        projected = _projected(flat, int(lengths[:train].sum()), width)
        padded = np.zeros((len(texts), tokens, width), dtype=np.float16)
        padded[np.arange(tokens)[None, :] < lengths[:, None]] = projected
        return {
            "tokens": padded,
            "lengths": lengths,
            "embeddings": np.concatenate([part.embeddings for part in parts]),
        }

    found = derived_arrays(
        name,
        compute,
        sources=[weights],
        code=[sys.modules[__name__], minilm],
        parameters={
            "texts": hashlib.sha256(json.dumps([train, *texts]).encode()).hexdigest(),
            "tokens": tokens,
            "width": width,
            "versions": {package: metadata.version(package) for package in ("tokenizers", "torch")},
        },
    )
    return TextFeatures(found["tokens"].astype(np.float32), found["lengths"], found["embeddings"])


def _projected(tokens: Floats, train: int, width: int) -> Floats:
    """Return principal components of tokens [n, 384]; those of the first ``train`` count."""
    mean = tokens[:train].mean(axis=0, dtype=np.float64)
    centred = tokens[:train] - mean.astype(np.float32)
    covariance = (centred.T @ centred).astype(np.float64) / train
    _, axes = np.linalg.eigh(covariance)
    axes = axes[:, ::-1][:, :width]
    # An eigenvector's sign is free: its largest component is made positive.
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(width)])
    found = (tokens - mean.astype(np.float32)) @ axes.astype(np.float32)
    length = float(np.square(found[:train]).sum(axis=1, dtype=np.float64).mean())
    scaled: Floats = found * np.float32(np.sqrt(width / length))
    return scaled
