"""The shape of ``task.toml``."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from podium.declarations.claim import ClaimSpec

Tier = Literal["smoke", "small", "full"]
TIERS: tuple[Tier, ...] = ("smoke", "small", "full")
TaskId = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$", max_length=64)]
ProblemId = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9-]*$", max_length=64)]
Name = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$", max_length=64)]
Text = Annotated[str, Meta(min_length=1)]
DType = Literal["float64", "float32", "float16", "int64", "int32", "uint8", "bool", "str"]
INTEGERS = ("int64", "int32", "uint8")
"""The dtypes of whole numbers."""


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every declaration: immutable, keywords only, unknown keys refused."""


class ArraySpec(Strict, frozen=True, kw_only=True):
    """One named array: dtype, and a shape whose words stand for equal lengths."""

    name: Name
    dtype: DType
    shape: tuple[str | int, ...]
    description: str = ""
    finite: bool = True
    optional: bool = False
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        """Refuse lengths that no array has."""
        if any(n == "" or (isinstance(n, int) and n < 0) for n in self.shape):
            raise ValueError(f"shape must be words or lengths of 0 or more, got {list(self.shape)}")


class ArraysSpec(Strict, frozen=True, kw_only=True):
    """The arrays a method is given, and the arrays it must return."""

    public: tuple[ArraySpec, ...]
    prediction: Annotated[tuple[ArraySpec, ...], Meta(min_length=1)]


class MetricSpec(Strict, frozen=True, kw_only=True):
    """One metric; ``tolerance`` is how far a faithful rerun may differ.

    ``averaged = false``: its scale is that of its problem, so no mean over problems is formed.
    """

    name: Name
    title: Text
    direction: Literal["higher", "lower"]
    range: tuple[float, float]
    primary: bool = False
    averaged: bool = True
    description: str = ""
    tolerance: Annotated[float, Meta(ge=0)] = 0.0

    def __post_init__(self) -> None:
        """Refuse an empty range, and a tolerance that any score meets."""
        if not self.range[0] < self.range[1]:
            raise ValueError(f"range must go from low to high, got {list(self.range)}")
        if not math.isfinite(self.tolerance):
            raise ValueError(f"tolerance must be finite, got {self.tolerance}")
        if self.primary and not self.averaged:
            raise ValueError("the primary metric ranks over all problems: it must be averaged")


COST_METRICS = {
    name: MetricSpec(
        name=name,
        title=title,
        direction="lower",
        range=(0.0, math.inf),
        description="measured by the runner for every run of every task",
    )
    for name, title in (
        ("wall_seconds", "Seconds of wall clock"),
        ("cpu_seconds", "Seconds of CPU"),
        ("peak_bytes", "Peak memory in bytes"),
    )
}


Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class FileSpec(Strict, frozen=True, kw_only=True):
    """One file a problem needs: where it lies under PODIUM_DATA, its digest, its sources.

    ``also``: digests of the same content packed otherwise, as good as ``sha256``. ``member`` is
    the file's path inside ``package``; ``.`` is the whole package.
    """

    name: Text
    sha256: Digest
    also: tuple[Digest, ...] = ()
    url: str | None = None
    package: str | None = None
    member: str | None = None
    licence: str = ""

    def __post_init__(self) -> None:
        """A packaged file needs both the package and the path inside it."""
        if (self.package is None) != (self.member is None):
            raise ValueError("package and member are given together, or neither")


class ProblemSpec(Strict, frozen=True, kw_only=True):
    """One data set of a task."""

    id: ProblemId
    title: Text
    tiers: Annotated[tuple[Tier, ...], Meta(min_length=1)]
    params: dict[str, Any] = {}
    files: tuple[str, ...] = ()
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        """Refuse a parameter that no record could hold."""
        recordable("params", self.params)


class LimitSpec(Strict, frozen=True, kw_only=True):
    """Default limits of one run in a tier."""

    seconds: Annotated[float, Meta(gt=0, le=1e9)]
    memory_gib: Annotated[float, Meta(gt=0, le=1e6)]


class PaperSpec(Strict, frozen=True, kw_only=True):
    """The paper a task or an entry comes from."""

    title: Text
    authors: str = ""
    venue: str = ""
    url: str = ""


