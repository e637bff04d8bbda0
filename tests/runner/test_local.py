"""Real processes, really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from podium.declarations.task import TaskSpec
from podium.errors import MissingError
from podium.plan.spec import RunSpec
from podium.runner.local import Event, ForkExecutor, Interrupted, run_all
from podium.runner.processes import children, start_time
from podium.store.record import Provenance, Record
from podium.store.store import Store

MakeSpec = Callable[..., RunSpec]
RunThem = Callable[..., list[Record]]


def gone(pid: int, seconds: float = 3.0) -> bool:
    """Tell whether a process ends within some seconds."""
    until = time.monotonic() + seconds
    while start_time(pid) is not None:
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def test_runs_are_stored_with_their_predictions(
    make_spec: MakeSpec, run_them: RunThem, store: Store
) -> None:
    records = run_them(make_spec(config={"factor": 3.0}), make_spec("def run(p, c): 1 / 0"))
    assert [r.status for r in records] == ["ok", "failed"]
    assert list(store.prediction(records[0])) == ["y"]
    assert records[1].predictions is None
    assert not list(store.root.rglob(".*.tmp"))


def test_events_tell_the_whole_story(make_spec: MakeSpec, run_them: RunThem) -> None:
    heard: list[Event] = []
    thread = threading.get_ident()
    spec = make_spec(
        """
        def run(p, c):
            c.progress(2, 2, "all")
            return {"y": p.public["x"]}
        """
    )

    def hear(event: Event) -> None:
        assert threading.get_ident() == thread
        heard.append(event)

    (record,) = run_them(spec, on_event=hear)
    kinds = [(e.kind, e.note) for e in heard]
    assert kinds == [
        ("started", ""),
        ("phase", "build"),
        ("phase", "method"),
        ("progress", "all"),
        ("phase", "score"),
        ("finished", ""),
    ]
    assert heard[-1].record == record
    assert all(e.spec == spec for e in heard)


HANG = """
import time
def run(p, c):
    print("before the hang")
    time.sleep(600)
