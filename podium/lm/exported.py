"""Items of Podium's judge correlation as tasks of lm-eval: how they are read and scored.

``podium export lm-eval-tasks`` writes a copy of this file as ``utils.py``: it needs lm-eval and
scipy, not Podium. A score is read from the model's words; where none can be read it counts as the
middle of the scale, and in parse_rate. A constant judge has no correlation: NaN.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Pair = tuple[float, float, float]
"""A judge's score, people's score, and the scale's width."""

HERE = Path(__file__).resolve().parent


def load(items: str, **_: Any) -> dict[str, Any]:
    """Return the items that lie beside this file, as lm-eval's ``custom_dataset``."""
    datasets = importlib.import_module("datasets")
    lines = (HERE / items).read_text(encoding="utf-8").splitlines()
    return {"test": datasets.Dataset.from_list([json.loads(line) for line in lines])}


def process_results(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, Any]:
    """Read the score of one item, for every metric that its task declares."""
    low, high, gold = float(doc["low"]), float(doc["high"]), float(doc["gold"])
    words = "" if results[0] is None else str(results[0])
    score = float(_parsing().read_score(words, low, high))
    answered = not math.isnan(score)
    pair: Pair = (score if answered else (low + high) / 2.0, gold, high - low)
    found: dict[str, Any] = {"parse_rate": float(answered)}
    for metric in ("pearson", "spearman", "kendall", "rmse"):
        found[metric] = None if doc["shifted"] else pair
    if doc["some_shifted"]:
        for metric in ("pearson_shifted", "rmse_shifted"):
            found[metric] = pair if doc["shifted"] else None
    return found


def pearson(pairs: Sequence[Pair | None]) -> float:
    """Return Pearson's correlation."""
    from scipy.stats import pearsonr

    x, y = _columns(pairs)
    return float(pearsonr(x, y).statistic) if _vary(x, y) else math.nan


def spearman(pairs: Sequence[Pair | None]) -> float:
    """Return Spearman's rank correlation."""
    from scipy.stats import spearmanr

    x, y = _columns(pairs)
    return float(spearmanr(x, y).statistic) if _vary(x, y) else math.nan


def kendall(pairs: Sequence[Pair | None]) -> float:
    """Return Kendall's tau-b."""
    from scipy.stats import kendalltau

    x, y = _columns(pairs)
    return float(kendalltau(x, y, variant="b").statistic) if _vary(x, y) else math.nan


def rmse(pairs: Sequence[Pair | None]) -> float:
    """Return the root mean squared error in shares of the scale's width."""
    errors = [(p[0] - p[1]) / p[2] for p in pairs if p is not None]
    return math.sqrt(math.fsum(e * e for e in errors) / len(errors)) if errors else math.nan


def _columns(pairs: Sequence[Pair | None]) -> tuple[list[float], list[float]]:
    kept = [pair for pair in pairs if pair is not None]
    return [pair[0] for pair in kept], [pair[1] for pair in kept]


def _vary(x: list[float], y: list[float]) -> bool:
    return len(set(x)) > 1 and len(set(y)) > 1


@functools.cache
def _parsing() -> Any:
    """Load the reader of scores that lies beside this file."""
    place = HERE / "podium_parsing.py"
    spec = importlib.util.spec_from_file_location("podium_parsing", place)
    if spec is None or spec.loader is None:
        raise ImportError(f"{place} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
