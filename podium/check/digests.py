"""Arrays compared bit by bit."""

from __future__ import annotations

import hashlib

import numpy as np

from podium.contracts import Arrays, Instance


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


def instance_digests(instance: Instance) -> dict[str, str]:
    """Return the digests of all arrays of a problem, named ``public x`` and ``hidden y``."""
    parts: dict[str, Arrays] = {"public": instance.public, "hidden": instance.hidden}
    return {
        f"{part} {name}": digest
        for part, arrays in parts.items()
        for name, digest in digests(arrays).items()
    }
