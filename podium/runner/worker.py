"""The job that carries out one run and stores its record, in whichever process it lands."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.child import Worker
from podium.runner.execute import execute
from podium.runner.measure import limit_torch_threads
from podium.store.record import Provenance
from podium.store.store import Store

for _kind in (RunSpec, TaskSpec, Provenance):
    # msgspec studies a type at its first use: here, in the fork server, not in every child.
    msgspec.json.Decoder(_kind)


def carry_out(
    spec: dict[str, Any],
    task: dict[str, Any],
    provenance: dict[str, Any],
    store: str,
    *,
    worker: Worker,
) -> dict[str, Any]:
    """Execute a run and write its record here, so that it outlives whoever asked for it.

    All arguments, and the returned record, are JSON.

    Raises:
        MissingError: the store cannot be written.
    """
    run = msgspec.convert(spec, RunSpec)
    limit_torch_threads(run.threads)
    record, prediction = execute(
        run,
        msgspec.convert(task, TaskSpec),
        progress=worker.progress,
        phase=worker.phase,
        provenance=msgspec.convert(provenance, Provenance),
        attempts=worker.attempt,
        workspace=worker.folder,
    )
    builtins: dict[str, Any] = msgspec.to_builtins(Store(store).save(record, prediction))
    return builtins
