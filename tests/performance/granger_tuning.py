"""Choose the training settings of the neural entries of Granger recovery on held-out error alone.

Every entry gets the same grid and the same budget: seeds that no claim uses, two simulated
problems, and the mean of the logarithm of the held-out error that training itself reports. The
true graph and the scores are never looked at. Run by hand::

    python tests/performance/granger_tuning.py --store FOLDER
"""

from __future__ import annotations

import argparse
import itertools
import math
from pathlib import Path

from podium.cli.run import carry_out
from podium.plan.planner import Request, plan
from podium.registry.registry import load_registry
from podium.store.record import Record
from podium.store.store import Store

ENTRIES = (
    "info_shap",
    "info_shap_fast",
    "jacobian_l1",
    "jacobian_frobenius",
    "unregularised",
    "cmlp",
)
PROBLEMS = ("lorenz96-d10-f10", "var3-d10")
SEEDS = (100, 101)
RATES = (0.005, 0.01)
SCALES = (1.0, 0.3, 0.1)


def held_out_error(record: Record) -> float:
    """Return the error on held-out rows of the penalty and step that training chose."""
    losses = [v for v in record.curves.get("best_validation_loss", ()) if v is not None]
    if record.status != "ok" or not losses:
        raise SystemExit(f"{record.entry} on {record.problem}: {record.status}: {record.reason}")
    return losses[-1]


def main() -> None:
    """Run the grid and print the mean log held-out error of every setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--jobs", type=int)
    options = parser.parse_args()
    registry = load_registry()
    store = Store(options.store)
    specs = []
    for rate, scale in itertools.product(RATES, SCALES):
        request = Request(
            tasks=("granger_recovery",),
            entries=ENTRIES,
            problems=PROBLEMS,
            seeds=SEEDS,
            assignments=(f"learning_rate={rate}", f"first_scale={scale}"),
        )
        specs += [((rate, scale), spec) for spec in plan(registry, request)]
    known = {r.key: r for r in store.records("granger_recovery") if r.status == "ok"}
    todo = [spec for _, spec in specs if spec.key not in known]
    if todo:
        fresh = carry_out(todo, registry, store, jobs=options.jobs)
        known |= {r.key: r for r in fresh}
    settings = list(itertools.product(RATES, SCALES))
    print("mean log held-out error", *(f"rate={r} scale={s}" for r, s in settings), sep="\t")
    for entry in ENTRIES:
        means = {}
        for setting in settings:
            errors = [
                math.log(held_out_error(known[spec.key]))
                for at, spec in specs
                if at == setting and spec.entry_id == entry
            ]
            means[setting] = sum(errors) / len(errors)
        best = min(means, key=lambda setting: means[setting])
        cells = (f"{means[s]:.3f}{'*' if s == best else ''}" for s in settings)
        print(entry, *cells, sep="\t")


if __name__ == "__main__":
    main()
