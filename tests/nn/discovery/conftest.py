from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from podium.contracts import Problem
from podium.nn.discovery.settings import Settings

SETTINGS = Settings(
    epochs=1_000_000,
    steps=100,
    batch=32,
    learning_rate=0.03,
    weight_decay=0.01,
    entropy_weight=2.0,
    width=32,
    keep=0.75,
    noise=0.1,
    dropout=0.1,
)


@pytest.fixture
def make_settings() -> Callable[..., Settings]:
    return lambda **changes: replace(SETTINGS, **changes)


@pytest.fixture
def toy_problem() -> Callable[..., Problem]:
    """Classes far apart: each has a token direction of its own, in every token."""

    def make(
        classes: int = 4,
        old: int = 2,
        samples: int = 20,
        tokens: int = 5,
        features: int = 8,
        *,
        class_tokens: bool = False,
        noise: float = 0.2,
        seed: int = 0,
    ) -> Problem:
        rng = np.random.default_rng(seed)
        centres = np.linalg.qr(rng.standard_normal((features, features)))[0][:classes] * 3
        truth = np.repeat(np.arange(classes), samples)
        drawn = rng.standard_normal((len(truth), tokens, features)) * noise
        values = (centres[truth][:, None] + drawn).astype(np.float32)
        known = (truth < old) & (np.arange(len(truth)) % 2 == 0)
        arrays = {
            "labelled_tokens": values[known],
            "labels": truth[known],
            "unlabelled_tokens": values[~known],
            "grid": np.zeros(2, np.int64),
            "classes": np.array([classes]),
            "truth": truth[~known],
        }
        if class_tokens:
            means = values.mean(1)
            arrays["labelled_class_tokens"] = means[known]
            arrays["unlabelled_class_tokens"] = means[~known]
        return Problem("gcd_accuracy", "toy", "smoke", arrays)

    return make


@pytest.fixture
def make_generator() -> Callable[..., torch.Generator]:
    def make(seed: int = 0) -> torch.Generator:
        return torch.Generator().manual_seed(seed)

    return make
