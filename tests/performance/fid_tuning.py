"""Choose the settings of the trained entries of FID-50K on a half of the reward split.

Every trained entry gets the same six trials: three learning rates times two values of a second
setting. For a trial the reward split is halved by class: an entry is given one half as its reward
split, and is judged by the Fréchet distance of its samples to the other half under the reward's
map, over that of the base generator's samples; a setting is judged by the mean over problems and
seeds. The held-out split and the scorer's map are not looked at, and no claim uses these seeds. The
share of the other half covered by the samples, under the reward's map too, is printed but chooses
nothing. Run by hand::

    OMP_NUM_THREADS=1 python tests/performance/fid_tuning.py --out trials.jsonl

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

from podium.contracts import Array, Arrays, Problem, Recipe
from podium.generation.problem import read_problem
from podium.metrics.frechet import frechet_of_features
from podium.metrics.neighbours import density_coverage
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK = "fid_50k"
PROBLEMS = ("mixture-8d", "digits-8")
SEEDS = (1000,)
RATES = (3e-5, 1e-4, 3e-4)
MERGE_RATES = (1e-3, 3e-3, 1e-2)
ENTRIES: dict[str, tuple[tuple[float, ...], str, tuple[Any, ...]]] = {
    "distribution_reward": (RATES, "order", ("signed", "absolute")),
    "sample_reward": (RATES, "order", ("signed", "absolute")),
    "reward_sampling": (RATES, "updates", (50, 100)),
    "frechet_backprop": (RATES, "queue", (3, 7)),
    "rl_ema_merge": (MERGE_RATES, "spread", (0.1, 0.2)),
}
"""The learning rates of each entry, its second setting, and that one's values."""


@dataclass(frozen=True)
class Trial:
    """One setting of one entry on one problem: distance over the base's, coverage, CPU seconds."""

    entry: str
    learning_rate: float
    second: Any
    problem: str
    seed: int
    relative: float
    coverage: float
    seconds: float


@dataclass(frozen=True)
class Halved:
    """A problem whose reward split is a half of the real one, and the other half's pictures."""

    problem: Problem
    other: Array


def halved(registry: Registry, name: str, seed: int) -> Halved:
    """Build a problem and take a half of every class out of its reward split."""
    task = registry.task(TASK)
    recipe = Recipe(TASK, name, "small", task.spec.problem(name).params, seed)
    build = load_module(task.at, task.spec.module).build
    public: Arrays = build(recipe, RunBuildContext(recipe, task.spec.files)).public
    labels, rng = public["reward_labels"], generator(seed, "tuning", name, "halves")
    kept = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        kept[rows[: -(-len(rows) // 2)]] = True
    images = public["reward_images"]
    fewer = {"reward_images": images[kept], "reward_labels": labels[kept]}
    return Halved(Problem(TASK, name, "small", {**public, **fewer}), images[~kept])


def attempt(
    registry: Registry, entry: str, given: Halved, seed: int, **config: Any
) -> tuple[float, float, float]:
    """Run once; return the Fréchet distance to the other half, the coverage, the CPU seconds."""
    found = registry.entry(entry)
    method = load_function(found.at, found.spec.file.function)
    started = time.process_time()
    context = Drawing(seed, given.problem.id)
    prediction = method(given.problem, context, **{**found.spec.config, **config})
    seconds = time.process_time() - started
    generation = read_problem(given.problem)
    real = generation.reward_features(given.other)
    fake = generation.reward_features(prediction["samples"])
    covered = density_coverage(real, fake[: len(real)])[1]
    return frechet_of_features(fake, real), covered, seconds


def chosen(trials: list[Trial]) -> tuple[float, Any]:
    """Return the learning rate and the second setting of the lowest mean distance."""
    settings = {(t.learning_rate, t.second): None for t in trials}
    return min(settings, key=lambda s: mean_distance(trials, *s))


def mean_distance(trials: list[Trial], learning_rate: float, second: Any) -> float:
    """Return the mean over problems and seeds of one setting."""
    own = [t.relative for t in trials if (t.learning_rate, t.second) == (learning_rate, second)]
    return float(np.mean(own))


def main() -> None:
    """Make the trials and print the means of every setting, with a star at the one picked."""
    parser = argparse.ArgumentParser(description="Choose settings on half of the reward split.")
    parser.add_argument("--entries", nargs="+", choices=list(ENTRIES), default=list(ENTRIES))
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of the trials")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known: dict[tuple[Any, ...], Trial] = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            trial = Trial(**json.loads(line))
            known[trial.entry, trial.learning_rate, trial.second, trial.problem, trial.seed] = trial
    registry = load_registry(plugins=False)
    for seed, name in itertools.product(SEEDS, options.problems):
        given = halved(registry, name, seed)
        base = attempt(registry, "base_generator", given, seed)[0]
        for entry in options.entries:
            rates, setting, values = ENTRIES[entry]
            for rate, value in itertools.product(rates, values):
                key = (entry, rate, value, name, seed)
                if key in known:
                    continue
                config = {"learning_rate": rate, setting: value}
                distance, *others = attempt(registry, entry, given, seed, **config)
                known[key] = Trial(*key, distance / base, *others)
                with options.out.open("a") as file:
                    file.write(json.dumps(vars(known[key])) + "\n")
    for entry in options.entries:
        report(entry, [t for t in known.values() if t.entry == entry])


def report(entry: str, trials: list[Trial]) -> None:
    """Print one line a setting: its mean distance, that on each problem, coverage, CPU seconds."""
    setting = ENTRIES[entry][1]
    best = chosen(trials)
    for rate, value in {(t.learning_rate, t.second): None for t in trials}:
        own = [t for t in trials if (t.learning_rate, t.second) == (rate, value)]
        print(
            f"{entry}{'*' if (rate, value) == best else ''}\t{rate:g}\t{setting} {value}",
            f"{mean_distance(trials, rate, value):.3f}",
            *(f"{t.problem} {t.relative:.3f} (coverage {t.coverage:.3f})" for t in own),
            f"{np.mean([t.seconds for t in own]):.1f} s",
            sep="\t",
        )


if __name__ == "__main__":
    main()
