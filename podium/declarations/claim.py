"""The shape of a claim: a paper's statement made checkable."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class ClaimSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A claim in one of three shapes.

    ``at_least``: ``left`` is better than ``right`` by at least this much (``compare`` says whether
    as a difference or a ratio; "better" follows the metric's direction, so a gain is positive).
    ``within``: ``left`` and ``right`` differ by at most this much.
    ``order``: entries from best to worst, each better than the next.
    """

    id: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=64)]
    statement: Annotated[str, Meta(min_length=1)]
    source: Annotated[str, Meta(min_length=1)]
    metric: str
    problems: Annotated[tuple[str, ...], Meta(min_length=1)]
    tier: Literal["smoke", "small", "full"] = "small"
    left: str | None = None
    right: str | None = None
    compare: Literal["difference", "ratio"] = "difference"
    at_least: float | None = None
    within: Annotated[float, Meta(ge=0)] | None = None
    order: Annotated[tuple[str, ...], Meta(min_length=2)] | None = None
    min_seeds: Annotated[int, Meta(ge=2, le=10_000)] = 5
    gate: bool = True

    def __post_init__(self) -> None:
        """Exactly one shape, with the entries that shape needs, and a size that can be met."""
        shapes = [k for k in ("at_least", "within", "order") if getattr(self, k) is not None]
        if len(shapes) != 1:
            raise ValueError(
                "a claim has exactly one of at_least, within, order; "
                f"found {' and '.join(shapes) or 'none'}"
            )
        pair = self.left is not None and self.right is not None
        if shapes == ["order"] and (self.left is not None or self.right is not None):
            raise ValueError("an order claim lists its entries in order, not in left and right")
        if shapes != ["order"] and not pair:
            raise ValueError(f"{shapes[0]} needs both left and right")
        for what, names in (("problems", self.problems), ("entries", self.entries)):
            if len(set(names)) != len(names):
                raise ValueError(f"{what} of a claim must differ, found {', '.join(names)}")
        size = self.at_least if self.within is None else self.within
        if size is not None and not math.isfinite(size):
            raise ValueError(f"{shapes[0]} must be finite, got {size}")
        if self.compare == "ratio" and self.at_least is not None and self.at_least <= 0:
            raise ValueError(f"a ratio is above 0; at_least must be too, got {self.at_least:g}")

    @property
    def shape(self) -> Literal["at_least", "within", "order"]:
        """Which of the three shapes this claim has."""
        if self.at_least is not None:
            return "at_least"
        return "within" if self.within is not None else "order"

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries the claim speaks of."""
        if self.order is not None:
            return self.order
        assert self.left is not None
        assert self.right is not None
        return (self.left, self.right)
