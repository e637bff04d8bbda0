"""Arrays compared bit by bit."""

from __future__ import annotations

import hashlib

import numpy as np

from podium.contracts import Arrays


def digests(arrays: Arrays) -> dict[str, str]:
    """Return the SHA-256 of each array's dtype, shape and bytes."""
    return {
        name: hashlib.sha256(
            f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()
        ).hexdigest()
        for name, array in arrays.items()
    }


def differing(left: dict[str, str], right: dict[str, str]) -> list[str]:
    """Return the names under which two sets of arrays differ or that only one of them has."""
    return sorted(name for name in {*left, *right} if left.get(name) != right.get(name))
