"""The warm fork server: a small process that has the imports done and forks a child per job.

The supervisor (``podium.runner.warm``) starts it and talks to it over a socket:

- to the server: ``{"fork": n}``, ``{"kill": pid}``, ``{"dump": pid}`` (write where it hangs);
- from the server: ``{"ready": true}``, ``{"born": pid}`` with the supervisor's end of the child's
  own socket, ``{"died": pid, "status": s, "killed": n}`` once nothing of the child is left.

The server adopts what a child leaves behind and kills it. It ends, with all children, when the
supervisor's end of the socket closes or the supervisor dies.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import selectors
import shutil
import signal
import socket
import time
import traceback
from typing import Any, NoReturn

from podium.runner.channel import Channel
from podium.runner.child import DUMP_SIGNAL, child_main
from podium.runner.processes import adopt_orphans, children, die_with_parent, kill

_LAST_WAIT = 2.0
"""Seconds to wait for a killed process to go; one stuck in the kernel is left to it."""


class Server:
    """The server's state: its socket and its living children."""

    def __init__(self, control: Channel) -> None:
        self.control = control
        self.alive: set[int] = set()
        self.ending = False
        self.wake, self._wake_in = socket.socketpair()
        for end in (self.wake, self._wake_in):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _noted)
        signal.signal(signal.SIGTERM, self._end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def serve(self) -> None:
        """Answer requests until the supervisor is gone, then leave nothing running."""
        selector = selectors.DefaultSelector()
        selector.register(self.control, selectors.EVENT_READ)
        selector.register(self.wake, selectors.EVENT_READ)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.control.send({"ready": True})
            while not self.ending:
                for key, _ in selector.select():
                    if key.fileobj is self.wake:
                        with contextlib.suppress(BlockingIOError):
                            self.wake.recv(4096)
                        self.reap()
                    else:
                        for message in self.control.receive():
                            self.answer(message)
                        self.ending = self.ending or self.control.closed
        for pid in list(self.alive):
            kill(pid)
        self._clear(set())

    def answer(self, message: dict[str, Any]) -> None:
        """Carry out one request."""
        for _ in range(message.get("fork", 0)):
            self.fork()
        # Only living children are signalled: their numbers cannot have been reused.
        if message.get("kill") in self.alive:
            kill(message["kill"])
        if message.get("dump") in self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(message["dump"], DUMP_SIGNAL)

    def fork(self) -> None:
        """Fork a child that waits for its job on a socket of its own."""
        ours, theirs = socket.socketpair()
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            ours.close()
            self._become_child()
            child_main(Channel(theirs), parent=me)
        theirs.close()
        self.alive.add(pid)
        with ours:
            self.control.send({"born": pid}, [ours.fileno()])

    def reap(self) -> None:
        """Collect the dead; report a child only when nothing it started is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.alive:
                self.alive.discard(pid)
                killed = self._clear(self.alive)
                self.control.send(
                    {"died": pid, "status": os.waitstatus_to_exitcode(status), "killed": killed}
                )

    def _clear(self, keep: set[int]) -> int:
        """Kill every child that is not to be kept, and return how many there were.

        A child of this process that it did not fork is an orphan of a run that ended: while a run
        lives, it adopts its own orphans. Killing one may bring up its children, hence the loop.
        """
        me = os.getpid()
        killed: set[int] = set()
        give_up = time.monotonic() + _LAST_WAIT
        while time.monotonic() < give_up:
            left = [pid for pid in children(me) if pid not in keep]
            if not left:
                break
            for pid in left:
                kill(pid)
                killed.add(pid)
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            time.sleep(0.001)
        return len(killed - keep)

    def _become_child(self) -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        # The entry may handle Ctrl-C; as the terminal is another session it gets none.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.control.close()
        self.wake.close()
        self._wake_in.close()

    def _end(self, *_: object) -> None:
        self.ending = True


def main(settings: dict[str, Any]) -> NoReturn:
    """Import what is to be shared, then serve."""
    try:
        if die_with_parent(signal.SIGTERM, settings["parent"]):
            _serve(settings)
    except Exception:
        traceback.print_exc()  # into the log that the supervisor quotes
    finally:
        shutil.rmtree(settings["folder"], ignore_errors=True)
        os._exit(0)


def _serve(settings: dict[str, Any]) -> None:
    adopt_orphans()
    server = Server(Channel(socket.socket(fileno=settings["socket"])))
    for name in settings["preload"]:
        # A module that does not import is the business of the runs that need it: they say so.
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a collection in a child would touch, and so copy, every shared page
    server.serve()


def _noted(*_: object) -> None:
    """Let the wake-up descriptor do the work."""
