"""``podium run``: plan, skip what is finished, run the rest, rank."""

from __future__ import annotations

import importlib
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from podium.cli.nearby import check_folders, check_names
from podium.cli.output import counted, print_columns, print_json
from podium.errors import EXIT_ENVIRONMENT, EXIT_OK, EXIT_RUN_FAILED, InputError
from podium.paths import expanded
from podium.plan.explain import explain
from podium.plan.planner import Request, plan
from podium.plan.spec import RunSpec
from podium.plan.values import parse_duration, parse_seeds, parse_size
from podium.registry.model import ENTRY_FILE
from podium.registry.registry import Registry, load_registry
from podium.store.location import store_folder
from podium.store.record import Record
from podium.store.store import Store

FAULTS = ("failed", "timeout", "out_of_memory", "invalid")
INTERRUPTED = 130
TABLES = "podium.cli.tables"
LM_ENTRY = "lm"
"""The entry that ``--lm`` runs."""


@dataclass(frozen=True)
class Options:
    """The options of ``podium run``, as they were given."""

    tasks: tuple[str, ...]
    suite: str | None
    tier: str | None
    entries: tuple[str, ...]
    problems: tuple[str, ...]
    seeds: str | None
    jobs: int | None
    threads: int
    device: str
    time_limit: str | None
    memory_limit: str | None
    store: Path | None
    added: tuple[Path, ...]
    assignments: tuple[str, ...]
    lm: str | None
    lm_args: str | None
    force: bool
    explain: bool
    as_json: bool


def run(options: Options) -> int:
    """Run what the options ask for; return the exit code."""
    options = _with_model(options)
    check_folders(options.added)
    registry = load_registry(options.added)
    check_names(options.entries, [*registry.entries, *(b.name for b in registry.broken)])
    specs = plan(registry, _request(options, registry))
    store = Store(store_folder(options.store))
    known = {r.key: r for task in _tasks(specs) for r in store.records(task)}
    if options.explain:
        return _explain(specs, known, options)
    finished = {k for k, r in known.items() if r.status == "ok"} if not options.force else set()
    todo = [s for s in specs if s.key not in finished]
    fresh: list[Record] = []
    if todo:
        if not options.as_json:
            # The fork server takes its time to start on another core: load what the table needs.
            threading.Thread(target=importlib.import_module, args=(TABLES,), daemon=True).start()
        try:
            fresh = carry_out(todo, registry, store, jobs=options.jobs)
        except KeyboardInterrupt as stop:
            left = getattr(stop, "left", len(todo))
            print(
                f"\nstopped with {counted(left, 'run')} left; "
                f"finished runs are kept in {store.root}; the same command goes on from here",
                file=sys.stderr,
            )
            return INTERRUPTED
    by_key = {**known, **{r.key: r for r in fresh}}
    records = [by_key[s.key] for s in specs]
    if options.as_json:
        print_json(_json(records, {r.key for r in fresh}, store))
    else:
        _report(registry, specs, records, len(specs) - len(todo), store)
    if any(r.status in FAULTS for r in records):
        return EXIT_RUN_FAILED
    return EXIT_ENVIRONMENT if any(r.status == "skipped" for r in records) else EXIT_OK


def carry_out(
    specs: Sequence[RunSpec], registry: Registry, store: Store, *, jobs: int | None
) -> list[Record]:
    """Run specs with a live display on standard error; return their records.

    Raises:
        InputError: ``PODIUM_DATA`` names no folder.
    """
    from podium.cli.progress import display
    from podium.data.resolver import data_folder
    from podium.runner.local import run_all

    data_folder()
    tasks = {name: registry.task(name).spec for name in _tasks(specs)}
    workers = worker_count(jobs, specs[0].threads)
    with display(specs, tasks, workers) as show:
        return run_all(specs, tasks, store, jobs=workers, on_event=show)


