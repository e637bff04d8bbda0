"""A small task and records of it, made by hand."""

from __future__ import annotations

import os

# Before any library reads it: two threads that share busy cores are many times slower than one, and
# sums over threads differ in their last digits from call to call.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import signal
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from podium.declarations.task import TaskSpec
from podium.store.record import Cost, MetricValue, Provenance, Record

PROVENANCE = Provenance(
    podium="0.1.0",
    commit=None,
    dirty=None,
    python="3.11.0",
    platform="Linux x86_64",
    packages={"numpy": "2.0"},
    processor="a processor",
    gpu=None,
    threads=1,
    argv=("podium", "run"),
)


@pytest.fixture(scope="session")
def toy_task() -> Callable[..., TaskSpec]:
    def make(**changes: Any) -> TaskSpec:
        declared: dict[str, Any] = {
            "id": "toy",
            "version": 2,
            "title": "Toy",
            "summary": "A task for tests.",
            "arrays": {
                "public": [],
                "prediction": [{"name": "scores", "dtype": "float64", "shape": ["n"]}],
            },
            "metrics": [
                {
                    "name": "auroc",
                    "title": "AUROC",
                    "direction": "higher",
                    "range": [0.0, 1.0],
                    "primary": True,
                },
                {"name": "loss", "title": "Loss", "direction": "lower", "range": [0.0, 1e9]},
            ],
            "problems": [
                {"id": "p1", "title": "One", "tiers": ["smoke", "small"]},
                {"id": "p2", "title": "Two", "tiers": ["small"]},
            ],
        }
        return msgspec.convert({**declared, **changes}, TaskSpec)

    return make


@pytest.fixture(scope="session")
def toy_record() -> Callable[..., Record]:
    def make(
        entry: str = "ours",
        problem: str = "p1",
        seed: int = 0,
        value: float | None = 0.5,
        *,
        metric: str = "auroc",
        **changes: Any,
    ) -> Record:
        reason = None if value is not None else "one class only"
        values: dict[str, Any] = {
            "key": f"{entry}-{problem}-{seed}",
            "key_parts": {"task": "toy"},
            "task": "toy",
            "task_version": 2,
            "problem": problem,
            "tier": "small",
            "entry": entry,
            "entry_id": entry,
            "kind": "baseline",
            "origin": "podium",
            "config": {"lags": 5},
            "params": {"steps": 500},
            "seed": seed,
            "device": "cpu",
            "status": "ok",
            "metrics": {metric: MetricValue(value=value, reason=reason)},
            "cost": Cost(wall_seconds=1.5, peak_bytes=100 * 2**20),
            "started": "2026-01-01T00:00:00Z",
            "finished": "2026-01-01T00:00:01Z",
            "provenance": PROVENANCE,
        }
        return Record(**{**values, **changes})

    return make


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> None:
    """Let SIGINT interrupt, as at a terminal: a shell's background jobs start with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
