"""The command itself is killed at random moments."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.store.record import Provenance
from podium.store.store import Damaged, Store

MakeSpec = Callable[..., RunSpec]

COMMAND = """
import json, sys
import msgspec
from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.local import run_all
from podium.store.record import Provenance
from podium.store.store import Store

specs, task, origin, store = json.loads(open(sys.argv[1]).read())

def show(event):
    if event.kind == "finished":
        print(event.spec.key, flush=True)

run_all(
    msgspec.convert(specs, list[RunSpec]),
    {"tiny": msgspec.convert(task, TaskSpec)},
    Store(store),
    jobs=2,
    on_event=show,
    provenance=msgspec.convert(origin, Provenance),
)
"""

# Each run leaves a process behind that has left its session.
METHOD = """
import subprocess, time
def run(p, c):
    subprocess.Popen(["sleep", "300"], start_new_session=True)
    time.sleep(0.02)
    return {"y": 2 * p.public["x"]}
"""


def marked(mark: str) -> list[int]:
    """Return the living processes that inherited ``mark`` in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue  # gone, or not ours
    return found


@pytest.mark.parametrize("attempt", range(4))
def test_what_was_finished_is_whole_and_nothing_runs_on(
    attempt: int,
    make_spec: MakeSpec,
    make_task: Callable[..., TaskSpec],
    origin: Provenance,
    tmp_path: Path,
) -> None:
    base = make_spec(METHOD)
    specs = [msgspec.structs.replace(base, key=f"k{i}", seed=i) for i in range(200)]
    root = tmp_path / "results"
    parts = [specs, make_task(), origin, root]
    (tmp_path / "input.json").write_text(
        json.dumps([msgspec.to_builtins(p, enc_hook=str) for p in parts])
    )
    mark = uuid.uuid4().hex
    parent = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(tmp_path / "input.json")],
        env={**os.environ, "PODIUM_TEST_MARK": mark},
        stdout=subprocess.PIPE,
        text=True,
    )
    time.sleep(float(np.random.default_rng(attempt).uniform(0.3, 1.5)))
    parent.send_signal(signal.SIGKILL)
    assert parent.stdout is not None
    said = parent.stdout.read().split()
    parent.wait()

    until = time.monotonic() + 5
    while marked(mark) and time.monotonic() < until:
        time.sleep(0.02)
    assert marked(mark) == []

    damaged: list[Damaged] = []
    store = Store(root, on_damage=damaged.append)
    finished = store.finished()
    assert damaged == []
    assert set(said) <= set(finished)
    for record in store.records():
        assert list(store.prediction(record)) == ["y"]
