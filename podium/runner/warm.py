"""The supervisor's side of a fork server: start it, and hold its children."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from podium.runner.channel import Channel
from podium.runner.cores import Cores
from podium.runner.jobs import Job, JobError, Warmth
from podium.runner.processes import kill, start_time, tree

# Not -m: that would look for podium in the current folder first, or not find it at all where the
# caller has put it on sys.path by hand.
_CODE = """
import json, sys
settings = json.loads(sys.argv[1])
sys.path[:] = settings["path"]
from podium.runner.server import main
main(settings)
"""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass
class Child:
    """A forked process: idle, or with its job."""

    pid: int
    server: WarmServer
    channel: Channel
    job: Job | None = None
    folder: Path | None = None
    began: float = 0.0
    deadline: float | None = None
    kill_at: float | None = None
    phase: str = ""
    peak: int = 0
    answer: dict[str, Any] | None = None
    fault: JobError | None = None
    known: dict[int, int | None] = field(default_factory=dict)
    cores: Cores = field(default_factory=lambda: Cores({}))

    def look(self) -> list[int]:
        """Return the processes of the job, and remember them in case the server dies."""
        pids = tree(self.pid)
        for pid in pids:
            if pid not in self.known:
                self.known[pid] = start_time(pid)
        return pids


class WarmServer:
    """A running fork server and the children that wait for a job."""

    def __init__(self, warmth: Warmth) -> None:
        self.warmth = warmth
        self.idle: deque[Child] = deque()
        self.children: dict[int, Child] = {}
        self.requested = 0
        self.born = 0
        self._folders = 0
        self.folder = Path(tempfile.mkdtemp(prefix="podium-server-"))
        self.log = self.folder / "server.txt"
        ours, theirs = socket.socketpair()
        self.control = Channel(ours)
        settings = {
            "path": sys.path,
            "preload": warmth.preload,
            "socket": theirs.fileno(),
            "folder": str(self.folder),
            "parent": os.getpid(),
        }
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE, json.dumps(settings)],
                env=_environment(warmth),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is the supervisor's to handle
            )

    def keep_ready(self, wanted: int) -> None:
        """Ask for children until ``wanted`` are idle or on their way."""
        missing = wanted - len(self.idle) - self.requested
        if missing > 0:
            self.requested += missing
            self.control.send({"fork": missing})

    def add(self, pid: int) -> Child:
        """Take in a child that was born."""
        end = socket.socket(fileno=self.control.descriptors.pop(0))
        child = Child(pid, self, Channel(end))
        self.requested -= 1
        self.born += 1
        self.children[pid] = child
        self.idle.append(child)
        return child

    def new_folder(self) -> Path:
        """Return the path of a folder for a job; the child makes it."""
        self._folders += 1
        return self.folder / str(self._folders)

    def bury(self) -> None:
        """Make sure that nothing runs any more of a server that died and of what it ran."""
        self.process.kill()
        self.process.wait()
        marked: dict[int, int | None] = {}
        for child in self.children.values():
            marked |= {child.pid: start_time(child.pid)} | child.known
        give_up = time.monotonic() + 2.0
        while time.monotonic() < give_up:
            left = [p for p, began in marked.items() if began and start_time(p) == began]
            if not left:
                break
            for pid in left:
                kill(pid)
            time.sleep(0.002)

    def close(self) -> None:
        """Let the server end with all its children, and wait until it has."""
        for child in self.children.values():
            child.channel.close()
        self.control.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _environment(warmth: Warmth) -> dict[str, str]:
    env = dict(os.environ)
    env.update(dict.fromkeys(_THREADS, str(warmth.threads)))
    # OpenMP threads that spin while they wait take the cores from the runs beside them.
    env.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Else the order of a set of strings, and with it a method's result, changes with every start.
    env.setdefault("PYTHONHASHSEED", "0")
    return env
