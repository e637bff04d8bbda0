"""One job in one process: read it, carry it out, answer, exit."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NoReturn

from podium.errors import InputError, MissingError, PodiumError
from podium.runner.capture import OUTPUT, flush_output
from podium.runner.channel import Channel
from podium.runner.processes import adopt_orphans, die_with_parent

DUMP_SIGNAL = signal.SIGUSR2
STACK = "stack.txt"
_PROGRESS_SECONDS = 0.1


class Worker:
    """What a job knows of its surroundings: its folder, which attempt it is, who listens."""

    def __init__(self, channel: Channel, folder: Path, attempt: int) -> None:
        self.folder = folder
        self.attempt = attempt
        self._channel = channel
        self._lock = threading.Lock()  # a method may report from threads of its own
        self._last = 0.0

    def phase(self, name: str) -> None:
        """Say which part begins; each part has the time limit to itself."""
        self._send({"phase": name})

    def progress(self, done: float, total: float, note: str) -> None:
        """Say how far the job is, at most ten times a second and at the end."""
        now = time.monotonic()
        if done >= total or now - self._last >= _PROGRESS_SECONDS:
            self._last = now
            self._send({"progress": [_finite(done), _finite(total), note[:200]]})

    def _send(self, message: dict[str, Any]) -> None:
        with self._lock:
            self._channel.send(message)


def child_main(channel: Channel, *, parent: int) -> NoReturn:
    """Be a child of the fork server: wait for a job, do it, and exit without clean-up."""
    code = 1
    try:
        os.setsid()
        alive = die_with_parent(signal.SIGKILL, parent)
        adopt_orphans()
        job = channel.receive_one() if alive else None
        if job is not None:
            _send(channel, _answer(channel, job))
        code = 0
    finally:
        os._exit(code)


def _send(channel: Channel, answer: dict[str, Any]) -> None:
    try:
        channel.send(answer)
    except (TypeError, ValueError) as error:
        reason = f"the result cannot be sent as JSON: {error}"
        channel.send({"raised": reason, "traceback": None})


def _answer(channel: Channel, job: dict[str, Any]) -> dict[str, Any]:
    folder = Path(job["folder"])
    folder.mkdir()
    _redirect(folder / OUTPUT)
    stack = (folder / STACK).open("w", encoding="utf-8")
    _watch(stack)
    try:
        arguments = dict(job["keywords"])
        if job["worker"]:
            arguments["worker"] = Worker(channel, folder, job["attempt"])
        result = find(job["target"])(*job["arguments"], **arguments)
        return {"result": result}
    except (InputError, MissingError) as error:
        return {"error": _described(error)}
    # SystemExit included: the answer, not the exit code, tells the supervisor what happened.
    except BaseException as error:
        from podium.runner.faults import reason_of, traceback_end

        return {"raised": reason_of(error), "traceback": traceback_end(error)}
    finally:
        flush_output()


def find(target: str) -> Callable[..., Any]:
    """Return the function that ``module:name`` stands for."""
    module, _, name = target.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    result: Callable[..., Any] = found
    return result


def _redirect(path: Path) -> None:
    """Send what the job prints to a file, and give it nothing to read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target in (1, 2):
        os.dup2(descriptor, target)
    os.close(descriptor)


def _watch(stack: IO[str]) -> None:
    """Write the stack where it crashes, or where it hangs when the supervisor asks."""
    faulthandler.enable(stack)
    faulthandler.register(DUMP_SIGNAL, stack)


def _described(error: PodiumError) -> dict[str, Any]:
    return {
        "kind": type(error).__name__,
        "what": error.what,
        "where": error.where,
        "expected": error.expected,
        "found": error.found,
        "fix": error.fix,
    }


def _finite(value: float) -> float:
    return value if abs(value) < float("inf") else 0.0
