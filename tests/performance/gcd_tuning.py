"""Choose the settings of the trained entries of GCD accuracy from labelled samples alone.

Every trained entry gets the same six trials: three learning rates times two shares of tokens kept
in a view. A trial is a smaller discovery problem made of the LABELLED samples of a problem whose
seed no claim uses: half of the old classes, drawn at random, stay old with half of their labels;
all other labels are hidden. Its measure is the accuracy on all samples without a label, by one
assignment; a setting is judged by the mean over problems and seeds, and the lowest learning rate,
then the larger share, wins among equals. No unlabelled sample and no hidden class of the task is
ever read. Run by hand::

    OMP_NUM_THREADS=1 python tests/performance/gcd_tuning.py --out trials.jsonl

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

from podium.contracts import Array, Problem, Recipe
from podium.metrics.discovery import accuracies
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK = "gcd_accuracy"
PROBLEMS = ("parts-composition", "digits")
SEEDS = (1000, 1001)
RATES = (0.003, 0.01, 0.03)
KEPT = (1.0, 0.75)
ENTRIES = (
    "cpf_gcd",
    "simgcd",
    "token_mlp",
    "legogcd",
    "slot_attention",
    "cpf_kmeans",
    "token_mlp_kmeans",
)


@dataclass(frozen=True)
class Drawing:
    """A context that draws and keeps nothing."""

    seed: int
    problem: str
    device: str = "cpu"

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator of the seed, the problem and ``name``."""
        return generator(self.seed, "tuning", self.problem, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        """Return a torch generator drawn in the same way."""
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        """Keep nothing."""

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Trial:
    """One setting of one entry on one problem: its accuracy on all, its CPU seconds."""

    entry: str
    learning_rate: float
    keep: float
    problem: str
    seed: int
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class Pseudo:
    """A discovery problem made of labelled samples, and its hidden classes."""

    problem: Problem
    truth: Array
    old: int


def pseudo_problem(registry: Registry, name: str, seed: int) -> Pseudo:
    """Make a problem of the labelled samples of ``name``; everything else of it is dropped."""
    task = registry.task(TASK)
    recipe = Recipe(TASK, name, "small", task.spec.problem(name).params, seed)
    build = load_module(task.at, task.spec.module).build
    public = build(recipe, RunBuildContext(recipe, task.spec.files)).public
    return hide_labels(public, name, generator(seed, "tuning", name, "split"))


def hide_labels(public: Any, name: str, rng: np.random.Generator) -> Pseudo:
    """Hide half of the labelled classes, and half of the labels of the others."""
    tokens, labels = public["labelled_tokens"], public["labels"]
    classes = int(labels.max()) + 1
    old = classes // 2
    # rank[c]: the new number of class c, so that the classes that stay known come first.
    rank = np.empty(classes, np.int64)
    rank[rng.permutation(classes)] = np.arange(classes)
    truth = rank[labels]
    known = np.zeros(len(truth), bool)
    for label in range(old):
        members = rng.permutation(np.flatnonzero(truth == label))
        known[members[: max(1, len(members) // 2)]] = True
    arrays = {
        "labelled_tokens": tokens[known],
        "labels": truth[known],
        "unlabelled_tokens": tokens[~known],
        "grid": public["grid"],
        "classes": np.array([classes]),
    }
    return Pseudo(Problem(TASK, f"pseudo-{name}", "small", arrays), truth[~known], old)


def attempt(registry: Registry, entry: str, pseudo: Pseudo, seed: int, **config: float) -> Any:
    """Run once; return the accuracy on all and the CPU seconds."""
    found = registry.entry(entry)
    method = load_function(found.at, found.spec.file.function)
    started = time.process_time()
    context = Drawing(seed, pseudo.problem.id)
    prediction = method(pseudo.problem, context, **{**found.spec.config, **config})
    seconds = time.process_time() - started
    return accuracies(prediction["clusters"], pseudo.truth, pseudo.old).all, seconds


def chosen(trials: list[Trial]) -> tuple[float, float]:
    """Return the learning rate and the share kept that the rule picks."""
    settings = [(rate, -keep) for rate, keep in itertools.product(RATES, KEPT)]
    best = max(settings, key=lambda s: round(mean_accuracy(trials, s[0], -s[1]), 6))
    return best[0], -best[1]


def mean_accuracy(trials: list[Trial], learning_rate: float, keep: float) -> float:
    """Return the mean over problems and seeds of one setting."""
    own = [t.accuracy for t in trials if (t.learning_rate, t.keep) == (learning_rate, keep)]
    return float(np.mean(own))


def main() -> None:
    """Make the trials and print the means of every setting, with a star at the one picked."""
    parser = argparse.ArgumentParser(description="Choose settings from labelled samples.")
    parser.add_argument("--entries", nargs="+", choices=ENTRIES, default=ENTRIES)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of the trials")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known: dict[tuple[Any, ...], Trial] = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            trial = Trial(**json.loads(line))
            known[trial.entry, trial.learning_rate, trial.keep, trial.problem, trial.seed] = trial
    registry = load_registry(plugins=False)
    grid = itertools.product(SEEDS, PROBLEMS, options.entries, RATES, KEPT)
    for seed, name, entry, rate, keep in grid:
        key = (entry, rate, keep, name, seed)
        if key in known:
            continue
        pseudo = pseudo_problem(registry, name, seed)
        reached = attempt(registry, entry, pseudo, seed, learning_rate=rate, keep=keep)
        known[key] = Trial(*key, *reached)
        with options.out.open("a") as file:
            file.write(json.dumps(vars(known[key])) + "\n")
    for entry in options.entries:
        trials = [t for t in known.values() if t.entry == entry]
        best = chosen(trials)
        for rate, keep in itertools.product(RATES, KEPT):
            own = [t for t in trials if (t.learning_rate, t.keep) == (rate, keep)]
            by_problem = (
                float(np.mean([t.accuracy for t in own if t.problem == name])) for name in PROBLEMS
            )
            print(
                f"{entry}{'*' if (rate, keep) == best else ''}\t{rate:g}\t{keep:g}",
                f"{mean_accuracy(trials, rate, keep):.3f}",
                *(f"{value:.3f}" for value in by_problem),
                f"{np.mean([t.seconds for t in own]):.1f} s",
                sep="\t",
            )


if __name__ == "__main__":
    main()
