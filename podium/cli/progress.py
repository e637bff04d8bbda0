"""What runs, what is left and how long: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from podium.declarations.task import TaskSpec
from podium.plan.spec import RunSpec
from podium.store.record import Record

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from podium.runner.local import Event


@contextlib.contextmanager
def display(
    specs: Sequence[RunSpec], tasks: Mapping[str, TaskSpec], workers: int
) -> Iterator[Callable[[Event], None]]:
    """Yield a listener for the runner's events; it writes to standard error."""
    forecast = Forecast(specs, workers)
    if not sys.stderr.isatty():
        yield _Lines(forecast, tasks).hear
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield _Live(forecast, tasks, bars).hear


class Forecast:
    """Expected time left, from what runs of the same entry and problem have taken so far."""

    def __init__(self, specs: Sequence[RunSpec], workers: int) -> None:
        self.total = len(specs)
        self.done = 0
        self._workers = workers
        self._left = {s.key: (s.task, s.problem, s.entry) for s in specs}
        self._began: dict[str, float] = {}
        self._took: dict[tuple[str, str, str], list[float]] = {}

    def begin(self, spec: RunSpec) -> None:
        """Note that a run has started."""
        self._began[spec.key] = time.monotonic()

    def end(self, spec: RunSpec) -> float:
        """Note that a run has ended; return how long it took in all, in seconds."""
        now = time.monotonic()
        took = now - self._began.pop(spec.key, now)
        self._took.setdefault(self._left.pop(spec.key), []).append(took)
        self.done += 1
        return took

    def seconds_left(self) -> float | None:
        """Return the expected seconds until the last run ends.

        ``None`` until every entry has ended a run: the slow ones are what takes time.
        """
        if not self._left:
            return 0.0
        by_entry: dict[tuple[str, str], list[float]] = {}
        for (task, _, entry), times in self._took.items():
            by_entry.setdefault((task, entry), []).extend(times)
        if any((task, entry) not in by_entry for task, _, entry in self._left.values()):
            return None
        now, work, longest = time.monotonic(), 0.0, 0.0
        for key, (task, problem, entry) in self._left.items():
            times = self._took.get((task, problem, entry)) or by_entry[task, entry]
            expected = sum(times) / len(times)
            if key in self._began:
                expected = max(0.0, expected - (now - self._began[key]))
            work += expected
            longest = max(longest, expected)
        return max(longest, work / self._workers)


def duration(seconds: float) -> str:
    """Write a duration for people: ``0.4 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 6000:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def outcome(record: Record, task: TaskSpec) -> str:
    """Write how a run ended: its primary score, or its status and reason."""
    if record.status != "ok":
        return f"{record.status}: {record.reason or 'no reason given'}"
    metric = record.metrics[task.primary.name]
    if metric.value is None:
        return f"{task.primary.name} undefined: {metric.reason}"
    return f"{task.primary.name} {metric.value:.4f}"


def _name(spec: RunSpec) -> str:
    return f"{spec.entry} on {spec.problem}, seed {spec.seed}"


class _Lines:
    """One line a finished run."""

    def __init__(self, forecast: Forecast, tasks: Mapping[str, TaskSpec]) -> None:
        self.forecast = forecast
        self.tasks = tasks
        self.width = len(str(forecast.total))
        self.phases: dict[str, str] = {}
        self.said: set[str] = set()

    def hear(self, event: Event) -> None:
        if event.kind == "started":
            self.forecast.begin(event.spec)
        elif event.kind == "phase":
            self.phases[event.spec.key] = event.note
        elif event.kind == "progress" and self.phases.get(event.spec.key) == "build":
            # A download: other runs that wait for the same file need not say so again.
            if event.note not in self.said:
                self.said.add(event.note)
                self.say(f"{event.note}...")
        elif event.kind == "retried":
            self.say(f"retried: {_name(event.spec)}: {event.note}")
        elif event.kind == "finished" and event.record is not None:
            took = duration(self.forecast.end(event.spec))
            count = f"[{self.forecast.done:{self.width}}/{self.forecast.total}]"
            result = outcome(event.record, self.tasks[event.spec.task])
            left = self.forecast.seconds_left()
            rest = f"; about {duration(left)} left" if left else ""
            self.say(f"{count} {_name(event.spec)}: {result} ({took}{rest})")

    def say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class _Live(_Lines):
    """One bar for all runs and one for each that runs; finished ones scroll by above."""

    def __init__(self, forecast: Forecast, tasks: Mapping[str, TaskSpec], bars: Progress) -> None:
        super().__init__(forecast, tasks)
        self.bars = bars
        self.running: dict[str, TaskID] = {}
        self.overall = bars.add_task("all runs", total=forecast.total, note="")

    def hear(self, event: Event) -> None:
        key = event.spec.key
        if event.kind == "started" and key not in self.running:
            self.running[key] = self.bars.add_task(_name(event.spec), total=None, note="")
        elif event.kind == "phase" and key in self.running:
            self.bars.update(self.running[key], note=event.note)
        elif event.kind == "progress" and key in self.running:
            self.bars.update(
                self.running[key], total=event.total, completed=event.done, note=event.note
            )
        super().hear(event)
        if event.kind == "finished":
            if key in self.running:
                self.bars.remove_task(self.running.pop(key))
            left = self.forecast.seconds_left()
            note = f"{self.forecast.done}/{self.forecast.total}"
            note += f", about {duration(left)} left" if left else ""
            self.bars.update(self.overall, completed=self.forecast.done, note=note)

    def say(self, line: str) -> None:
        from rich.text import Text

        self.bars.console.print(Text(line))