def worker_count(jobs: int | None, threads: int) -> int:
    """Return how many runs go at once: as asked, or one for every ``threads`` cores."""
    return jobs if jobs is not None else max(1, len(os.sched_getaffinity(0)) // threads)


def check_device(device: str) -> str:
    """Return a device's name if it has the right form.

    Raises:
        InputError: neither ``cpu`` nor ``cuda`` nor ``cuda:N``.
    """
    if re.fullmatch(r"cpu|cuda(:[0-9]{1,4})?", device):
        return device
    raise InputError("unknown device", where=f"--device {device}", expected="cpu, cuda or cuda:N")


def _with_model(options: Options) -> Options:
    """Read ``--lm KIND --lm-args ARGS`` as the entry ``lm`` with that model."""
    if options.lm is None:
        if options.lm_args is not None:
            raise InputError(
                "arguments of no model", where=f"--lm-args {options.lm_args}", fix="--lm KIND"
            )
        return options
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", options.lm):
        raise InputError(
            "bad kind of model",
            where=f"--lm {options.lm}",
            expected="a name of lm-eval's registry, such as hf",
            fix="--lm KIND --lm-args key=value,...",
        )
    model = ",".join(filter(None, (options.lm, options.lm_args)))
    return replace(
        options,
        entries=(*options.entries, LM_ENTRY),
        assignments=(*options.assignments, f"{LM_ENTRY}.model={model}"),
    )


def _request(options: Options, registry: Registry) -> Request:
    folders = {str(expanded(p, where="--entry").resolve()) for p in options.added}
    folders |= {str(Path(f).parent) for f in folders if Path(f).name == ENTRY_FILE}
    added = tuple(e.id for e in registry.entries.values() if e.at.folder in folders)
    limit, memory = options.time_limit, options.memory_limit
    return Request(
        tasks=options.tasks,
        suite=options.suite,
        tier=options.tier,
        entries=options.entries,
        problems=options.problems,
        seeds=None if options.seeds is None else parse_seeds(options.seeds),
        added=added,
        assignments=options.assignments,
        device=check_device(options.device),
        threads=options.threads,
        time_limit=None if limit is None else parse_duration(limit, option="--time-limit"),
        memory_limit=None if memory is None else parse_size(memory, option="--memory-limit"),
        argv=("podium", *sys.argv[1:]),
    )


def _tasks(specs: Sequence[RunSpec]) -> list[str]:
    return list(dict.fromkeys(s.task for s in specs))


def _explain(specs: Sequence[RunSpec], known: dict[str, Record], options: Options) -> int:
    reasons = explain(specs, known.values())
    if options.as_json:
        print_json([{**_subject(s), "key": s.key, "reason": reasons[s.key]} for s in specs])
        return EXIT_OK
    print_columns(
        [(s.task, s.problem, s.entry, f"seed {s.seed}", reasons[s.key]) for s in specs], indent=0
    )
    count = Counter(reasons[s.key].partition(":")[0].partition(",")[0] for s in specs)
    print(f"\n{counted(len(specs), 'run')}: " + ", ".join(f"{n} {why}" for why, n in count.items()))
    return EXIT_OK


def _subject(item: RunSpec | Record) -> dict[str, Any]:
    return {
        "task": item.task,
        "problem": item.problem,
        "tier": item.tier,
        "entry": item.entry,
        "seed": item.seed,
    }


def _json(records: Sequence[Record], fresh: set[str], store: Store) -> dict[str, Any]:
    return {
        "store": str(store.root),
        "planned": len(records),
        "ran": len(fresh),
        "runs": [
            {
                **_subject(r),
                "key": r.key,
                "status": r.status,
                "reason": r.reason,
                "metrics": {n: m.value for n, m in r.metrics.items()},
                "undefined": {n: m.reason for n, m in r.metrics.items() if m.value is None},
                "wall_seconds": r.cost.wall_seconds,
                "peak_bytes": r.cost.peak_bytes,
                "device": r.device,
                "fresh": r.key in fresh,
            }
            for r in records
        ],
    }


def _report(
    registry: Registry,
    specs: Sequence[RunSpec],
    records: Sequence[Record],
    skipped: int,
    store: Store,
) -> None:
    from podium.cli.tables import result_table

    if skipped:
        was, are = ("was", "is") if skipped == 1 else ("were", "are")
        print(
            f"{skipped} of {counted(len(specs), 'run')} {was} finished before and {are} taken from "
            f"{store.root} (--force runs them again)\n"
        )
    for name in _tasks(specs):
        mine = [r for r in records if r.task == name]
        print(result_table(registry.task(name).spec, mine, [r.identity for r in mine]))
        print()
    print(f"records: {store.root}")
    for name in _tasks(specs):
        print(f"among all other entries: {_show_command(registry, name, specs)}")


def _show_command(registry: Registry, name: str, specs: Sequence[RunSpec]) -> str:
    """Return the command that shows these runs among all others, on the same problems."""
    tier = specs[0].tier
    problems = dict.fromkeys(s.problem for s in specs if s.task == name)
    words = ["podium", "show", name]
    if tier != "small":
        words += ["--tier", tier]
    if len(problems) < len(registry.task(name).spec.in_tier(tier)):
        words += ["--problems", ",".join(problems)]
    return " ".join(words)
