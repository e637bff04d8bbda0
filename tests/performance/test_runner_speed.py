"""What the runner costs, against the bare operating system in the same minute.

Run alone, with ``-s`` to see the figures.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from podium.declarations.task import TaskSpec
from podium.plan.spec import Location, RunSpec
from podium.runner.local import ForkExecutor, run_all
from podium.runner.processes import children, tree
from podium.store.record import Record
from podium.store.store import Store

pytestmark = pytest.mark.performance
MakeRecord = Callable[..., Record]

TASK = """
import numpy as np
from podium.contracts import Instance
def build(recipe, context): return Instance(public={"x": np.zeros(5)})
def score(prediction, instance, recipe): return {"auroc": 0.5, "loss": 1.0}
"""
METHOD = "import numpy as np\ndef run(p, c): return {'scores': np.zeros(5)}\n"


def processor_seconds() -> float:
    """Return the CPU time of this process and of the children it has waited for."""
    both = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


class Timer:
    def __enter__(self) -> Timer:
        self.wall, self.cpu = time.perf_counter(), processor_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self.wall
        self.cpu = processor_seconds() - self.cpu


@pytest.fixture
def no_ops(tmp_path: Path) -> Callable[[int], list[RunSpec]]:
    for name, text in (("task", TASK), ("method", METHOD)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.py").write_text(text)

    def make(count: int) -> list[RunSpec]:
        return [
            RunSpec(
                key=f"key{seed}",
                key_parts={},
                task="toy",
                task_version=1,
                task_at=Location(package=None, folder=str(tmp_path / "task")),
                problem="p1",
                params={},
                tier="smoke",
                entry="nothing",
                entry_id="nothing",
                entry_at=Location(package=None, folder=str(tmp_path / "method")),
                kind="control",
                origin="test",
                function="method:run",
                preload=(),
                requires=(),
                extra=None,
                config={},
                overrides={},
                seed=seed,
                time_limit=60.0,
                memory_limit=4 << 30,
            )
            for seed in range(count)
        ]

    return make


@pytest.fixture
def small_task(toy_task: Callable[..., TaskSpec]) -> TaskSpec:
    public = {"name": "x", "dtype": "float64", "shape": ["n"]}
    answer = {"name": "scores", "dtype": "float64", "shape": ["n"]}
    return toy_task(arrays={"public": [public], "prediction": [answer]})


def bare_fork_loop(records: list[Record], store: Store) -> None:
    """Fork once per record, one after the other; the child writes it and exits."""
    for record in records:
        pid = os.fork()
        if pid == 0:
            store.save(record, {"scores": np.zeros(5)})
            os._exit(0)
        os.waitpid(pid, 0)


def test_a_no_op_run_costs_little_more_than_a_fork_and_its_files(
    no_ops: Callable[[int], list[RunSpec]],
    small_task: TaskSpec,
    toy_record: MakeRecord,
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "results")
    with Timer() as ours:
        records = run_all(no_ops(200), {"toy": small_task}, store, jobs=2)
    assert {r.status for r in records} == {"ok"}
    assert len(store.records()) == 200
    with Timer() as bare:
        bare_fork_loop([toy_record(seed=s, key=str(s)) for s in range(200)], Store(tmp_path / "b"))
    print(
        f"\n200 no-op runs, 2 jobs: {ours.wall * 5:.1f} ms wall, {ours.cpu * 5:.1f} ms CPU each; "
        f"bare serial fork loop: {bare.wall * 5:.1f} ms wall and {bare.cpu * 5:.1f} ms CPU each"
    )
    assert ours.cpu <= 3.5 * bare.cpu
    assert ours.wall <= 2.0 * bare.wall


def test_the_fixed_cost_is_two_interpreters(
    no_ops: Callable[[int], list[RunSpec]], small_task: TaskSpec, tmp_path: Path
) -> None:
    (run,) = no_ops(1)
    spec_file = tmp_path / "spec.json"
    spec_file.write_bytes(msgspec.json.encode([run, small_task]))
    code = (
        "import sys, msgspec\n"
        "from podium.declarations.task import TaskSpec\n"
        "from podium.plan.spec import RunSpec\n"
        "from podium.runner.local import run_all\n"
        "from podium.store.store import Store\n"
        "text = open(sys.argv[1], 'rb').read()\n"
        "spec, task = msgspec.json.decode(text, type=tuple[RunSpec, TaskSpec])\n"
        "(record,) = run_all([spec], {'toy': task}, Store(sys.argv[2]), jobs=1)\n"
        "assert record.status == 'ok', record\n"
        "heavy = {'numpy', 'pandas', 'torch', 'scipy', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    numpy, ours = [], []
    for turn in range(3):
        with Timer() as timer:
            subprocess.run([sys.executable, "-c", "import numpy"], check=True)
        numpy.append(timer)
        command = [sys.executable, "-c", code, str(spec_file), str(tmp_path / f"r{turn}")]
        with Timer() as timer:
            subprocess.run(command, check=True)
        ours.append(timer)
    wall, cpu = min(t.wall for t in ours), min(t.cpu for t in ours)
    base = min(t.cpu for t in numpy)
    print(
        f"\none no-op run_all in a new process: {wall:.2f} s wall, {cpu:.2f} s CPU; "
        f"import numpy: {min(t.wall for t in numpy):.2f} s wall, {base:.2f} s CPU"
    )
    assert cpu <= 4.5 * base


def test_a_killed_worker_costs_its_task_and_nothing_else() -> None:
    with (
        Timer() as pool,
        ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as standard,
    ):
        list(standard.map(time.sleep, [0.01] * 200))

    retried: list[tuple[int, str]] = []

    def listener(index: int) -> Callable[[str, Any], None]:
        return lambda kind, value: retried.append((index, value[1])) if kind == "retried" else None

    before = set(children(os.getpid()))
    with Timer() as ours, ForkExecutor(2) as executor:
        futures = [
            executor.submit_job("time:sleep", [0.01], listen=listener(i)) for i in range(200)
        ]
        futures[37].result()
        (server,) = set(children(os.getpid())) - before
        while not retried:
            # The oldest is at work; the others wait, forked ahead of their tasks.
            for victim in children(server)[:1]:
                os.kill(victim, signal.SIGKILL)
            time.sleep(0.005)
        errors = [future.exception() for future in futures]
    print(
        f"\n200 tasks of 10 ms, 2 workers, one killed, task {retried[0][0]} retried: "
        f"{ours.wall:.2f} s wall, {ours.cpu:.2f} s CPU; ProcessPoolExecutor, none killed: "
        f"{pool.wall:.2f} s wall, {pool.cpu:.2f} s CPU"
    )
    assert errors == [None] * 200
    assert len(retried) == 1
    assert "SIGKILL" in retried[0][1]
    assert ours.wall <= 1.6 * pool.wall


def test_memory_stays_small() -> None:
    before = set(children(os.getpid()))
    with ForkExecutor(2) as executor:
        futures = [executor.submit(time.sleep, 0.2) for _ in range(6)]
        futures[0].result()
        (server,) = set(children(os.getpid())) - before
        sizes = [proportional_bytes(pid) for pid in tree(server)]
        for future in futures:
            future.result()
    print(f"\nserver and {len(sizes) - 1} children: {sum(sizes) / 2**20:.1f} MiB PSS")
    assert sum(sizes) < 40 << 20


def proportional_bytes(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0  # it ended in the meantime
    return next(int(w.split()[1]) for w in text.splitlines() if w.startswith("Pss:")) * 1024


def test_resuming_reads_a_thousand_records_quickly(toy_record: MakeRecord, tmp_path: Path) -> None:
    curves: dict[str, Any] = {name: [0.123456789] * 100 for name in ("step", "train", "valid")}
    store = Store(tmp_path)
    path = store.write(toy_record(curves=curves))
    for seed in range(1000):
        record = msgspec.structs.replace(toy_record(curves=curves), seed=seed, key=str(seed))
        store.path_of(record).write_bytes(msgspec.json.encode(record))
    path.unlink()
    with Timer() as heads:
        finished = store.finished("toy")
    with Timer() as whole:
        records = store.records("toy")
    print(f"\n1,000 records: finished {heads.cpu:.3f} s CPU, records {whole.cpu:.3f} s CPU")
    assert len(finished) == len(records) == 1000
    assert heads.cpu <= 0.15
