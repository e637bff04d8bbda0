"""Choose the settings of the entries of GW alignment without the truth.

Every entry that has a setting gets twelve trials of it on graphs and twelve on clouds: four values
of its main setting times three of its steps or of what it does in a step, on problems of seeds that
no claim uses. First all twelve are tried on small problems of one seed and, on graphs, on a large
one with hubs, which only some settings can bear; then the best four on more seeds, sizes and large
graphs with hubs. Only these four can be picked.

A setting is judged by the mean Gromov-Wasserstein objective, on the costs as given, of the plan it
returns after rounding to exact marginals, as a share of the objective of the product of the
weights. A plan that the scorer would refuse, or that took longer than the limit, counts as the
product: 1. Settings within ``TIE`` of the lowest share are tied, and the tie goes to the one of
least CPU seconds; seconds within ``SCATTER`` (5 %) of these count as equal, and then the lower
share decides. Which node is which is never looked at. The width of the degree start is one value
for all entries, chosen in the same way. Run by hand, some 35 CPU minutes in all for the first::

    OMP_NUM_THREADS=1 python tests/performance/gw_tuning.py --out trials.jsonl
    OMP_NUM_THREADS=1 python tests/performance/gw_tuning.py --width --out trials.jsonl

Trials that the file holds are not repeated.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import signal
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from podium.benchmarks.gw_alignment import task
from podium.contracts import Params, Problem, Recipe
from podium.data.resolver import Resolver
from podium.metrics.alignment import gw_objective, marginal_gap
from podium.metrics.rounding import rounded_objective
from podium.seeding import generator
from podium.transport import costs as spaces

TASK = "gw_alignment"
FIRST = (1000,)
SEEDS = (1000, 1001, 1002)
KEPT = 4
"""Settings that the first trials leave."""
TIE = 1e-3
SCATTER = 0.05
LIMIT = 12.0
"""CPU seconds of a trial."""
NODES = 400
FEW = 200
LARGE = 1000
_GRAPH: dict[str, Any] = {"nodes": NODES, "rule": "node"}
_POWERLAW: dict[str, Any] = {"data": "powerlaw_cluster", "edges": 3, "triangles": 0.3, **_GRAPH}
_BARABASI: dict[str, Any] = {"data": "barabasi_albert", "edges": 3, "noise": 0.05, **_GRAPH}
_BLOCK: dict[str, Any] = {
    "data": "block_model",
    "blocks": 5,
    "inside": 12.0,
    "outside": 1.6,
    "noise": 0.05,
    **_GRAPH,
}
_PARTITION: dict[str, Any] = {
    "data": "gaussian_partition",
    "mean_size": 200.0,
    "shape": 5.0,
    "inside": 0.2,
    "outside": 0.02,
    "noise": 0.05,
    **_GRAPH,
}
_CLOUD: dict[str, Any] = {
    "data": "cloud",
    "points": NODES,
    "clusters": 4,
    "dimensions": 3,
    "rule": "node",
}
SMALL: dict[str, Params] = {
    "powerlaw-noise05": {**_POWERLAW, "noise": 0.05},
    "powerlaw-noise10": {**_POWERLAW, "noise": 0.1},
    "barabasi-noise05": _BARABASI,
    "block-noise05": _BLOCK,
    "block-noise10": {**_BLOCK, "noise": 0.1},
    "partition-noise05": _PARTITION,
}
_HUBS: dict[str, Params] = {
    "powerlaw-large": {**_POWERLAW, "noise": 0.05, "nodes": LARGE},
    "barabasi-large": {**_BARABASI, "nodes": LARGE},
}


@dataclass(frozen=True)
class Stage:
    """Problems that a setting is tried on, with the seeds of each."""

    problems: dict[str, Params]
    seeds: tuple[int, ...]


def _few(problems: dict[str, Params]) -> dict[str, Params]:
    """Return the problems at the size of the first trials, under names of their own."""
    return {f"{name}-few": resized(params, FEW) for name, params in problems.items()}


def resized(params: Params, size: int) -> Params:
    """Return the parameters of a problem with another number of nodes or points."""
    return {**params, "points" if "points" in params else "nodes": size}


STAGES: dict[str, tuple[tuple[Stage, ...], tuple[Stage, ...]]] = {
    "graph": (
        (Stage(_few(SMALL), FIRST), Stage({"powerlaw-large": _HUBS["powerlaw-large"]}, FIRST)),
        (Stage(SMALL, SEEDS), Stage(_HUBS, SEEDS[:2])),
    ),
    "cloud": (
        (Stage(_few({"cloud": _CLOUD}), FIRST),),
        (Stage({"cloud": _CLOUD}, SEEDS),),
    ),
}
"""The first trials, of all settings, and the second, of the best."""

_SCALINGS = (10, 100, 1000)
_STEPS = (100, 300, 1000)
Grid = tuple[tuple[str, tuple[float, ...]], tuple[str, tuple[int, ...]]]


def _grid(name: str, values: tuple[float, ...], other: str, counts: tuple[int, ...]) -> Grid:
    return ((name, values), (other, counts))


_BAPG: dict[str, tuple[float, ...]] = {
    "graph": (0.01, 0.02, 0.04, 0.08),
    "cloud": (0.01, 0.03, 0.1, 0.3),
}
_PROXIMAL = (3e-4, 1e-3, 3e-3, 1e-2)
_TIMES = (2.5, 5.0, 10.0, 20.0)
_SCALES = (0.1, 0.3, 1.0, 3.0)
_SHARES = (0.0, 0.03, 0.1, 0.3)
GRIDS: dict[str, dict[str, Grid]] = {
    "lobcd_gw": {"graph": _grid("sharpness", (80.0, 160.0, 320.0, 640.0), "scalings", _SCALINGS)},
    "pot_bapg": {k: _grid(f"{k}_epsilon", v, f"{k}_iter", _STEPS) for k, v in _BAPG.items()},
    "sparse_bapg": {k: _grid(f"{k}_epsilon", v, f"{k}_steps", _STEPS) for k, v in _BAPG.items()},
    "pot_pgd": {
        "graph": _grid("graph_epsilon", (0.4, 0.6, 0.8, 1.2), "graph_scalings", _SCALINGS),
        "cloud": _grid("cloud_epsilon", _PROXIMAL, "cloud_scalings", _SCALINGS),
    },
    "pot_ppa": {
        "graph": _grid(
            "graph_epsilon", (0.00375, 0.0075, 0.015, 0.03), "graph_scalings", _SCALINGS
        ),
        "cloud": _grid("cloud_epsilon", _PROXIMAL, "cloud_scalings", _SCALINGS),
    },
    "spec_gw": {k: _grid(f"{k}_time", _TIMES, f"{k}_iter", _STEPS) for k in STAGES},
    "pot_lowrank": {k: _grid(f"{k}_scale", _SCALES, f"{k}_rank", (25, 50, 100)) for k in STAGES},
    "pot_sampled": {k: _grid(f"{k}_epsilon", _SHARES, f"{k}_iter", (30, 100, 300)) for k in STAGES},
}
"""Of each entry and kind of costs, its two arguments and what is tried of each."""

WIDTHS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
STARTING = (
    "lobcd_gw",
    "pot_bapg",
    "sparse_bapg",
    "pot_pgd",
    "pot_ppa",
    "spec_gw",
    "pot_cg",
    "sparse_cg",
    "pot_semirelaxed",
    "scipy_faq",
)
"""The entries that take a start; ``bpg_full`` has the settings of ``lobcd_gw``."""


@dataclass(frozen=True)
class Drawing:
    """A context that draws and keeps nothing."""

    seed: int
    problem: str
    device: str = "cpu"
    files: Resolver = field(default_factory=lambda: Resolver(()))

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of the seed, the problem and ``name``."""
        return generator(self.seed, TASK, self.problem, name)

    def log(self, step: int, **values: float) -> None:
        """Keep nothing."""

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say nothing."""


class LimitReachedError(Exception):
    """A trial used up its CPU seconds."""


@dataclass(frozen=True)
class Trial:
    """One setting of one entry on one problem: its share of the product's objective, its cost."""

    entry: str
    setting: str
    problem: str
    seed: int
    share: float
    seconds: float


