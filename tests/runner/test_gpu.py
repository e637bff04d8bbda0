"""Runs on a GPU, in forked processes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.local import run_all
from podium.store.record import Provenance
from podium.store.store import Store

pytestmark = pytest.mark.gpu

METHOD = """
import torch
def run(p, c):
    held = torch.zeros(64 << 20, dtype=torch.uint8, device=c.device)
    noise = torch.rand(1, device=c.device, generator=c.torch_generator("x"))
    x = torch.as_tensor(p.public["x"].copy(), device=c.device)
    return {"y": (2 * x + 0 * noise + held.sum()).cpu().numpy()}
"""

GREEDY = """
import torch
def run(p, c):
    held = []
    while True:
        held.append(torch.zeros(4 << 30, dtype=torch.uint8, device=c.device))
"""


def test_runs_use_the_gpu_and_say_so(
    make_spec: Callable[..., RunSpec],
    make_task: Callable[..., TaskSpec],
    origin: Provenance,
    tmp_path: Path,
) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    specs = [
        make_spec(method, device="cuda:0", preload=("torch",), entry=name)
        for name, method in (("first", METHOD), ("greedy", GREEDY), ("second", METHOD))
    ]
    records = run_all(
        specs, {"tiny": make_task()}, Store(tmp_path / "results"), jobs=1, provenance=origin
    )
    assert [r.status for r in records] == ["ok", "out_of_memory", "ok"], records
    for record in (records[0], records[2]):
        assert record.metrics["error"].value == 0
        assert record.provenance.gpu == torch.cuda.get_device_name(0)
        assert record.cost.device_peak_bytes is not None
        assert 64 << 20 <= record.cost.device_peak_bytes < 1 << 30
