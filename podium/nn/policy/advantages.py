"""From rewards to advantages, and which of them an update keeps."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Order = Literal["signed", "absolute"]


def batch_advantages(rewards: Floats) -> Floats:
    r"""Return the rewards relative to the batch they belong to.

    .. math:: \hat A_b = (R_b - \mathrm{mean}(R)) / \mathrm{std}(R)

    Args:
        rewards: float64 [n] of one batch.

    Returns:
        float64 [n] of mean 0 and standard deviation 1 (over n); zeros where all rewards are equal,
        since then nothing is preferred.

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 3.
    """
    centred = rewards - rewards.mean()
    spread = float(np.sqrt(np.mean(np.square(centred))))
    # Rounding alone makes equal rewards differ; divided by itself it would be a preference.
    if spread <= 1e-12 * float(np.abs(rewards).max()):
        return np.zeros_like(rewards)
    return np.asarray(centred / spread)


def top_share(advantages: Floats, share: float, order: Order = "signed") -> Bools:
    """Return which advantages are among the largest ``share`` of all, at least one of them.

    ``signed``: the largest values; ``absolute``: the largest magnitudes, of either sign. Ties go to
    those that come first.

    Args:
        advantages: float64 [n].
        share: between 0 (exclusive) and 1.
        order: by what they are ordered.

    Returns:
        bool [n].
    """
    kept = max(1, round(share * len(advantages)))
    key = np.abs(advantages) if order == "absolute" else advantages
    mask = np.zeros(len(advantages), bool)
    mask[np.argsort(-key, kind="stable")[:kept]] = True
    return mask