def problem_of(name: str, params: Params, seed: int) -> Problem:
    """Return what a method sees of an instance; what a scorer sees of it is dropped."""
    recipe = Recipe(TASK, name, "full", params, seed)
    public = task.build(recipe, Drawing(seed, name)).public
    return Problem(TASK, name, "full", public)


def share_of_product(problem: Problem, prediction: Any) -> float:
    """Return a plan's objective over that of the product; 1 for a plan that is not feasible."""
    a, b = spaces.weights(problem.public)
    source, target = spaces.costs(problem.public)
    plan = task.read_coupling(prediction, a.size, b.size)
    if not marginal_gap(plan, a, b) <= task.FEASIBLE:
        return 1.0
    found = rounded_objective(source.matrix, target.matrix, plan, a, b)
    return found / gw_objective(source.matrix, target.matrix, np.outer(a, b))


def attempt(entry: str, problem: Problem, seed: int, config: dict[str, Any]) -> tuple[float, float]:
    """Run once; return the share and the CPU seconds, the limit where these ran out."""
    folder = "methods" if entry == "lobcd_gw" else "baselines"
    method = importlib.import_module(f"podium.{folder}.{entry}.method")
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            prediction = method.run(problem, Drawing(seed, problem.id), **config)
    except LimitReachedError:
        return 1.0, LIMIT
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    seconds = time.process_time() - started
    return share_of_product(problem, prediction), seconds


