"""Choose the settings of the trained entries of GCD accuracy from labelled samples alone.

Every trained entry gets the same eight trials: four learning rates times two values of a second
setting, the weight of the mean entropy for entries with a classifier, the share of tokens kept in a
view for those that end in k-means. A trial is a smaller discovery problem made of the LABELLED
samples of a problem whose seed no claim uses: half of the old classes, drawn at random, stay old
with half of their labels; all other labels are hidden. Its measure is the accuracy on all samples
without a label, by one assignment; a setting is judged by the mean over seeds, and the lowest
learning rate, then the lower second value, wins among equals. The problem is the generated one: the
real sets are the same samples for every seed, so a label used here would be hidden in a run that
counts. The training is as long as on the task itself. Run by hand::

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
from drawing import Drawing

from podium.contracts import Array, Problem, Recipe
from podium.metrics.discovery import accuracies
from podium.registry.code import load_function, load_module
from podium.registry.registry import Registry, load_registry
from podium.runner.context import RunBuildContext
from podium.seeding import generator

TASK = "gcd_accuracy"
PROBLEMS = ("parts-composition",)
SEEDS = (1000, 1001)
EPOCHS = 1_000_000
"""So many that the largest number of steps decides, as on the task's problems of this kind."""

RATES = (0.003, 0.01, 0.03, 0.1)
CLASSIFIER, KMEANS = ("entropy_weight", (1.0, 4.0)), ("keep", (0.75, 1.0))
ENTRIES = {
    "cpf_gcd": CLASSIFIER,
    "simgcd": CLASSIFIER,
    "token_mlp": CLASSIFIER,
    "legogcd": CLASSIFIER,
    "slot_attention": CLASSIFIER,
    "cpf_kmeans": KMEANS,
    "token_mlp_kmeans": KMEANS,
}


@dataclass(frozen=True)
class Trial:
    """One setting of one entry on one problem: its accuracy on all, its CPU seconds."""

    entry: str
    learning_rate: float
    second: float
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
    """Return the learning rate and the second setting that the rule picks."""
    settings = sorted({(t.learning_rate, t.second) for t in trials})
    return max(settings, key=lambda s: round(mean_accuracy(trials, *s), 6))


def mean_accuracy(trials: list[Trial], learning_rate: float, second: float) -> float:
    """Return the mean over problems and seeds of one setting."""
    own = [t.accuracy for t in trials if (t.learning_rate, t.second) == (learning_rate, second)]
    return float(np.mean(own))


def main() -> None:
    """Make the trials and print the means of every setting, with a star at the one picked."""
    parser = argparse.ArgumentParser(description="Choose settings from labelled samples.")
    parser.add_argument("--entries", nargs="+", choices=list(ENTRIES), default=list(ENTRIES))
    parser.add_argument("--out", type=Path, required=True, help="JSON lines of the trials")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known: dict[tuple[Any, ...], Trial] = {}
    if options.out.exists():
        for line in options.out.read_text().splitlines():
            trial = Trial(**json.loads(line))
            known[trial.entry, trial.learning_rate, trial.second, trial.problem, trial.seed] = trial
    registry = load_registry(plugins=False)
    for seed, name, entry, rate in itertools.product(SEEDS, PROBLEMS, options.entries, RATES):
        setting, values = ENTRIES[entry]
        for value in values:
            key = (entry, rate, value, name, seed)
            if key in known:
                continue
            pseudo = pseudo_problem(registry, name, seed)
            config = {"learning_rate": rate, "epochs": EPOCHS, setting: value}
            known[key] = Trial(*key, *attempt(registry, entry, pseudo, seed, **config))
            with options.out.open("a") as file:
                file.write(json.dumps(vars(known[key])) + "\n")
    for entry in options.entries:
        report(entry, [t for t in known.values() if t.entry == entry])


def report(entry: str, trials: list[Trial]) -> None:
    """Print one line a setting: its mean accuracy, that on each problem, the CPU seconds."""
    setting, values = ENTRIES[entry]
    best = chosen(trials)
    for rate, value in itertools.product(RATES, values):
        own = [t for t in trials if (t.learning_rate, t.second) == (rate, value)]
        by_problem = (
            float(np.mean([t.accuracy for t in own if t.problem == name])) for name in PROBLEMS
        )
        print(
            f"{entry}{'*' if (rate, value) == best else ''}\t{rate:g}\t{setting} {value:g}",
            f"{mean_accuracy(trials, rate, value):.3f}",
            *(f"{accuracy:.3f}" for accuracy in by_problem),
            f"{np.mean([t.seconds for t in own]):.1f} s",
            sep="\t",
        )


if __name__ == "__main__":
    main()
