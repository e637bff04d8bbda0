"""What a run leaves behind: one strict JSON object."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from podium.declarations.task import COST_METRICS

Status = Literal["ok", "failed", "timeout", "out_of_memory", "invalid", "skipped"]
STATUSES: tuple[Status, ...] = ("ok", "failed", "timeout", "out_of_memory", "invalid", "skipped")
SCHEMA_VERSION = 1


class MetricValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A score; where it has no finite value it is ``null`` and says why."""

    value: float | None
    reason: str | None = None


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the run took, measured by the runner.

    ``wall_seconds``, ``cpu_seconds``: the method alone (children included in the latter).
    ``build_seconds``, ``score_seconds``: making the problem, scoring the prediction.
    ``peak_bytes``: largest resident size of the run's processes; ``device_peak_bytes``: on the GPU.
    """

    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    build_seconds: float | None = None
    score_seconds: float | None = None
    peak_bytes: int | None = None
    device_peak_bytes: int | None = None


class DataDigest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One consumed file: its declared name and the SHA-256 of its content."""

    name: str
    sha256: str


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a record comes from; nothing in it names a machine or a person."""

    podium: str
    commit: str | None
    dirty: bool | None
    python: str
    platform: str
    packages: dict[str, str]
    processor: str
    gpu: str | None
    threads: int
    argv: tuple[str, ...]


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run: what it was, how it ended, what it scored, what it cost, what it ran on.

    ``key`` is the digest of ``key_parts`` (see ``podium.plan.keys``). ``entry`` is the label shown
    on the board: the entry's id, followed by ``[name=value]`` for every overridden argument.
    Times are UTC, ISO 8601 with a ``Z``. ``curves`` holds one list per logged name, and ``step``.
    """

    schema: int = SCHEMA_VERSION
    key: str
    key_parts: dict[str, str]
    task: str
    task_version: int
    problem: str
    tier: str
    entry: str
    entry_id: str
    kind: str
    origin: str
    config: dict[str, Any]
    overrides: dict[str, Any] = {}
    params: dict[str, Any]
    seed: int
    device: str
    status: Status
    reason: str | None = None
    traceback: str | None = None
    attempts: int = 1
    metrics: dict[str, MetricValue] = {}
    cost: Cost = Cost()
    curves: dict[str, list[float | None]] = {}
    data: tuple[DataDigest, ...] = ()
    predictions: str | None = None
    predictions_sha256: str | None = None
    picture: str | None = None
    started: str
    finished: str
    provenance: Provenance

    def score(self, metric: str) -> MetricValue | None:
        """Return the value of a declared metric or of a cost; ``None`` if it was not recorded."""
        if metric in COST_METRICS:
            cost = getattr(self.cost, metric)
            return None if cost is None else MetricValue(value=float(cost))
        return self.metrics.get(metric)

    @property
    def identity(self) -> tuple[str, int, str, str, str, int]:
        """What the run was of; the newest record of one identity stands for it."""
        return (self.task, self.task_version, self.tier, self.problem, self.entry, self.seed)
