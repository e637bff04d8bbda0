"""How judges are trained; the same for every entry but where tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.nn.discovery.settings import check_whole
from podium.nn.policy.settings import bad, check_positive


@dataclass(frozen=True)
class JudgeSettings:
    """Configuration of a judge and its training.

    ``steps``: after the warm start, which takes ``warm_steps``; entries without a warm start take
    the sum. ``batch``: items a step. ``samples``: reasonings sampled for each of them.
    ``learning_rate``, ``warm_rate``: of AdamW after the warm start and in it, each falling along
    half a cosine. ``dropout``: chance of a number of an item's features to be 0 in training.
    ``length``, ``symbols``: of the reasoning, where no teacher's is given. ``width``, ``heads``:
    see ``Judge``. ``teacher_noise``: see ``teacher_reasoning``. ``max_norm``: length to which a
    longer gradient is cut.
    """

    steps: int
    learning_rate: float
    dropout: float
    weight_decay: float
    batch: int
    width: int
    heads: int
    samples: int = 8
    warm_steps: int = 0
    warm_rate: float = 0.003
    length: int = 4
    symbols: int = 10
    teacher_noise: float = 1.0
    max_norm: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values without a meaning, naming the argument."""
        least = {
            "warm_steps": 0,
            "steps": 0,
            "batch": 1,
            "samples": 2,
            "length": 1,
            "symbols": 2,
            "width": 1,
            "heads": 1,
        }
        for name, value in least.items():
            check_whole(name, getattr(self, name), value)
        for name in ("warm_rate", "learning_rate", "max_norm"):
            check_positive(name, getattr(self, name))
        for name in ("weight_decay", "dropout", "teacher_noise"):
            check_weight(name, getattr(self, name))
        if self.dropout >= 1:
            raise bad("dropout", self.dropout, "a chance below 1")
        if self.width % self.heads:
            raise bad("heads", self.heads, f"a divisor of width, {self.width}")


def check_weight(name: str, value: object) -> None:
    """Refuse a configured number that is not finite or below 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(name, value, "a finite number of at least 0")
    if not (math.isfinite(value) and value >= 0):
        raise bad(name, value, "a finite number of at least 0")
