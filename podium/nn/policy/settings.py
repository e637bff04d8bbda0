"""How a generator is trained by rewards; the same for every entry but where tuned."""

from __future__ import annotations

import math
from dataclasses import dataclass

from podium.errors import InputError
from podium.nn.discovery.settings import check_whole
from podium.nn.policy.advantages import Order


@dataclass(frozen=True)
class PolicySettings:
    """Configuration of a training by policy gradients.

    ``updates``: of the parameters, each from rollouts of ``subsets`` x ``size`` pictures by the
    current model. ``steps``: of the sampler. ``noise_scale``: of its noise. ``trained_steps``: how
    many of the sampler's steps, drawn anew for each update, give gradients. ``keep``: share of the
    pictures whose advantages are kept, chosen by ``order``. ``clip``: of the ratio.
    ``learning_rate``: of Adam, constant. ``decay``: of the moving average of the weights, 0 for the
    last ones. ``max_norm``: length to which a longer gradient is cut.
    """

    updates: int
    subsets: int
    size: int
    steps: int
    noise_scale: float
    trained_steps: int
    keep: float
    order: Order
    clip: float
    learning_rate: float
    decay: float
    max_norm: float = 1.0

    def __post_init__(self) -> None:
        """Refuse values without a meaning, naming the argument."""
        least = {"updates": 0, "subsets": 2, "size": 1, "steps": 1, "trained_steps": 1}
        for name, value in least.items():
            check_whole(name, getattr(self, name), value)
        for name in ("noise_scale", "keep", "clip", "learning_rate", "max_norm"):
            check_positive(name, getattr(self, name))
        check_share("keep", self.keep)
        check_one_of("order", self.order, ("signed", "absolute"))
        if not 0 <= self.decay < 1:
            raise bad("decay", self.decay, "a number of at least 0 and below 1")
        if self.trained_steps > self.steps:
            raise bad("trained_steps", self.trained_steps, f"at most steps, {self.steps}")


def check_positive(name: str, value: object) -> None:
    """Refuse a configured number that is not finite or not above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(name, value, "a finite number above 0")
    if not (math.isfinite(value) and value > 0):
        raise bad(name, value, "a finite number above 0")


def check_share(name: str, value: float) -> None:
    """Refuse a share that is not above 0 and at most 1."""
    check_positive(name, value)
    if value > 1:
        raise bad(name, value, "a share above 0 and at most 1")


def check_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Refuse a configured word that is not among those allowed."""
    if value not in allowed:
        raise bad(name, value, f"one of {', '.join(allowed)}")


def bad(name: str, value: object, expected: str) -> InputError:
    """Return the error for a configured value that cannot be used."""
    return InputError("bad value", where=name, expected=expected, found=repr(value))
