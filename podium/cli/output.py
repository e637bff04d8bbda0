"""How verbs print: JSON for machines, aligned plain text for people."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any


def print_json(value: Any) -> None:
    """Print strict JSON: two spaces of indentation, infinities as ``null``.

    Where the output is not UTF-8, other letters than ASCII's are escaped.
    """
    import json

    ascii_only = (sys.stdout.encoding or "").lower() not in ("utf-8", "utf8")
    print(json.dumps(_finite(value), indent=2, ensure_ascii=ascii_only, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {k: _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def print_columns(rows: Sequence[Sequence[str]], *, indent: int = 2) -> None:
    """Print rows with their columns aligned; the last column is left as it is."""
    if not rows:
        return
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        print(" " * indent + "  ".join([*cells, row[-1]]).rstrip())


def counted(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 run``, ``2 runs``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
