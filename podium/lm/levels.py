"""From a model's probabilities of the written levels to a distribution and its mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """What a language model answered.

    Attributes:
        scores: float64 [items]; NaN where no number can be read.
        distribution: float64 [items, levels], or None where the model wrote a number; a row
            without an answer is NaN.
        raw: str [items], what the model wrote, or the levels' log likelihoods as JSON.
        cut: how many texts were longer than the model's context and lost their end.
    """

    scores: Floats
    distribution: Floats | None
    raw: npt.NDArray[np.str_]
    cut: int


def expected_level(log_likelihoods: npt.ArrayLike, levels: npt.ArrayLike) -> tuple[Floats, Floats]:
    r"""Return the mean level under a model's probabilities, and the probabilities.

    .. math:: p_l = \frac{e^{s_l}}{\sum_k e^{s_k}}, \qquad \hat y = \sum_l p_l z_l

    with s the log likelihoods of the written levels z: the model's probabilities, given that it
    answers with a level.

    Args:
        log_likelihoods: float [items, levels]; minus infinity for what cannot be.
        levels: float [levels].

    Returns:
        The means, float64 [items], within the scale, and the distribution, float64
        [items, levels], whose rows sum to 1. Both are NaN for an item whose log likelihoods hold
        a NaN, or no finite one.

    Source: Lukasik et al., Regression-aware inference with LLMs, EMNLP Findings 2024, section 4.
    """
    s = np.array(log_likelihoods, dtype=np.float64)
    z = np.asarray(levels, dtype=np.float64)
    s[np.isnan(s).any(axis=1) | ~np.isfinite(s).any(axis=1) | (s == np.inf).any(axis=1)] = np.nan
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return np.clip(p @ z, z[0], z[-1]), p
