"""Random generators drawn from a seed and a path of names; no global state is touched."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_sequence(seed: int, *names: str) -> np.random.SeedSequence:
    """Return the seed sequence of ``seed`` (>= 0) and ``names``.

    The names are hashed with their lengths, so ``("ab", "c")`` and ``("a", "bc")`` differ.
    """
    if seed < 0:
        raise ValueError(f"seed must be 0 or more, got {seed}")
    text = "".join(f"{len(n)}:{n}" for n in names)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint32)
    return np.random.SeedSequence([seed, *(int(w) for w in words)])


def generator(seed: int, *names: str) -> np.random.Generator:
    """Return a numpy generator drawn from ``seed`` and ``names``."""
    return np.random.default_rng(seed_sequence(seed, *names))