class TaskSpec(Strict, frozen=True, kw_only=True):
    """A task: what is measured, on which problems, by which metrics, for which claims.

    ``picture``: its module has a function ``picture`` that draws a prediction.
    """

    id: TaskId
    version: Annotated[int, Meta(ge=1, le=1_000_000)]
    title: Text
    summary: Text
    arrays: ArraysSpec
    metrics: Annotated[tuple[MetricSpec, ...], Meta(min_length=1)]
    problems: Annotated[tuple[ProblemSpec, ...], Meta(min_length=1)]
    papers: tuple[PaperSpec, ...] = ()
    files: tuple[FileSpec, ...] = ()
    claims: tuple[ClaimSpec, ...] = ()
    limits: dict[Tier, LimitSpec] = {}
    module: str = "task"
    picture: bool = False

    def __post_init__(self) -> None:
        """Check unique names, one primary metric, and references between the parts."""
        unique("arrays.public name", [a.name for a in self.arrays.public])
        unique("arrays.prediction name", [a.name for a in self.arrays.prediction])
        unique("metrics name", [m.name for m in self.metrics])
        unique("problems id", [p.id for p in self.problems])
        unique("files name", [f.name for f in self.files])
        unique("claims id", [c.id for c in self.claims])
        primary = [m.name for m in self.metrics if m.primary]
        if len(primary) != 1:
            raise ValueError(f"exactly one metric must be primary, found {primary or 'none'}")
        files = {f.name for f in self.files}
        for problem in self.problems:
            for name in problem.files:
                known("file", name, files, f"problem {problem.id!r}")
        metrics = {m.name for m in self.metrics}
        taken = sorted(metrics & COST_METRICS.keys())
        if taken:
            raise ValueError(f"metrics name: {', '.join(taken)} is measured by the runner")
        metrics |= COST_METRICS.keys()
        of_problem = {m.name for m in self.metrics if not m.averaged}
        for claim in self.claims:
            known("metric", claim.metric, metrics, f"claim {claim.id!r}")
            if claim.metric in of_problem and claim.compare != "ratio" and claim.problems[1:]:
                raise ValueError(
                    f"claim {claim.id!r}: differences of {claim.metric!r} cannot be averaged over "
                    'problems; compare = "ratio", or one problem'
                )
            tiers = {p.id: p.tiers for p in self.problems}
            for problem_id in claim.problems:
                known("problem", problem_id, set(tiers), f"claim {claim.id!r}")
                if claim.tier not in tiers[problem_id]:
                    raise ValueError(
                        f"claim {claim.id!r} is of tier {claim.tier!r}, "
                        f"which problem {problem_id!r} does not have"
                    )

    @property
    def primary(self) -> MetricSpec:
        """The metric that ranks entries."""
        return next(m for m in self.metrics if m.primary)

    def metric(self, name: str) -> MetricSpec:
        """Return the declared metric or the runner's cost ``name``."""
        return COST_METRICS.get(name) or next(m for m in self.metrics if m.name == name)

    def problem(self, name: str) -> ProblemSpec:
        """Return the declared problem ``name``."""
        return next(p for p in self.problems if p.id == name)

    def in_tier(self, tier: str) -> tuple[ProblemSpec, ...]:
        """Return the problems of a tier, in declared order."""
        return tuple(p for p in self.problems if tier in p.tiers)


def recordable(where: str, values: dict[str, Any]) -> None:
    """Raise ValueError if a value is not a finite number, text, truth value or list of these."""
    for name, value in values.items():
        for leaf in _leaves(value):
            if isinstance(leaf, float) and not math.isfinite(leaf):
                raise ValueError(f"{where}.{name} must be finite, got {value}")
            if isinstance(leaf, int) and not -(2**63) <= leaf < 2**63:
                raise ValueError(f"{where}.{name} must fit 64 bits, got {leaf}")
            if not isinstance(leaf, int | float | str):
                kind = type(leaf).__name__
                raise ValueError(
                    f"{where}.{name} must be numbers, text or truth values, got {kind}"
                )


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [leaf for v in value for leaf in _leaves(v)] if isinstance(value, list) else [value]


def unique(what: str, names: list[str]) -> None:
    """Raise ValueError if a name stands twice."""
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"{what} must be unique, found twice: {', '.join(twice)}")


def known(what: str, name: str, names: set[str], where: str) -> None:
    """Raise ValueError if ``name`` is not declared."""
    if name not in names:
        declared = ", ".join(sorted(names)) or "none"
        raise ValueError(f"{where} names the unknown {what} {name!r}; declared: {declared}")
