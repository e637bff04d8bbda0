"""Carry out one run in this process, and describe how it went."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from podium.contracts import (
    Array,
    Instance,
    InvalidPredictionError,
    Prediction,
    Problem,
    Recipe,
)
from podium.errors import MissingError
from podium.plan.config import config_of
from podium.plan.spec import RunSpec
from podium.registry.code import load_function
from podium.registry.requirements import is_installed
from podium.runner.capture import OUTPUT, output_to
from podium.runner.context import Progress, RunBuildContext, RunContext
from podium.runner.faults import (
    one_line,
    reason_of,
    status_of,
    tail,
    traceback_end,
    with_fix,
    with_output,
)
from podium.runner.measure import (
    Stopwatch,
    device_fault,
    device_name,
    finish_device,
    peak_bytes,
    start_device,
)
from podium.runner.pictures import as_png, picture_fault
from podium.runner.records import make_record, utc_now
from podium.runner.scoring import checked_metrics
from podium.runner.validate import array_faults, named_lengths, read_only, with_declared_integers
from podium.store.record import Cost, MetricValue, Provenance, Record, Status

if TYPE_CHECKING:
    from podium.declarations.task import TaskSpec


class Outcome(NamedTuple):
    """What a run left: its record, its prediction, and a picture of it (PNG)."""

    record: Record
    prediction: Prediction | None
    picture: bytes | None


class _EndedError(Exception):
    """A run that ended before its score, by a fault that needs no traceback but perhaps detail."""

    def __init__(self, status: Status, reason: str, detail: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.detail = detail


def execute(
    spec: RunSpec,
    task: TaskSpec,
    *,
    progress: Progress | None = None,
    phase: Callable[[str], None] | None = None,
    provenance: Provenance | None = None,
    attempts: int = 1,
    workspace: Path | None = None,
) -> Outcome:
    """Build the problem, call the method, check its prediction and score it.

    Whatever the task or the entry does ends up as a status: ``ok``, ``failed`` (an exception of
    any kind, ``SystemExit`` and ``KeyboardInterrupt`` included), ``out_of_memory``, ``invalid``
    (a prediction that breaks the contract, with every fault, or that the scorer refuses),
    ``skipped`` (a package, a device, a file or a model is missing). Limits of time and memory need
    another process: see ``podium.runner.local``.

    ``progress`` gets what the method reports, ``phase`` the words ``build``, ``method`` and
    ``score`` as each begins. ``provenance`` is worked out here if it is not given.
    ``workspace`` is an empty folder for temporary files that the caller removes; by default one is
    made and removed here.
    The prediction may be mapped from files that are already unlinked; it stays readable.
    """
    if provenance is None:
        from podium.provenance import provenance as describe

        provenance = describe(threads=spec.threads, argv=spec.argv)
    run = _Run(spec, task, progress, phase or _say_nothing)
    with _folder(workspace) as folder:
        run.carry_out(folder)
    return Outcome(run.record(provenance, attempts), run.prediction, run.picture)


class _Run:
    """The state of one run: filled in as far as it gets."""

    def __init__(
        self,
        spec: RunSpec,
        task: TaskSpec,
        progress: Progress | None,
        phase: Callable[[str], None],
    ) -> None:
        self.spec = spec
        self.task = task
        self.progress = progress
        self.phase = phase
        self.started = utc_now()
        self.blame = ""
        self.pid = os.getpid()
        self.status: Status = "ok"
        self.reason: str | None = None
        self.traceback: str | None = None
        self.metrics: dict[str, MetricValue] = {}
        self.prediction: dict[str, Array] | None = None
        self.picture: bytes | None = None
        self.context: RunContext | None = None
        self.device_peak: int | None = None
        self.clocks: dict[str, Stopwatch] = {}
        self.recipe = Recipe(
            task=spec.task,
            problem=spec.problem,
            tier=spec.tier,
            params=MappingProxyType(spec.params),
            seed=spec.seed,
        )
        names = task.problem(spec.problem).files
        files = tuple(f for f in task.files if f.name in names)
        self.building = RunBuildContext(self.recipe, files, progress)

    def carry_out(self, folder: Path) -> None:
        """Go through the steps; what goes wrong becomes the status."""
        output = folder / OUTPUT
        try:
            with output_to(output):
                self._steps(folder)
        except _EndedError as ended:
            self.status, self.reason = ended.status, ended.reason
            self.traceback = with_output(ended.detail, tail(output))
        # A method that raises SystemExit or KeyboardInterrupt has failed like any other.
        except BaseException as error:
            self.status, self.reason = status_of(error), self.blame + reason_of(error)
            self.traceback = with_output(traceback_end(error), tail(output))

    def _steps(self, folder: Path) -> None:
        spec, task = self.spec, self.task
        self.phase("build")
        _check_requirements(spec)
        build = load_function(spec.task_at, f"{task.module}:build")
        score = load_function(spec.task_at, f"{task.module}:score")
        draw = load_function(spec.task_at, f"{task.module}:picture") if task.picture else None
        method = load_function(spec.entry_at, spec.function)
        config = config_of(spec)
        with self._timing("build"), self._blaming("build"), _skipping():
            instance = build(self.recipe, self.building)
        self._check_instance(instance)
        lengths = named_lengths(task.arrays.public, instance.public)

        scratch, emitted = folder / "scratch", folder / "emitted"
        scratch.mkdir()
        emitted.mkdir()
        context = self.context = RunContext(spec, scratch, emitted, self.progress)
        problem = Problem(
            task=spec.task,
            id=spec.problem,
            tier=spec.tier,
            public=MappingProxyType({k: read_only(v) for k, v in instance.public.items()}),
        )
        with _skipping():
            context.find_files()
        self.phase("method")
        context.start_clock()
        start_device(spec.device)
        with self._timing("method"):
            try:
                with _skipping():
                    returned = method(problem, context, **config)
            finally:
                self._stop_copies()
            self.device_peak = finish_device(spec.device)
        self.prediction = self._checked(returned, context.emitted(), lengths)

        self.phase("score")
        with self._timing("score"), self._blaming("score"):
            try:
                scores = score(MappingProxyType(self.prediction), instance, self.recipe)
            except InvalidPredictionError as refused:
                raise _EndedError("invalid", one_line(str(refused))) from refused
        metrics, faults = checked_metrics(task.metrics, scores)
        if faults:
            raise _EndedError("failed", _scorer_fault(spec.task, "score", faults))
        if draw is not None:
            with self._blaming("picture"):
                drawn = draw(MappingProxyType(self.prediction), instance, self.recipe)
            fault = picture_fault(drawn)
            if fault is not None:
                raise _EndedError("failed", _scorer_fault(spec.task, "picture", [fault]))
            self.picture = as_png(drawn)
        self.metrics = metrics

    def _stop_copies(self) -> None:
        """End a process that the method forked and that came back here: one of them scores."""
        if os.getpid() != self.pid:
            os._exit(1)

    def _timing(self, name: str) -> Stopwatch:
        return self.clocks.setdefault(name, Stopwatch())

    @contextlib.contextmanager
    def _blaming(self, function: str) -> Iterator[None]:
        """Say in the reason that the task is at fault, not the entry."""
        self.blame = f"{function}() of task {self.spec.task!r} failed: "
        yield
        self.blame = ""

    def _check_instance(self, instance: object) -> None:
        where = self.spec.task
        if not isinstance(instance, Instance):
            fault = f"it returned {type(instance).__name__}, expected an Instance"
            raise _EndedError("failed", _scorer_fault(where, "build", [fault]))
        faults = array_faults(self.task.arrays.public, instance.public, None)
        if faults:
            raise _EndedError("failed", _scorer_fault(where, "build", faults))

    def _checked(
        self, returned: object, emitted: Mapping[str, Array], lengths: Mapping[str, int]
    ) -> dict[str, Array]:
        """Return the prediction, or end the run as ``invalid`` with every fault."""
        if returned is None and emitted:
            returned = {}
        if not isinstance(returned, Mapping):
            names = ", ".join(a.name for a in self.task.arrays.prediction)
            kind = type(returned).__name__
            found = "None (did you forget return?)" if returned is None else kind
            raise _EndedError(
                "invalid", f"the method returned {found}, expected named arrays: {names}"
            )
        twice = [f"{name}: both returned and emitted" for name in emitted if name in returned]
        declared = self.task.arrays.prediction
        arrays = with_declared_integers(declared, {**returned, **emitted})
        faults = twice + array_faults(declared, arrays, lengths)
        if faults:
            raise _EndedError("invalid", "; ".join(faults))
        return {name: read_only(array) for name, array in arrays.items()}

    def record(self, provenance: Provenance, attempts: int) -> Record:
        """Return the record of the run as it stands."""

        def seconds(name: str) -> float | None:
            return self.clocks[name].wall if name in self.clocks else None

        method = self.clocks.get("method")
        gpu = device_name(self.spec.device) if method else None
        return make_record(
            self.spec,
            provenance if gpu is None else msgspec.structs.replace(provenance, gpu=gpu),
            status=self.status,
            reason=self.reason,
            traceback=self.traceback,
            attempts=attempts,
            metrics=self.metrics,
            cost=Cost(
                wall_seconds=seconds("method"),
                cpu_seconds=method.cpu if method else None,
                build_seconds=seconds("build"),
                score_seconds=seconds("score"),
                peak_bytes=peak_bytes(),
                device_peak_bytes=self.device_peak,
            ),
            curves=self.context.curves() if self.context else {},
            data=self.building.used + (self.context.used if self.context else ()),
            started=self.started,
        )


@contextlib.contextmanager
def _skipping() -> Iterator[None]:
    """End the run as ``skipped`` where a file or a service cannot be had."""
    try:
        yield
    except MissingError as missing:
        reason = with_fix(missing.what, missing.fix)
        raise _EndedError("skipped", reason, str(missing)) from missing


def _check_requirements(spec: RunSpec) -> None:
    """End the run as ``skipped`` where a package or the device is missing."""
    missing = [name for name in spec.requires if not is_installed(name)]
    if missing:
        wanted = f'"podium[{spec.extra}]"' if spec.extra else " ".join(missing)
        reason = with_fix(f"{', '.join(missing)} is not installed", f"pip install {wanted}")
        raise _EndedError("skipped", reason)
    fault = device_fault(spec.device)
    if fault is not None:
        raise _EndedError("skipped", fault)


def _scorer_fault(task: str, function: str, faults: list[str]) -> str:
    return f"{function}() of task {task!r} broke its contract: {one_line('; '.join(faults))}"


@contextlib.contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    """Yield the caller's folder, or a private one that is gone afterwards."""
    if given is not None:
        yield given
        return
    folder = Path(tempfile.mkdtemp(prefix="podium-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _say_nothing(phase: str) -> None:
    """Stand in where nobody listens."""
