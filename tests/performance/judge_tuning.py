"""Choose the settings of the trained judges on a part of the train items.

Every trained entry gets the same six trials: three learning rates times two values of ``dropout``.
A trial sees three quarters of the train items of a problem, drawn at random, of a seed that no
claim uses, and is judged by Pearson's correlation of its scores with the ratings of the other
quarter, averaged over problems and seeds. The items that the task asks about are not looked at.
Run by hand::

    OMP_NUM_THREADS=1 python tests/performance/judge_tuning.py --out trials.jsonl

Trials that the file holds are not repeated.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from drawing import Drawing

from podium.contracts import Array, Problem, Recipe
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK = "judge_correlation"
PROBLEMS = ("synthetic-grader", "hutto-movie")
SEEDS = (1000,)
RATES = (0.0003, 0.001, 0.003)
DROPOUTS = (0.0, 0.2)
ENTRIES = ("real", "real_released", "binary_rl", "tract", "raft", "sft_cross_entropy")
PER_ITEM = ("texts", "scores", "features", "lengths", "embeddings", "reasoning")
"""What a train item has; the names begin with ``train_``."""


@dataclass(frozen=True)
class Trial:
    """One setting of one entry on one problem: its correlation, its error, its CPU seconds."""

    entry: str
    learning_rate: float
    dropout: float
    problem: str
    seed: int
    pearson: float
    rmse: float
    seconds: float


@dataclass(frozen=True)
class Held:
    """A problem that asks about a quarter of the train items, and their ratings."""

    problem: Problem
    ratings: Array


def held(registry: Registry, name: str, seed: int) -> Held:
    """Build a problem and replace what it asks about by a quarter of its train items."""
    task = registry.task(TASK)
    recipe = Recipe(TASK, name, "small", task.spec.problem(name).params, seed)
    build = load_module(task.at, task.spec.module).build
    return split(build(recipe, RunBuildContext(recipe, task.spec.files)).public, name, seed)


def split(public: Any, name: str, seed: int) -> Held:
    """Give three quarters of the train items to the judge, and ask about the others."""
    count = len(public["train_scores"])
    order = generator(seed, "tuning", name, "split").permutation(count)
    asked, known = order[: count // 4], order[count // 4 :]
    arrays = {"rubric": public["rubric"], "levels": public["levels"]}
    for kind in PER_ITEM:
        if f"train_{kind}" in public:
            arrays[f"train_{kind}"] = public[f"train_{kind}"][known]
            if kind not in ("scores", "reasoning"):
                arrays[kind] = public[f"train_{kind}"][asked]
    arrays["ids"] = np.array([str(row) for row in asked])
    return Held(Problem(TASK, name, "small", arrays), public["train_scores"][asked])


def attempt(registry: Registry, entry: str, given: Held, seed: int, **config: Any) -> Any:
    """Run once; return the correlation, the root mean squared error and the CPU seconds."""
    found = registry.entry(entry)
    method = load_function(found.at, found.spec.file.function)
    started = time.process_time()
    context = Drawing(seed, given.problem.id)
    scores = method(given.problem, context, **{**found.spec.config, **config})["scores"]
    seconds = time.process_time() - started
    rmse = float(np.sqrt(np.mean(np.square(scores - given.ratings))))
    return float(np.corrcoef(scores, given.ratings)[0, 1]), rmse, seconds


def chosen(trials: list[Trial]) -> tuple[float, float]:
    """Return the learning rate and the dropout of the highest mean correlation."""
    settings = sorted({(t.learning_rate, t.dropout) for t in trials})
    return max(settings, key=lambda s: mean_pearson(trials, *s))


def mean_pearson(trials: list[Trial], learning_rate: float, dropout: float) -> float:
    """Return the mean over problems and seeds of one setting."""
    own = [t.pearson for t in trials if (t.learning_rate, t.dropout) == (learning_rate, dropout)]
    return float(np.mean(own))


def main() -> None:
    """Make the trials and print the means of every setting, with a star at the one picked."""
    parser = argparse.ArgumentParser(description="Choose settings on a part of the train items.")
    parser.add_argument("--entries", nargs="+", choices=list(ENTRIES), default=list(ENTRIES))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of the trials")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known: dict[tuple[Any, ...], Trial] = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            trial = Trial(**json.loads(line))
            known[trial.entry, trial.learning_rate, trial.dropout, trial.problem, trial.seed] = (
                trial
            )
    registry = load_registry(plugins=False)
    for seed, name in itertools.product(SEEDS, options.problems):
        given = held(registry, name, seed)
        for entry, rate, dropout in itertools.product(options.entries, RATES, DROPOUTS):
            key = (entry, rate, dropout, name, seed)
            if key in known:
                continue
            config = {"learning_rate": rate, "dropout": dropout}
            known[key] = Trial(*key, *attempt(registry, entry, given, seed, **config))
            with options.out.open("a") as file:
                file.write(json.dumps(vars(known[key])) + "\n")
    for entry in options.entries:
        report(entry, [t for t in known.values() if t.entry == entry], options.problems)


def report(entry: str, trials: list[Trial], problems: list[str]) -> None:
    """Print one line a setting: its mean correlation, that on each problem, the CPU seconds."""
    best = chosen(trials)
    for rate, dropout in itertools.product(RATES, DROPOUTS):
        own = [t for t in trials if (t.learning_rate, t.dropout) == (rate, dropout)]
        each = (float(np.mean([t.pearson for t in own if t.problem == name])) for name in problems)
        print(
            f"{entry}{'*' if (rate, dropout) == best else ''}\t{rate:g}\tdropout {dropout:g}",
            f"{mean_pearson(trials, rate, dropout):.4f}",
            *(f"{value:.4f}" for value in each),
            f"{np.mean([t.seconds for t in own]):.1f} s",
            sep="\t",
        )


if __name__ == "__main__":
    main()
