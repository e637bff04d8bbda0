"""The executor under plain functions: results, errors, limits, killed workers."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pytest

from podium.errors import InputError, MissingError
from podium.plan.spec import RunSpec
from podium.runner.jobs import JobError, Limits, Warmth
from podium.runner.local import ForkExecutor
from podium.runner.processes import children
from podium.store.record import Record

MakeSpec = Callable[..., RunSpec]
RunThem = Callable[..., list[Record]]


def test_workers_killed_at_random_moments_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    stop = threading.Event()
    with ForkExecutor(2, retries=50) as executor:

        def murder() -> None:
            while not stop.is_set():
                time.sleep(float(rng.uniform(0.005, 0.06)))
                servers = [
                    p for p in children(os.getpid()) if b"podium.runner.server" in cmdline(p)
                ]
                victims = [pid for server in servers for pid in children(server)]
                if victims:
                    os.kill(victims[int(rng.integers(len(victims)))], signal.SIGKILL)

        killer = threading.Thread(target=murder)
        killer.start()
        futures = [executor.submit(math.hypot, float(i), 0.0) for i in range(150)]
        try:
            assert [f.result(timeout=60) for f in futures] == [float(i) for i in range(150)]
        finally:
            stop.set()
            killer.join()


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_plain_tasks_give_results_and_errors() -> None:
    with ForkExecutor(2) as executor:
        assert executor.submit("math:hypot", 3.0, 4.0).result() == 5.0
        assert executor.submit(os.path.join, "a", "b").result() == "a/b"
        with pytest.raises(JobError, match="ZeroDivisionError") as caught:
            executor.submit("operator:truediv", 1, 0).result()
        assert caught.value.kind == "raised"
        with pytest.raises(JobError, match="cannot be sent as JSON"):
            executor.submit("builtins:object").result()
        assert list(executor.map(math.sqrt, [4.0, 9.0])) == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit("os:getpid")


def test_each_task_has_a_process_of_its_own() -> None:
    with ForkExecutor(2) as executor:
        pids = {executor.submit(os.getpid).result() for _ in range(5)}
    assert len(pids | {os.getpid()}) == 6


def test_large_messages_pass_both_ways() -> None:
    text = "x" * (3 << 20)
    with ForkExecutor(1) as executor:
        assert executor.submit("copy:copy", text).result() == text


def test_a_function_without_a_name_is_refused() -> None:
    with ForkExecutor(1) as executor, pytest.raises(InputError, match="another process"):
        executor.submit(lambda: 1)
    with pytest.raises(InputError, match="jobs must be 1 or more"):
        ForkExecutor(0)


def test_limits_hold_for_plain_tasks() -> None:
    with ForkExecutor(1) as executor:
        future = executor.submit_job("time:sleep", [60], limits=Limits(seconds=0.2))
        with pytest.raises(JobError) as caught:
            future.result()
    assert caught.value.kind == "timeout"
    assert caught.value.seconds >= 0.2


def test_shutdown_can_cancel_and_abort_ends() -> None:
    executor = ForkExecutor(1)
    futures = [executor.submit(time.sleep, 0.3) for _ in range(5)]
    while not futures[0].running():
        time.sleep(0.01)
    executor.shutdown(cancel_futures=True)
    assert futures[0].result() is None
    assert all(f.cancelled() for f in futures[1:])

    executor = ForkExecutor(1)
    futures = [executor.submit(time.sleep, 60) for _ in range(2)]
    while not futures[0].running():
        time.sleep(0.01)
    executor.abort()
    assert isinstance(futures[0].exception(), JobError)
    with pytest.raises(CancelledError):
        futures[1].result()


def test_warming_starts_a_server_before_its_first_task() -> None:
    before = set(children(os.getpid()))
    with ForkExecutor(1) as executor:
        executor.warm(Warmth(("calendar",), 1))
        until = time.monotonic() + 5
        while set(children(os.getpid())) <= before and time.monotonic() < until:
            time.sleep(0.01)
        assert len(set(children(os.getpid())) - before) == 1
    assert set(children(os.getpid())) <= before


def test_a_server_that_never_starts_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.runner.warm._CODE", "raise SystemExit('no luck')")
    with ForkExecutor(1) as executor:
        error = executor.submit("os:getpid").exception(timeout=20)
    assert isinstance(error, MissingError)
    assert "no luck" in str(error)


def test_a_server_that_dies_again_and_again_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import json, os, sys\n"
        "settings = json.loads(sys.argv[1])\n"
        "sys.path[:] = settings['path']\n"
        "import podium.runner.server as server\n"
        "fork = server.Server.fork\n"
        "def once(self):\n"
        "    fork(self)\n"
        "    os.kill(os.getpid(), 9)\n"
        "server.Server.fork = once\n"
        "server.main(settings)\n"
    )
    monkeypatch.setattr("podium.runner.warm._CODE", code)
    with ForkExecutor(1, retries=1000) as executor:
        error = executor.submit(time.sleep, 30).exception(timeout=60)
    assert isinstance(error, MissingError)
