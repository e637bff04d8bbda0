"""Principal components of token maps, without holding the maps in single precision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from podium.errors import InputError
from podium.features.extractor import Floats


@dataclass(frozen=True)
class Compressed:
    """Tokens in their principal components.

    Attributes:
        tokens: float32 [samples, token, dimension], scaled by one number so that the mean squared
            length of a token is ``dimension``.
        kept: share of the tokens' variance that the components hold, in [0, 1].
    """

    tokens: Floats
    kept: float


def principal_tokens(batches: Iterable[tuple[slice, Floats]], dimension: int) -> Compressed:
    r"""Project tokens on the first principal components of all of them.

    .. math:: y = V_d^\top (x - \bar x) \Big/ \sqrt{\textstyle\sum_{k \le d} \lambda_k / d}

    with the largest d eigenvalues of the covariance of all tokens and their eigenvectors, each
    with its largest entry positive. The mean of a sample's tokens is projected the same way. The
    tokens wait in half precision (relative error 5e-4) until the components are known.

    Args:
        batches: places and tokens float32 [n, token, feature], one batch after another.
        dimension: d, at most the number of features.

    Raises:
        InputError: no tokens, too large a dimension, or tokens that are all the same.
    """
    waiting = []
    shift, total, moments = None, 0.0, 0.0
    for _, tokens in batches:
        rows = tokens.reshape(-1, tokens.shape[-1])
        # About the first batch's mean, so that single-precision products lose nothing.
        shift = rows.mean(axis=0) if shift is None else shift
        rows = rows - shift
        total = total + rows.sum(axis=0, dtype=np.float64)
        moments = moments + (rows.T @ rows).astype(np.float64)
        waiting.append(tokens.astype(np.float16))
    if shift is None:
        raise InputError("there are no tokens", where="batches", expected="at least one batch")
    if not 1 <= dimension <= shift.size:
        raise InputError(
            "bad number of components",
            where="dimension",
            expected=f"1 to {shift.size}, the features of a token",
            found=str(dimension),
        )
    count = sum(halves.shape[0] * halves.shape[1] for halves in waiting)
    offset = total / count
    values, vectors = np.linalg.eigh(moments / count - np.outer(offset, offset))
    values, vectors = values[::-1].clip(min=0.0), vectors[:, ::-1][:, :dimension]
    variance = values[:dimension].sum()
    if not variance > 0.0:
        raise InputError("all tokens are the same", where="batches", expected="tokens that differ")
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(dimension)])
    basis = (vectors * signs / np.sqrt(variance / dimension)).astype(np.float32)
    centre = shift + offset.astype(np.float32)
    result = np.empty((sum(map(len, waiting)), waiting[0].shape[1], dimension), dtype=np.float32)
    start = 0
    for halves in waiting:
        result[start : start + len(halves)] = (halves.astype(np.float32) - centre) @ basis
        start += len(halves)
    return Compressed(result, float(variance / values.sum()))
