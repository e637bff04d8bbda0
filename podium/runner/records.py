"""Make the record of a run, in whichever process its end is noticed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from podium.plan.spec import RunSpec
from podium.store.record import Provenance, Record, Status


def make_record(
    spec: RunSpec, provenance: Provenance, *, status: Status, started: str, **rest: Any
) -> Record:
    """Return a record of ``spec`` that ends now; ``rest`` are further fields of ``Record``."""
    return Record(
        key=spec.key,
        key_parts=spec.key_parts,
        task=spec.task,
        task_version=spec.task_version,
        problem=spec.problem,
        tier=spec.tier,
        entry=spec.entry,
        entry_id=spec.entry_id,
        kind=spec.kind,
        origin=spec.origin,
        config=spec.config,
        overrides=spec.overrides,
        params=spec.params,
        seed=spec.seed,
        device=spec.device,
        status=status,
        started=started,
        finished=utc_now(),
        provenance=msgspec.structs.replace(provenance, threads=spec.threads),
        **rest,
    )


def utc_now() -> str:
    """Return the time as ISO 8601 in UTC, to the microsecond, with a ``Z``."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
