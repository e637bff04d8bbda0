"""Choose the settings of the entries of GW alignment without the truth.

Every entry that has a setting gets the same six trials of it on graphs and six on clouds, on
problems of seeds that no claim uses. A setting is judged by the mean Gromov-Wasserstein objective,
on the costs as given, of the plan it returns after rounding to exact marginals, as a share of the
objective of the product of the weights. A plan that the scorer would refuse, or that took longer
than the limit, counts as the product: 1. Settings within ``TIE`` of the lowest share are tied, and
the tie goes to the one of least CPU seconds; seconds within ``SCATTER`` of these count as equal,
and then the lower share decides. Which node is which is never looked at. The width of
the degree start is one value for all entries, chosen in the same way. Run by hand::

    OMP_NUM_THREADS=1 python tests/performance/gw_tuning.py --out trials.jsonl
    OMP_NUM_THREADS=1 python tests/performance/gw_tuning.py --width --out trials.jsonl

Trials that the file holds are not repeated.
"""

from __future__ import annotations

import argparse
import importlib
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
from podium.seeding import generator
from podium.transport import costs as spaces
from podium.transport.marginals import round_to_marginals

TASK = "gw_alignment"
SEEDS = (1000, 1001, 1002, 1003, 1004)
TIE = 1e-3
SCATTER = 0.05
LIMIT = 30.0
"""CPU seconds of a trial."""
NODES = 400
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
    "partition-noise05": _PARTITION,
}
# One large graph is enough to see a setting that only small ones can bear.
PROBLEMS: dict[str, dict[str, Params]] = {
    "graph": {
        **SMALL,
        "powerlaw-large": {**_POWERLAW, "noise": 0.05, "nodes": LARGE},
    },
    "cloud": {"cloud": _CLOUD},
}
_LONG = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)
_SHORT = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
_WIDE = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_TIMES = (1.0, 2.5, 5.0, 10.0, 20.0, 40.0)
_SCALES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_SHARES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
GRIDS: dict[str, dict[str, tuple[str, tuple[float, ...]]]] = {
    "lobcd_gw": {"graph": ("sharpness", (20.0, 40.0, 80.0, 160.0, 320.0, 640.0))},
    "pot_bapg": {"graph": ("graph_epsilon", _LONG), "cloud": ("cloud_epsilon", _WIDE)},
    "sparse_bapg": {"graph": ("graph_epsilon", _LONG), "cloud": ("cloud_epsilon", _WIDE)},
    "pot_pgd": {
        "graph": ("graph_epsilon", (0.025, 0.05, 0.1, 0.2, 0.4, 0.8)),
        "cloud": ("cloud_epsilon", _SHORT),
    },
    "pot_ppa": {
        "graph": ("graph_epsilon", (0.0075, 0.015, 0.03, 0.06, 0.12, 0.24)),
        "cloud": ("cloud_epsilon", _SHORT),
    },
    "spec_gw": {"graph": ("graph_time", _TIMES), "cloud": ("cloud_time", _TIMES)},
    "pot_lowrank": {"graph": ("graph_scale", _SCALES), "cloud": ("cloud_scale", _SCALES)},
    "pot_sampled": {"graph": ("graph_epsilon", _SHARES), "cloud": ("cloud_epsilon", _SHARES)},
}
"""Of each entry and kind of costs, its one setting and what is tried."""

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
    name: str
    value: float
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
    found = task.read_coupling(prediction, a.size, b.size)
    plan = found if isinstance(found, np.ndarray) else found.toarray()
    if not np.isfinite(plan).all() or not marginal_gap(plan, a, b) <= task.FEASIBLE:
        return 1.0
    rounded = round_to_marginals(plan, a, b)
    lowest, product = (
        gw_objective(source.matrix, target.matrix, x) for x in (rounded, np.outer(a, b))
    )
    return lowest / product


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


def chosen(trials: list[Trial]) -> tuple[float, dict[float, tuple[float, float]]]:
    """Return the value that the rule picks, and mean share and mean seconds of every value."""
    table = {}
    for value in sorted({t.value for t in trials}):
        own = [t for t in trials if t.value == value]
        table[value] = (
            math.fsum(t.share for t in own) / len(own),
            math.fsum(t.seconds for t in own) / len(own),
        )
    lowest = min(share for share, _ in table.values())
    tied = [value for value, (share, _) in table.items() if share <= lowest + TIE]
    least = min(table[value][1] for value in tied)
    fast = [value for value in tied if table[value][1] <= (1 + SCATTER) * least]
    # Shares that differ by rounding error alone are equal.
    return min(fast, key=lambda value: (round(table[value][0], 6), value)), table


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
            known[trial.entry, trial.name, trial.value, trial.problem, trial.seed] = trial
    if options.width:
        _widths(options.entries or STARTING, known, options.out)
        return
    for entry in options.entries or GRIDS:
        for kind, (name, values) in GRIDS[entry].items():
            configs = [(value, {name: value}) for value in values]
            trials = _trials(entry, name, PROBLEMS[kind], SEEDS, configs, known, options.out)
            _print(f"{entry}, {name}", trials)


def _widths(entries: tuple[str, ...], known: dict[Any, Trial], out: Path) -> None:
    problems = SMALL | PROBLEMS["cloud"]
    trials = []
    for entry in entries:
        own = []
        for width in WIDTHS:
            vars(spaces)["_WIDTH"] = width
            configs = [(width, {"start": "degree"})]
            own += _trials(entry, "width", problems, SEEDS[:1], configs, known, out)
        _print(f"{entry}, width of the degree start", own)
        trials += own
    _print("all, width of the degree start", trials)


def _trials(
    entry: str,
    name: str,
    problems: dict[str, Params],
    seeds: tuple[int, ...],
    configs: list[tuple[float, dict[str, Any]]],
    known: dict[Any, Trial],
    out: Path,
) -> list[Trial]:
    trials = []
    # The first run loads what the entry imports inside its functions.
    first = _small(next(iter(problems.values())))
    warm = False
    for problem_name, params in problems.items():
        for seed in seeds[:1] if params.get("nodes") == LARGE else seeds:
            problem = problem_of(problem_name, params, seed)
            for value, config in configs:
                key = (entry, name, value, problem_name, seed)
                if key not in known:
                    if not warm:
                        attempt(entry, problem_of("warm", first, seed), seed, config)
                        warm = True
                    share, seconds = attempt(entry, problem, seed, config)
                    known[key] = Trial(*key, share, seconds)
                    with out.open("a") as file:
                        file.write(json.dumps(vars(known[key])) + "\n")
                trials.append(known[key])
    return trials


def _small(params: Params) -> Params:
    size = "points" if "points" in params else "nodes"
    return {**params, size: 40}


def _print(title: str, trials: list[Trial]) -> None:
    best, table = chosen(trials)
    cells = (
        f"{value:g}{'*' if value == best else ''}: {share:.4f} ({seconds:.2f} s)"
        for value, (share, seconds) in table.items()
    )
    print(title, *cells, sep="\t", flush=True)


def _stop(number: int, frame: FrameType | None) -> None:
    raise LimitReachedError(number, frame)


if __name__ == "__main__":
    main()
