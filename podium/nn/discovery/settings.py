"""How the networks of category discovery are trained; the same for every entry but where tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.errors import InputError
from podium.nn.discovery.augment import Views


@dataclass(frozen=True)
class Settings:
    """Configuration of a training.

    ``epochs``: passes over the unlabelled samples, but no more than ``steps`` steps. ``batch``:
    half of it is labelled. ``learning_rate`` and ``weight_decay``: of AdamW; the rate falls along
    half a cosine. ``entropy_weight``: of the entropy of the mean prediction. ``width``: hidden
    units of encoder and projector. ``keep``, ``noise``, ``dropout``: see ``Views``. ``block_rate``:
    learning rate of the backbone's last block, where it is trained, as a share of the others'.
    """

    epochs: int
    steps: int
    batch: int
    learning_rate: float
    weight_decay: float
    entropy_weight: float
    width: int
    keep: float
    noise: float
    dropout: float
    block_rate: float = 0.1

    def __post_init__(self) -> None:
        """Refuse values without a meaning, naming the argument."""
        for name, least in {"epochs": 1, "steps": 1, "batch": 2, "width": 1}.items():
            check_whole(name, getattr(self, name), least)
        for name in ("learning_rate", "block_rate", "keep"):
            if not (_number(getattr(self, name)) and getattr(self, name) > 0):
                raise _bad(name, getattr(self, name), "a finite number above 0")
        for name in ("weight_decay", "entropy_weight", "noise", "dropout"):
            if not (_number(getattr(self, name)) and getattr(self, name) >= 0):
                raise _bad(name, getattr(self, name), "a finite number of at least 0")
        if self.keep > 1:
            raise _bad("keep", self.keep, "a share of at most 1")
        if self.dropout >= 1:
            raise _bad("dropout", self.dropout, "a chance below 1")

    def length(self, unlabelled: int) -> int:
        """Return the number of steps on a problem with so many unlabelled samples."""
        return min(self.steps, math.ceil(self.epochs * unlabelled / (self.batch - self.batch // 2)))

    @property
    def views(self) -> Views:
        """How views are drawn."""
        return Views(keep=self.keep, noise=self.noise, dropout=self.dropout)


def check_whole(name: str, value: object, least: int) -> None:
    """Refuse a configured number that is not whole or below ``least``."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _bad(name, value, f"a whole number of at least {least}")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bad(name: str, value: object, expected: str) -> InputError:
    return InputError("bad value", where=name, expected=expected, found=repr(value))
