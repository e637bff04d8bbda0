"""Drive jobs through fork servers: dispatch, watch, end, retry. One thread does all of it."""

from __future__ import annotations

import contextlib
import queue
import selectors
import shutil
import signal
import socket
import threading
import time
from collections import deque
from typing import Any

from podium.errors import InputError, MissingError
from podium.runner.capture import OUTPUT
from podium.runner.channel import Channel
from podium.runner.child import STACK
from podium.runner.cores import pin, take_cores
from podium.runner.faults import stack_end, tail, with_output
from podium.runner.jobs import Job, JobError, Warmth
from podium.runner.processes import resident_bytes
from podium.runner.warm import Child, WarmServer

WATCH_SECONDS = 0.03
"""How often the size of every running job is looked at."""
_DUMP_SECONDS = 0.1
"""How long a job past its time may take to write where it hangs."""
_EXIT_SECONDS = 10.0
"""How long a run may take to exit once it has answered."""
_STARTS = 3
"""How often in a row a server may die before it has forked once."""
_LOSSES = 20
"""How often in a row a server may die after it has forked, with no job answered in between."""


class Supervisor(threading.Thread):
    """Runs at most ``slots`` jobs at a time; all state belongs to this thread."""

    def __init__(self, slots: int) -> None:
        super().__init__(name="podium-supervisor", daemon=True)
        self.slots = slots
        self._inbox: queue.SimpleQueue[Job | Warmth | str] = queue.SimpleQueue()
        self._wake, self._wake_in = socket.socketpair()
        self._wake_in.setblocking(False)
        self._wake.setblocking(False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._pending: dict[Warmth, deque[Job]] = {}
        self._servers: dict[Warmth, WarmServer] = {}
        self._running: dict[int, Child] = {}
        self._losses: dict[Warmth, int] = {}
        self._order = 0
        self._looked = 0.0
        self._closing = False

    def post(self, item: Job | Warmth | str) -> None:
        """Hand over a job, a kind of server to start, or ``finish``, ``cancel`` or ``abort``."""
        self._inbox.put(item)
        with contextlib.suppress(BlockingIOError):
            self._wake_in.send(b"x")

    def run(self) -> None:
        """Work until told to finish, then end the servers."""
        try:
            while not (self._closing and not self._running and not any(self._pending.values())):
                self._dispatch()
                self._wait()
                self._watch()
        except Exception as error:
            # A fault in this class must reach whoever waits for a result.
            self._fail_all(error)
            raise
        finally:
            self._abort()
            self._selector.close()
            self._wake.close()
            self._wake_in.close()

    def _wait(self) -> None:
        now = time.monotonic()
        timeout = None
        if self._running:
            timeout = max(0.0, self._looked + WATCH_SECONDS - now)
            for child in self._running.values():
                for moment in (child.deadline, child.kill_at):
                    if moment is not None:
                        timeout = min(timeout, max(0.0, moment - now))
        for key, _ in self._selector.select(timeout):
            if key.fileobj is self._wake:
                with contextlib.suppress(BlockingIOError):
                    self._wake.recv(4096)
                self._read_inbox()
            elif isinstance(key.data, WarmServer):
                self._read_server(key.data)
            # It may have been buried a moment ago, when its server was read.
            elif isinstance(key.data, Child) and not key.data.channel.closed:
                self._read_child(key.data, key.data.channel.receive())

    def _read_inbox(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                item = self._inbox.get_nowait()
                if isinstance(item, Job):
                    self._order += 1
                    item.order = self._order
                    self._pending.setdefault(item.warmth, deque()).append(item)
                elif isinstance(item, Warmth):
                    self._server(item)
                else:
                    self._closing = True
                    if item != "finish":
                        self._cancel_pending()
                    if item == "abort":
                        self._abort()

    def _dispatch(self) -> None:
        """Give jobs to idle children, oldest first; a server still starting holds nobody up."""
        for warmth, jobs in list(self._pending.items()):
            while jobs and jobs[0].future.cancelled():
                jobs.popleft()
            server = self._server(warmth) if jobs else None
            if server is not None:
                self._ask(server, min(len(jobs), self.slots))
        while len(self._running) < self.slots:
            ready = [
                (jobs[0].order, warmth)
                for warmth, jobs in self._pending.items()
                if jobs and warmth in self._servers and self._servers[warmth].idle
            ]
            if not ready:
                return
            _, warmth = min(ready, key=lambda pair: pair[0])
            self._start(self._pending[warmth].popleft(), self._servers[warmth])

    def _start(self, job: Job, server: WarmServer) -> None:
        # A job that was given out before, to a child that died, is running already.
        if not job.future.running() and not job.future.set_running_or_notify_cancel():
            return
        child = server.idle.popleft()
        child.folder = server.new_folder()
        child.cores = take_cores(job.warmth.threads)
        pin(child.pid, child.cores)
        message = {
            "target": job.target,
            "arguments": job.arguments,
            "keywords": job.keywords,
            "worker": job.wants_worker,
            "attempt": job.attempt,
            "folder": str(child.folder),
        }
        try:
            child.channel.send(message)
        except OSError:
            # Killed while idle: its death is on the way, and the job has lost nothing.
            child.cores.release()
            self._pending[job.warmth].appendleft(job)
            return
        child.job = job
        child.began = time.monotonic()
        self._set_deadline(child)
        self._running[child.pid] = child
        self._selector.register(child.channel, selectors.EVENT_READ, child)
        self._ask(server, min(len(self._pending[job.warmth]), self.slots))
        job.tell("started", job.attempt)

    def _ask(self, server: WarmServer, wanted: int) -> None:
        try:
            server.keep_ready(wanted)
        except OSError:
            self._lose(server)

    def _server(self, warmth: Warmth) -> WarmServer | None:
        """Return the server for ``warmth``, started if need be."""
        if warmth not in self._servers:
            try:
                server = WarmServer(warmth)
            except OSError as error:
                self._refuse(warmth, f"{error.strerror}: {error.filename or 'no process started'}")
                return None
            self._servers[warmth] = server
            self._selector.register(server.control, selectors.EVENT_READ, server)
        return self._servers[warmth]

    def _read_server(self, server: WarmServer) -> None:
        for message in server.control.receive():
            if "born" in message:
                server.add(message["born"])
            elif "died" in message:
                child = server.children.pop(message["died"])
                with contextlib.suppress(ValueError):
                    server.idle.remove(child)
                self._bury(child, message["status"])
        if server.control.closed:
            self._lose(server)

    def _read_child(self, child: Child, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if "phase" in message:
                child.phase = message["phase"]
                self._set_deadline(child)
                self._job(child).tell("phase", child.phase)
            elif "progress" in message:
                self._job(child).tell("progress", message["progress"])
            else:
                child.answer = message
                child.deadline = time.monotonic() + _EXIT_SECONDS
                self._losses[child.server.warmth] = 0
                if not self._job(child).wants_worker:
                    # Its exit holds nothing up. A run keeps its place until its memory, also
                    # that of a GPU, is free again and its record is known to be whole.
                    self._settle(child, message)
                    self._release(child)
                    return
        if child.channel.closed:
            self._forget(child.channel)

    def _watch(self) -> None:
        """End what is past its limits."""
        now = time.monotonic()
        look = now - self._looked >= WATCH_SECONDS
        if look:
            self._looked = now
        for child in list(self._running.values()):
            if child.kill_at is not None and now >= child.kill_at:
                child.kill_at = None
                self._order_server(child, "kill")
            overdue = child.fault is None and child.deadline is not None and now >= child.deadline
            if overdue and child.answer is not None:
                child.deadline, child.kill_at = None, now
            elif overdue:
                reason = f"took longer than {self._job(child).limits.seconds:g} s"
                child.fault = JobError("timeout", reason + _in_phase(child))
                child.deadline, child.kill_at = None, now + _DUMP_SECONDS
                self._order_server(child, "dump")
            if look:
                self._weigh(child)

    def _weigh(self, child: Child) -> None:
        limit = self._job(child).limits.bytes
        size = resident_bytes(child.look(), limit)
        child.peak = max(child.peak, size)
        if limit is not None and size > limit and child.fault is None:
            reason = f"used {_mib(size)} of memory, more than {_mib(limit)}"
            child.fault = JobError("out_of_memory", reason + _in_phase(child))
            self._order_server(child, "kill")

    def _order_server(self, child: Child, order: str) -> None:
        with contextlib.suppress(OSError):  # a dead server takes its children with it
            child.server.process.send_signal(signal.SIGCONT)  # a run may have stopped it
            child.server.control.send({order: child.pid})

    def _set_deadline(self, child: Child) -> None:
        seconds = self._job(child).limits.seconds
        child.deadline = None if seconds is None else time.monotonic() + seconds

    def _bury(self, child: Child, status: int) -> None:
        """Settle the job of a child that is gone: a result, a fault, or another attempt."""
        if child.job is not None:
            self._read_child(child, child.channel.drain())
        if child.job is not None:
            self._end(child, child.job, status)
            self._release(child)
        child.channel.close()
        if child.folder is not None:
            shutil.rmtree(child.folder, ignore_errors=True)

    def _release(self, child: Child) -> None:
        """Give the place of a child to another."""
        self._forget(child.channel)
        del self._running[child.pid]
        child.job = None
        child.cores.release()

    def _end(self, child: Child, job: Job, status: int) -> None:
        if child.answer is not None:
            self._settle(child, child.answer)
        elif child.fault is not None:
            self._fail(child, child.fault)
        elif status == -signal.SIGKILL:
            if job.attempt <= job.retries:
                job.attempt += 1
                reason = "its process was killed from outside (SIGKILL)"
                job.tell("retried", (job.attempt, reason))
                self._pending[job.warmth].appendleft(job)
            else:
                reason = f"killed from outside (SIGKILL) in each of {job.attempt} attempts"
                hint = "; the system may be short of memory"
                self._fail(child, JobError("killed", reason + hint))
        else:
            self._fail(child, JobError("crashed", _ending(status) + _in_phase(child)))

    def _settle(self, child: Child, answer: dict[str, Any]) -> None:
        job = self._job(child)
        if "result" in answer:
            job.future.set_result(answer["result"])
        elif "error" in answer:
            fields = dict(answer["error"])
            kind = MissingError if fields.pop("kind") == "MissingError" else InputError
            job.future.set_exception(kind(fields.pop("what"), **fields))
        else:
            fault = JobError("raised", answer["raised"], detail=answer["traceback"])
            self._fail(child, fault)

    def _fail(self, child: Child, fault: JobError) -> None:
        job = self._job(child)
        assert child.folder is not None
        stack = stack_end(tail(child.folder / STACK))
        fault.detail = with_output(fault.detail or stack, tail(child.folder / OUTPUT))
        fault.seconds = time.monotonic() - child.began
        fault.peak_bytes = child.peak
        fault.attempts = job.attempt
        job.future.set_exception(fault)

    def _lose(self, server: WarmServer) -> None:
        """A server died: its runs died with it; they are retried on a new one."""
        if self._servers.get(server.warmth) is not server:
            return
        del self._servers[server.warmth]
        self._forget(server.control)
        said = tail(server.log)
        children = list(server.children.values())
        server.bury()
        for child in children:
            self._bury(child, -signal.SIGKILL)
        server.close()
        losses = self._losses[server.warmth] = self._losses.get(server.warmth, 0) + 1
        if losses >= (_LOSSES if server.born else _STARTS):
            self._losses[server.warmth] = 0
            self._refuse(server.warmth, said or "it says nothing")

    def _refuse(self, warmth: Warmth, found: str) -> None:
        """Fail the jobs of a server that does not start."""
        for job in self._pending.pop(warmth, deque()):
            job.future.set_exception(
                MissingError(
                    "the process that runs are forked from does not stay alive",
                    where=f"preload {', '.join(warmth.preload) or 'nothing'}",
                    found=found,
                )
            )

    def _cancel_pending(self) -> None:
        for jobs in self._pending.values():
            for job in jobs:
                # Its first attempt made the future a running one, which cannot be cancelled.
                if not job.future.cancel() and not job.future.done():
                    job.future.set_exception(JobError("killed", "ended before its next attempt"))
            jobs.clear()

    def _abort(self) -> None:
        """End everything that runs, and the servers."""
        self._cancel_pending()
        for child in list(self._running.values()):
            self._forget(child.channel)
        for server in self._servers.values():
            self._forget(server.control)
            server.close()
        self._servers.clear()
        for child in list(self._running.values()):
            child.cores.release()
            if not self._job(child).future.done():
                self._job(child).future.set_exception(JobError("killed", "ended by request"))
        self._running.clear()

    def _fail_all(self, error: Exception) -> None:
        waiting = [job for jobs in self._pending.values() for job in jobs]
        for job in [*waiting, *(self._job(child) for child in self._running.values())]:
            if not job.future.done():
                job.future.set_exception(error)

    def _forget(self, channel: Channel) -> None:
        # A channel whose end was seen is no longer registered.
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(channel)

    @staticmethod
    def _job(child: Child) -> Job:
        assert child.job is not None
        return child.job


def _in_phase(child: Child) -> str:
    return f", in {child.phase}" if child.phase else ""


def _ending(status: int) -> str:
    """Describe how a process ended that gave no answer."""
    if status >= 0:
        return f"the process exited with code {status} and gave no answer"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = "unknown"
    return f"the process was ended by signal {-status} ({name})"


def _mib(size: int) -> str:
    return f"{size / 2**20:.0f} MiB"
