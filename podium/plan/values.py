"""Read the plain values of the command line: seeds, durations, sizes of memory."""

from __future__ import annotations

import math
import re

from podium.errors import InputError

MAX_SEED = 2**32 - 1
MAX_SEEDS = 10_000
_DURATION = re.compile(r"^(\d+(?:\.\d+)?)\s*(s|m|min|h)?$")
_DIGITS = 12
"""Longer numbers are no seeds, and Python refuses to read very long ones."""
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|KiB|MiB|GiB)$", re.IGNORECASE)
_MAX_BYTES = 2**63
_SECONDS = {None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_BYTES = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


def parse_seeds(text: str) -> tuple[int, ...]:
    """Read seeds: ``3`` means seeds 0, 1, 2; ``0-4`` a range; ``0,2,7`` a list.

    Raises:
        InputError: not one of these forms, an empty or backward range, or a repeated seed.
    """
    cleaned = text.strip()
    where = f"--seeds {text}"
    expected = "a count (3: seeds 0, 1, 2), a range (0-4) or a list (0,2,7)"
    if any(len(number) > _DIGITS for number in re.findall(r"\d+", cleaned)):
        raise InputError("a number is too large", where=where[:60], expected=f"at most {MAX_SEED}")
    if re.fullmatch(r"\d+", cleaned):
        count = int(cleaned)
        if count == 0:
            raise InputError(
                "no seeds",
                where=where,
                expected=expected,
                fix="--seeds 0-0 runs seed 0 alone, --seeds 1 does too",
            )
        return _checked(tuple(range(_count(count, where))), where)
    seeds: list[int] = []
    for part in cleaned.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if match is None:
            raise InputError("not seeds", where=where, expected=expected, found=repr(text))
        low, high = int(match[1]), int(match[2] or match[1])
        if high < low:
            raise InputError(
                "the range runs backward", where=where, found=part, fix=f"--seeds {high}-{low}"
            )
        _count(high - low + 1 + len(seeds), where)
        seeds.extend(range(low, high + 1))
    return _checked(tuple(seeds), where)


def _count(count: int, where: str) -> int:
    if count > MAX_SEEDS:
        raise InputError("too many seeds", where=where, expected=f"at most {MAX_SEEDS}")
    return count


def _checked(seeds: tuple[int, ...], where: str) -> tuple[int, ...]:
    if len(set(seeds)) != len(seeds):
        raise InputError("a seed stands twice", where=where, found=", ".join(map(str, seeds)))
    if max(seeds) > MAX_SEED:
        raise InputError("a seed is too large", where=where, expected=f"at most {MAX_SEED}")
    return seeds


def parse_duration(text: str, *, option: str) -> float:
    """Read a positive duration such as ``90``, ``90s``, ``5m`` or ``1h``; return seconds.

    Raises:
        InputError: not a positive duration.
    """
    match = _DURATION.match(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not 0 < seconds < math.inf:
        raise InputError(
            "not a duration", where=f"{option} {text}", expected="seconds, or 90s, 5m, 1h"
        )
    return seconds


def parse_size(text: str, *, option: str) -> int:
    """Read a positive size of memory such as ``2GiB`` or ``500MB``; return bytes.

    Raises:
        InputError: not a positive size, or a size without a unit.
    """
    match = _SIZE.match(text.strip())
    number = float(match[1]) * _BYTES[match[2].lower()] if match else 0.0
    size = int(number) if number < _MAX_BYTES else 0
    if size <= 0:
        raise InputError(
            "not a size of memory", where=f"{option} {text}", expected="such as 2GiB or 500MB"
        )
    return size
