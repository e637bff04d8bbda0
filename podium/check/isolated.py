"""Call probes in child processes under limits."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from podium.declarations.task import TaskSpec
from podium.plan.planner import GIB
from podium.runner.jobs import JobError, Limits, Warmth
from podium.runner.local import ForkExecutor

SECONDS = 120.0
MEMORY_GIB = 4.0
"""Limits of a check where the task declares none for the tier: nothing may hang a check."""


def smoke_limits(task: TaskSpec) -> Limits:
    """Return the limits of a smoke run, which hold for every part of a check too."""
    declared = task.limits.get("smoke")
    if declared is None:
        return Limits(SECONDS, int(MEMORY_GIB * GIB))
    return Limits(declared.seconds, int(declared.memory_gib * GIB))


@dataclass(frozen=True)
class Probe:
    """A function ``module:name`` to call with JSON arguments, its limits, what to import first."""

    target: str
    arguments: tuple[Any, ...]
    limits: Limits
    preload: tuple[str, ...] = ()
    threads: int = 1


def call_probes(probes: Sequence[Probe], *, jobs: int) -> list[dict[str, Any] | Exception]:
    """Call each probe in a process of its own; return its answer, or why there is none."""
    if not probes:
        return []
    with ForkExecutor(jobs, retries=0) as executor:
        futures = [
            executor.submit_job(
                probe.target,
                probe.arguments,
                limits=probe.limits,
                warmth=Warmth((probe.target.partition(":")[0], *probe.preload), probe.threads),
                wants_worker=True,
            )
            for probe in probes
        ]
        return [_answer(future) for future in futures]


def _answer(future: Future[Any]) -> dict[str, Any] | Exception:
    error = future.exception()
    if isinstance(error, Exception):
        return error
    answer: dict[str, Any] = future.result()
    return answer


def why_not(error: Exception) -> str:
    """Return why a probe gave no answer, with the end of its traceback."""
    if isinstance(error, JobError):
        return "\n".join(part for part in (error.reason, error.detail) if part)
    return str(error)