"""


def test_a_hang_is_ended_and_shows_where(
    make_spec: MakeSpec, run_them: RunThem, tmp_path: Path
) -> None:
    (record,) = run_them(make_spec(HANG, time_limit=0.3))
    assert record.status == "timeout"
    assert record.reason == "took longer than 0.3 s, in method"
    assert record.traceback is not None
    assert "method.py" in record.traceback
    assert "before the hang" in record.traceback
    assert "execute.py" not in record.traceback
    assert str(tmp_path) not in record.traceback
    assert record.cost.wall_seconds is not None
    assert 0.3 <= record.cost.wall_seconds < 3


def test_a_hang_that_ignores_signals_is_ended_too(make_spec: MakeSpec, run_them: RunThem) -> None:
    stubborn = """
    import signal, time
    def run(p, c):
        for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)
    """
    (record,) = run_them(make_spec(stubborn, time_limit=0.3))
    assert record.status == "timeout"


def test_the_time_limit_holds_for_build_and_for_the_method_each(
    make_spec: MakeSpec, run_them: RunThem
) -> None:
    slow = """
    import time
    import numpy as np
    from podium.contracts import Instance
    def build(recipe, context):
        time.sleep(recipe.params["build"])
        return Instance(public={"x": np.zeros(2)})
    def score(prediction, instance, recipe): return {"error": 0.0}
    """
    method = "import time\ndef run(p, c):\n    time.sleep(0.5)\n    return {'y': p.public['x']}"
    fine = make_spec(method, task=slow, params={"build": 0.5}, time_limit=0.8)
    late = make_spec(method, task=slow, params={"build": 60}, time_limit=0.8)
    assert [r.status for r in run_them(fine, late)] == ["ok", "timeout"]


def test_memory_past_the_limit_ends_the_run(make_spec: MakeSpec, run_them: RunThem) -> None:
    greedy = """
    def run(p, c):
        held = []
        while True:
            held.append(bytearray(4 << 20))
    """
    (record,) = run_them(make_spec(greedy, memory_limit=200 << 20))
    assert record.status == "out_of_memory"
    assert record.reason is not None
    assert record.reason.endswith("of memory, more than 200 MiB, in method")
    assert record.cost.peak_bytes is not None
    assert 200 << 20 < record.cost.peak_bytes < 2 << 30


def test_memory_of_child_processes_counts(make_spec: MakeSpec, run_them: RunThem) -> None:
    code = "held = [bytearray(1 << 20) for _ in range(150)]; import time; time.sleep(60)"
    spread = f"""
    import subprocess, sys
    def run(p, c):
        for child in [subprocess.Popen([sys.executable, "-c", {code!r}]) for _ in range(2)]:
            child.wait()
    """
    (record,) = run_them(make_spec(spread, memory_limit=250 << 20))
    assert record.status == "out_of_memory"


def test_pages_shared_after_a_fork_are_not_counted_twice(
    make_spec: MakeSpec, run_them: RunThem
) -> None:
    forks = """
    import os, time
    def run(p, c):
        held = bytearray(80 << 20)
        pids = []
        for _ in range(4):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.4)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        return {"y": p.public["x"]}
    """
    (record,) = run_them(make_spec(forks, memory_limit=250 << 20))
    assert record.status == "ok"


@pytest.mark.parametrize("left_by", ["subprocess", "daemon"])
@pytest.mark.parametrize("ending", ["return {'y': p.public['x']}", "time.sleep(60)"])
def test_nothing_outlives_its_run(
    make_spec: MakeSpec, run_them: RunThem, tmp_path: Path, left_by: str, ending: str
) -> None:
    file = tmp_path / "pid"
    start = {
        "subprocess": "subprocess.Popen(['sleep', '300'], start_new_session=True).pid",
        "daemon": "daemon()",
    }[left_by]
    method = f"""
    import os, subprocess, time

    def daemon():
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.setsid()
            pid = os.fork()
            if pid == 0:
                os.setsid()
                time.sleep(300)
            os.write(writer, str(pid).encode())
            os._exit(0)
        os.wait()
        return int(os.read(reader, 20))

    def run(p, c):
        with open({str(file)!r}, "w") as out:
            out.write(str({start}))
        {ending}
    """
    (record,) = run_them(make_spec(method, time_limit=1.0))
    assert record.status == ("ok" if "return" in ending else "timeout")
    assert gone(int(file.read_text()), seconds=0.0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "ended by signal 11 (SIGSEGV), in method"),
        ("os.kill(os.getpid(), signal.SIGTERM)", "ended by signal 15 (SIGTERM), in method"),
        ("os.abort()", "ended by signal 6 (SIGABRT), in method"),
        ("os._exit(0)", "exited with code 0 and gave no answer, in method"),
        ("os._exit(7)", "exited with code 7 and gave no answer, in method"),
    ],
)
def test_a_crash_is_named_and_not_retried(
    make_spec: MakeSpec, run_them: RunThem, tmp_path: Path, body: str, reason: str
) -> None:
    method = f"""
    import os, signal
    def run(p, c):
        with open({str(tmp_path / "count")!r}, "a") as out:
            out.write("x")
        {body}
    """
    (record,) = run_them(make_spec(method))
    assert record.status == "failed"
    assert record.reason is not None
    assert reason in record.reason
    assert record.attempts == 1
    assert (tmp_path / "count").read_text() == "x"


def suicidal(folder: Path, times: int) -> str:
    """Return a method that is killed by SIGKILL the first ``times`` times."""
    return f"""
    import os, pathlib, signal
    def run(p, c):
        count = pathlib.Path({str(folder / "count")!r})
        done = int(count.read_text()) if count.exists() else 0
        count.write_text(str(done + 1))
        if done < {times}:
            os.kill(os.getpid(), signal.SIGKILL)
        return {{"y": 2 * p.public["x"]}}
    """


@pytest.mark.parametrize(("times", "status", "attempts"), [(2, "ok", 3), (9, "failed", 3)])
def test_a_run_killed_from_outside_is_tried_three_times_in_all(
    make_spec: MakeSpec,
    run_them: RunThem,
    tmp_path: Path,
    times: int,
    status: str,
    attempts: int,
) -> None:
    heard: list[Event] = []
    records = run_them(make_spec(suicidal(tmp_path, times)), make_spec(), on_event=heard.append)
    assert [r.status for r in records] == [status, "ok"]
    assert [r.attempts for r in records] == [attempts, 1]
    retried = [e for e in heard if e.kind == "retried"]
    assert [e.spec.entry for e in retried] == [records[0].entry] * 2
    assert [e.attempt for e in retried] == [2, 3]
    assert "SIGKILL" in retried[0].note
    if status == "failed":
        assert records[0].reason is not None
        assert "in each of 3 attempts" in records[0].reason


def test_a_dead_server_is_started_again(
    make_spec: MakeSpec, run_them: RunThem, tmp_path: Path
) -> None:
    flag = tmp_path / "flag"
    method = f"""
    import os, pathlib, signal, subprocess, time
    def run(p, c):
        flag = pathlib.Path({str(flag)!r})
        if not flag.exists():
            left = subprocess.Popen(["sleep", "300"], start_new_session=True)
            flag.write_text(str(left.pid))
            time.sleep(0.2)
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(300)
        return {{"y": 2 * p.public["x"]}}
    """
    records = run_them(make_spec(method), *(make_spec() for _ in range(6)))
    assert [r.status for r in records] == ["ok"] * 7
    assert records[0].attempts == 2
    assert gone(int(flag.read_text()))


def test_an_unwritable_store_stops_everything_with_advice(
    make_spec: MakeSpec, make_task: Callable[..., TaskSpec], origin: Provenance, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(MissingError, match=r"--store"):
        run_all([make_spec()], {"tiny": make_task()}, Store(blocked), provenance=origin)
    # In the middle of it: the folder of the task turns out to be a file.
    store = Store(tmp_path / "results")
    store.root.mkdir()
    (store.root / "tiny").write_text("not a folder")
    with pytest.raises(MissingError, match=r"tiny"):
        run_all([make_spec()], {"tiny": make_task()}, store, provenance=origin)


def test_ctrl_c_keeps_what_is_done_and_says_what_is_left(
    make_spec: MakeSpec, make_task: Callable[..., TaskSpec], origin: Provenance, store: Store
) -> None:
    specs = [make_spec(), make_spec(HANG), make_spec()]

    def interrupt(event: Event) -> None:
        if event.kind == "finished":
            os.kill(os.getpid(), signal.SIGINT)

    before = set(children(os.getpid()))
    with pytest.raises(Interrupted) as caught:
        run_all(
            specs,
            {"tiny": make_task()},
            store,
            jobs=1,
            on_event=interrupt,
            provenance=origin,
        )
    assert caught.value.left == 2
    assert [r.key for r in store.records()] == [specs[0].key]
    assert set(children(os.getpid())) <= before


def test_threads_and_preloads_reach_the_run(make_spec: MakeSpec, run_them: RunThem) -> None:
    method = """
    import os, sys
    def run(p, c):
        assert "calendar" in sys.modules and "turtle" not in sys.modules
        assert os.environ["OMP_NUM_THREADS"] == os.environ["OPENBLAS_NUM_THREADS"] == "2"
        assert c.threads == 2
        return {"y": p.public["x"]}
    """
    spec = make_spec(method, threads=2, preload=("calendar", "no_such_module"))
    records = run_them(spec, make_spec())
    assert [r.status for r in records] == ["ok", "ok"], records[0].traceback
    assert [r.provenance.threads for r in records] == [2, 1]


@pytest.mark.parametrize("after", ["", "if pid == 0: raise ValueError"])
def test_a_method_that_forks_and_comes_back_twice_is_scored_once(
    make_spec: MakeSpec, run_them: RunThem, after: str
) -> None:
    method = f"""
    import os
    def run(p, c):
        pid = os.fork()
        {after}
        if pid != 0:
            os.waitpid(pid, 0)
        return {{"y": (2.0 if pid else 0.0) * p.public["x"]}}
    """
    (record,) = run_them(make_spec(method))
    assert (record.status, record.metrics["error"].value) == ("ok", 0.0)


def test_a_job_keeps_to_its_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # other commands hold cores too
    script = "import os, time; time.sleep(0.5); print(len(os.sched_getaffinity(0)))"
    command = f"{sys.executable} -c '{script}'"
    cores = len(os.sched_getaffinity(0))
    for threads in range(1, cores + 1):
        with ForkExecutor(1, threads=threads) as executor:
            assert executor.submit(subprocess.getoutput, command).result() == str(threads)
    # More jobs than cores: all cores for whoever finds none free.
    with ForkExecutor(cores + 1) as executor:
        futures = [executor.submit(subprocess.getoutput, command) for _ in range(cores + 1)]
        assert sorted(int(f.result()) for f in futures) == [*[1] * cores, cores]


def test_records_come_in_the_order_asked_for(make_spec: MakeSpec, run_them: RunThem) -> None:
    base = make_spec()
    specs = [msgspec.structs.replace(base, key=f"k{seed}", seed=seed) for seed in (3, 1, 2, 0)]
    assert [r.seed for r in run_them(*specs)] == [3, 1, 2, 0]


def test_nothing_to_run_is_fine(store: Store) -> None:
    assert run_all([], {}, store) == []
    assert not store.root.exists()