Table = dict[str, tuple[float, float]]


def means(trials: list[Trial]) -> Table:
    """Return the mean share and the mean seconds of every setting."""
    table = {}
    for setting in dict.fromkeys(t.setting for t in trials):
        own = [t for t in trials if t.setting == setting]
        table[setting] = (
            math.fsum(t.share for t in own) / len(own),
            math.fsum(t.seconds for t in own) / len(own),
        )
    return table


def chosen(table: Table) -> str:
    """Return the setting that the rule picks."""
    lowest = min(share for share, _ in table.values())
    tied = [setting for setting, (share, _) in table.items() if share <= lowest + TIE]
    least = min(table[setting][1] for setting in tied)
    fast = [setting for setting in tied if table[setting][1] <= (1 + SCATTER) * least]
    # Shares that differ by rounding error alone are equal.
    return min(fast, key=lambda setting: round(table[setting][0], 6))


def best(table: Table, count: int) -> list[str]:
    """Return the settings that the rule picks one after the other."""
    left = dict(table)
    found: list[str] = []
    while left and len(found) < count:
        found.append(chosen(left))
        del left[found[-1]]
    return found


def main() -> None:
    """Make the trials and print the mean of every setting, with a star at the one picked."""
    parser = argparse.ArgumentParser(description="Choose settings without the truth.")
    parser.add_argument("--entries", nargs="+", choices=[*GRIDS, *STARTING])
    parser.add_argument("--width", action="store_true", help="try widths of the degree start")
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of the trials")
    options = parser.parse_args()
    signal.signal(signal.SIGPROF, _stop)
    known = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            trial = Trial(**json.loads(line))
            known[trial.entry, trial.setting, trial.problem, trial.seed] = trial
    if options.width:
        _widths(options.entries or STARTING, known, options.out)
        return
    for entry in options.entries or GRIDS:
        for kind, ((name, values), (other, counts)) in GRIDS[entry].items():
            configs = {
                f"{name}={value:g} {other}={count}": {name: value, other: count}
                for value, count in itertools.product(values, counts)
            }
            first, second = STAGES[kind]
            table = means(_stages(entry, first, configs, known, options.out))
            _print(f"{entry}, {kind}, all", table)
            kept = {setting: configs[setting] for setting in best(table, KEPT)}
            trials = _stages(entry, second, kept, known, options.out)
            _print(f"{entry}, {kind}, best", means(trials))


def _widths(entries: tuple[str, ...], known: dict[Any, Trial], out: Path) -> None:
    stage = Stage(SMALL | {"cloud": _CLOUD}, FIRST)
    trials = []
    for entry in entries:
        own = []
        for width in WIDTHS:
            vars(spaces)["_WIDTH"] = width
            configs = {f"width={width:g}": {"start": "degree"}}
            own += _stages(entry, (stage,), configs, known, out)
        _print(f"{entry}, width of the degree start", means(own))
        trials += own
    _print("all, width of the degree start", means(trials))


def _stages(
    entry: str,
    stages: tuple[Stage, ...],
    configs: dict[str, dict[str, Any]],
    known: dict[Any, Trial],
    out: Path,
) -> list[Trial]:
    trials = []
    # The first run loads what the entry imports inside its functions.
    small = resized(next(iter(stages[0].problems.values())), 40)
    warm = False
    cases = [
        (p, x, seed) for stage in stages for p, x in stage.problems.items() for seed in stage.seeds
    ]
    for problem_name, params, seed in cases:
        problem = problem_of(problem_name, params, seed)
        for setting, config in configs.items():
            key = (entry, setting, problem_name, seed)
            if key not in known:
                if not warm:
                    attempt(entry, problem_of("warm", small, seed), seed, config)
                    warm = True
                known[key] = Trial(*key, *attempt(entry, problem, seed, config))
                with out.open("a") as file:
                    file.write(json.dumps(vars(known[key])) + "\n")
            trials.append(known[key])
    return trials


def _print(title: str, table: Table) -> None:
    picked = chosen(table)
    cells = (
        f"{setting}{'*' if setting == picked else ''}: {share:.4f} ({seconds:.2f} s)"
        for setting, (share, seconds) in table.items()
    )
    print(title, *cells, sep="\t", flush=True)


def _stop(number: int, frame: FrameType | None) -> None:
    raise LimitReachedError(number, frame)


if __name__ == "__main__":
    main()
