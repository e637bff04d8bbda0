"""Runs on this machine: each in a process of its own, limited, retried if killed from outside."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any, Literal, ParamSpec, TypeVar

import msgspec

from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.plan.spec import RunSpec
from podium.provenance import provenance as describe
from podium.runner.jobs import Job, JobError, Limits, Listener, Warmth
from podium.runner.records import make_record, utc_now
from podium.runner.supervisor import Supervisor
from podium.store.record import Cost, Provenance, Record, Status
from podium.store.store import Store

RETRIES = 2
"""How often a run that was killed from outside is tried again."""

P = ParamSpec("P")
T = TypeVar("T")


class ForkExecutor(Executor):
    """Run functions in forked processes, one process a call.

    A killed process costs only its own call, which is tried again. Arguments and results are JSON.
    ``preload``: modules to import once, before forking; ``threads``: for numeric libraries.
    """

    def __init__(
        self,
        jobs: int,
        *,
        threads: int = 1,
        preload: tuple[str, ...] = (),
        limits: Limits | None = None,
        retries: int = RETRIES,
    ) -> None:
        if jobs < 1:
            raise InputError("jobs must be 1 or more", found=str(jobs))
        self._warmth = Warmth(preload, threads)
        self._limits = limits or Limits()
        self._retries = retries
        self._supervisor = Supervisor(jobs)
        self._supervisor.start()
        self._closed = False

    def submit(self, fn: Callable[P, T] | str, /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function of a module, given itself or as ``module:name``.

        The future raises ``JobError`` where the call gives no result.

        Raises:
            InputError: the function cannot be found by its name in another process.
        """
        return self.submit_job(_target(fn), args, kwargs)

    def submit_job(
        self,
        target: str,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        limits: Limits | None = None,
        warmth: Warmth | None = None,
        listen: Listener | None = None,
        wants_worker: bool = False,
    ) -> Future[Any]:
        """Submit with limits and preloaded modules of its own.

        ``listen`` hears of its progress, on the supervisor's thread. With ``wants_worker`` the
        function gets a ``podium.runner.child.Worker`` as the keyword ``worker``.
        """
        if self._closed:
            raise RuntimeError("cannot schedule new futures after shutdown")
        job = Job(
            target=target,
            arguments=tuple(arguments),
            keywords=dict(keywords or {}),
            warmth=warmth or self._warmth,
            limits=limits or self._limits,
            retries=self._retries,
            wants_worker=wants_worker,
            listen=listen,
        )
        self._supervisor.post(job)
        return job.future

    def warm(self, warmth: Warmth | None = None) -> None:
        """Start a fork server ahead of its first job."""
        self._supervisor.post(warmth or self._warmth)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls, and end the processes once those taken are done."""
        self._close("cancel" if cancel_futures else "finish", wait)

    def abort(self) -> None:
        """End running calls too; their futures raise ``JobError``."""
        self._close("abort", wait=True)

    def _close(self, order: str, wait: bool) -> None:
        self._closed = True
        if self._supervisor.is_alive():
            self._supervisor.post(order)
            if wait:
                self._supervisor.join()


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to a run.

    ``started``: ``attempt``. ``phase``: ``note`` is ``build``, ``method`` or ``score``.
    ``progress``: ``done`` of ``total``, ``note``. ``retried``: ``note`` says why, ``attempt`` is
    the one that comes. ``finished``: ``record``.
    """

    kind: Literal["started", "phase", "progress", "retried", "finished"]
    spec: RunSpec
    attempt: int = 1
    done: float = 0.0
    total: float = 0.0
    note: str = ""
    record: Record | None = None


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what had finished is stored; ``left`` runs are not done."""

    def __init__(self, left: int) -> None:
        super().__init__(f"{left} runs left")
        self.left = left


def run_all(
    specs: Sequence[RunSpec],
    tasks: Mapping[str, TaskSpec],
    store: Store,
    *,
    jobs: int | None = None,
    on_event: Callable[[Event], None] | None = None,
    provenance: Provenance | None = None,
) -> list[Record]:
    """Carry out runs and store each the moment it ends; return the records in the order given.

    Every run yields a record, whatever happens to it. ``jobs`` run at a time, by default as many
    as fit the cores with the most threads that any of them asks for. Limits hold for building,
    method and scoring each. ``on_event`` is called on this thread.

    Raises:
        MissingError: the store cannot be written; records written before stay.
        Interrupted: Ctrl-C; running runs are ended.
    """
    if not specs:
        return []
    store.prepare()
    notify = on_event or _ignore
    events: queue.SimpleQueue[tuple[int, str, Any]] = queue.SimpleQueue()
    records: dict[int, Record] = {}
    began: dict[int, str] = {}
    encoded = {name: msgspec.to_builtins(task) for name, task in tasks.items()}
    threads = max(spec.threads for spec in specs)
    folder = str(store.root.absolute())
    executor = ForkExecutor(jobs or max(1, len(os.sched_getaffinity(0)) // threads))
    try:
        for warmth in dict.fromkeys(_warmth(spec) for spec in specs):
            executor.warm(warmth)
        # Worked out while the servers start.
        origin = provenance or describe(threads=threads, argv=specs[0].argv)
        origin_json = msgspec.to_builtins(origin)
        for index, spec in enumerate(specs):
            future = executor.submit_job(
                "podium.runner.worker:carry_out",
                (msgspec.to_builtins(spec), encoded[spec.task], origin_json, folder),
                limits=Limits(spec.time_limit, spec.memory_limit),
                warmth=_warmth(spec),
                listen=_Forward(events, index),
                wants_worker=True,
            )
            future.add_done_callback(_Forward(events, index).done)
        while len(records) < len(specs):
            index, kind, value = events.get()
            spec = specs[index]
            if kind == "started":
                began[index] = utc_now()
                notify(Event(kind="started", spec=spec, attempt=value))
            elif kind == "phase":
                notify(Event(kind="phase", spec=spec, note=value))
            elif kind == "progress":
                done, total, note = value
                notify(Event(kind="progress", spec=spec, done=done, total=total, note=note))
            elif kind == "retried":
                attempt, why = value
                notify(Event(kind="retried", spec=spec, attempt=attempt, note=why))
            else:
                record = _record_of(value, spec, origin, began.get(index), store)
                records[index] = record
                notify(Event(kind="finished", spec=spec, attempt=record.attempts, record=record))
    except KeyboardInterrupt:
        executor.abort()
        raise Interrupted(len(specs) - len(records)) from None
    except BaseException:
        executor.abort()
        raise
    executor.shutdown()
    return [records[index] for index in range(len(specs))]


class _Forward:
    """Carry events from the supervisor's thread to the caller's."""

    def __init__(self, events: queue.SimpleQueue[tuple[int, str, Any]], index: int) -> None:
        self.events = events
        self.index = index

    def __call__(self, kind: str, value: object) -> None:
        self.events.put((self.index, kind, value))

    def done(self, future: Future[Any]) -> None:
        self.events.put((self.index, "finished", future))


_STATUS: dict[str, Status] = {"timeout": "timeout", "out_of_memory": "out_of_memory"}


def _record_of(
    future: Future[Any], spec: RunSpec, origin: Provenance, began: str | None, store: Store
) -> Record:
    """Return the record the run wrote, or write the one it could not.

    Raises:
        MissingError: the store cannot be written from here either.
    """
    started = began or utc_now()
    try:
        answer = future.result()
    except JobError as fault:
        record = make_record(
            spec,
            origin,
            status=_STATUS.get(fault.kind, "failed"),
            started=started,
            reason=fault.reason,
            traceback=fault.detail,
            attempts=fault.attempts,
            cost=Cost(wall_seconds=fault.seconds, peak_bytes=fault.peak_bytes or None),
        )
        return store.save(record)
    if "unsaved" in answer:
        reason = f"its record could not be stored: {answer['unsaved']}"
        return store.save(
            make_record(spec, origin, status="failed", started=started, reason=reason)
        )
    return msgspec.convert(answer["record"], Record)


def _warmth(spec: RunSpec) -> Warmth:
    return Warmth(("podium.runner.worker", *spec.preload), spec.threads)


def _target(fn: Callable[..., Any] | str) -> str:
    if isinstance(fn, str):
        return fn
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
    if not module or module == "__main__" or not name or "<" in name:
        raise InputError(
            "this function cannot be called in another process",
            expected="a function at the top of an importable module, or 'module:name'",
            found=f"{module}:{name}",
        )
    return f"{module}:{name}"


def _ignore(event: Event) -> None:
    """Stand in where nobody listens."""
