"""The job that carries out one run and stores its record, in whichever process it lands."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from podium.declarations.task import TaskSpec
from podium.errors import PodiumError
from podium.plan.spec import RunSpec
from podium.runner.child import Worker
from podium.runner.execute import execute
from podium.runner.faults import one_line
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

    All arguments are JSON, and so is the result: ``{"record": ...}``, or ``{"unsaved": reason}``
    where the record cannot be written from this process. The entry may have made that so (lowered
    the process's limits, say), hence it is for the caller to tell whether the store is at fault.
    """
    run = msgspec.convert(spec, RunSpec)
    limit_torch_threads(run.threads)
    mask = os.umask(0)
    os.umask(mask)
    outcome = execute(
        run,
        msgspec.convert(task, TaskSpec),
        progress=worker.progress,
        phase=worker.phase,
        provenance=msgspec.convert(provenance, Provenance),
        attempts=worker.attempt,
        workspace=worker.folder,
    )
    os.umask(mask)  # the entry's own would decide who can read its record
    try:
        return {"record": msgspec.to_builtins(Store(store).save(*outcome))}
    except PodiumError as error:
        # Not where: that is a path of this machine.
        return {"unsaved": one_line(": ".join(filter(None, (error.what, error.found))))}
