"""Time, accuracy and memory of Gromov-Wasserstein solvers against the number of nodes.

Run by hand, on an idle machine:

    OMP_NUM_THREADS=1 python tests/performance/gw_scaling.py --sizes 500 1000 2000
    python tests/performance/gw_scaling.py --store FOLDER

The second prints the exponents of the records of a store, and measures nothing. In the first, each
run is a process of its own, on one thread, timed by its CPU seconds, and every solver gets the same
instances: a random graph, and a copy with a share of its edges rewired and its nodes permuted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from podium.benchmarks.gw_alignment import generate
from podium.contracts import Problem
from podium.metrics.alignment import marginal_gap
from podium.store.newest import newest
from podium.store.record import Record
from podium.store.store import Store

SOLVERS = {
    "lobcd_gw": "podium.methods.lobcd_gw.method",
    "bpg_full": "podium.baselines.bpg_full.method",
    "sparse_bapg": "podium.baselines.sparse_bapg.method",
    "sparse_cg": "podium.baselines.sparse_cg.method",
    "pot_bapg": "podium.baselines.pot_bapg.method",
    "pot_pgd": "podium.baselines.pot_pgd.method",
    "pot_cg": "podium.baselines.pot_cg.method",
    "scipy_faq": "podium.baselines.scipy_faq.method",
}
FAMILIES = ("ba", "plc", "sbm", "cloud")
# What a process holds before it works shows in the records of the smallest problem of all.
BASE = "powerlaw-200-noise05"


@dataclass(frozen=True)
class Quiet:
    """A context that only says where to run."""

    device: str = "cpu"

    def log(self, step: int, **values: float) -> None:
        """Keep nothing."""

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say nothing."""


def instance(family: str, nodes: int, noise: float, seed: int) -> tuple[Problem, Any]:
    """Return a problem of the task's form, and the target node of each source node."""
    rng = np.random.default_rng([seed, nodes])
    order = rng.permutation(nodes)
    truth = np.argsort(order)
    mass = np.full(nodes, 1.0 / nodes)
    public: dict[str, Any] = {"source_weights": mass, "target_weights": mass}
    if family == "cloud":
        points = generate.cloud(nodes, 4, 3, rng)
        cost = generate.distances(points)
        turned = generate.distances((points @ generate.rotation(3, rng))[order])
        public["source_cost"] = cost / cost.max()
        public["target_cost"] = turned / turned.max()
        return Problem("gw_alignment", family, "full", public), truth
    if family == "ba":
        graph = generate.barabasi_albert(nodes, 3, rng)
    elif family == "plc":
        graph = generate.powerlaw_cluster(nodes, 3, 0.3, rng)
    else:
        graph = generate.block_model(nodes, 5, inside=12.0, outside=1.6, rng=rng)
    other = generate.relabelled(generate.with_noise(graph, noise, rng), order)
    for side, matrix in (("source", graph), ("target", other)):
        public[f"{side}_data"] = matrix.data
        public[f"{side}_indices"] = matrix.indices.astype(np.int64)
        public[f"{side}_indptr"] = matrix.indptr.astype(np.int64)
    return Problem("gw_alignment", family, "full", public), truth


def measure(solver: str, family: str, nodes: int, noise: float, seed: int, sink: Any) -> None:
    """Solve one instance in this process and send what it took."""
    method = importlib.import_module(SOLVERS[solver])
    problem, truth = instance(family, nodes, noise, seed)
    # A first, small run loads what the solver imports inside its functions.
    method.run(instance(family, 30, noise, seed)[0], Quiet())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    prediction = method.run(problem, Quiet())
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if "coupling" in prediction:
        plan = np.asarray(prediction["coupling"])
    else:
        plan = np.zeros((nodes, nodes))
        plan[prediction["rows"], prediction["columns"]] = prediction["values"]
    mass = problem.public["source_weights"]
    sink.send(
        {
            "family": family,
            "nodes": nodes,
            "noise": noise,
            "seed": seed,
            "solver": solver,
            "correct": float((plan.argmax(axis=1) == truth).mean()),
            "seconds": seconds,
            "gap": marginal_gap(plan, mass, mass),
            "mib": (peak - before) / 1024,
        }
    )


def main() -> None:
    """Measure, and print one line for each solver and size, then exponents and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES[:3]))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.05])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--limit", type=float, default=300.0, help="wall seconds of one run")
    parser.add_argument("--out", type=Path, help="append the results to this file, as JSON lines")
    parser.add_argument("--store", type=Path, help="print the exponents of these records only")
    options = parser.parse_args()
    if options.store is not None:
        _print_recorded(newest(Store(options.store).records("gw_alignment")))
        return
    results: list[dict[str, Any]] = []
    for noise in options.noise:
        for family in options.families:
            for nodes in options.sizes:
                for solver in options.solvers:
                    runs = [
                        _isolated(solver, family, nodes, noise, seed, limit=options.limit)
                        for seed in range(options.seeds)
                    ]
                    done = [run for run in runs if run is not None]
                    results += done
                    if options.out is not None:
                        with options.out.open("a") as file:
                            file.writelines(json.dumps(run) + "\n" for run in done)
                    print(_line(family, nodes, noise, solver, done, options.seeds), flush=True)
    _print_exponents(results)
    _print_ratios(results)


def _isolated(
    solver: str, family: str, nodes: int, noise: float, seed: int, *, limit: float
) -> dict[str, Any] | None:
    """Run in a new process; None where it takes longer than ``limit`` or fails."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(solver, family, nodes, noise, seed, sender))
    child.start()
    sender.close()
    result = None
    try:
        if receiver.poll(limit):
            result = receiver.recv()
    except EOFError:
        print(f"{solver} on {family} {nodes}, seed {seed}: failed")
    child.kill()
    child.join()
    return result


def _line(
    family: str, nodes: int, noise: float, solver: str, runs: list[dict[str, Any]], seeds: int
) -> str:
    head = f"{family:6}{nodes:6}{noise:6.2f}  {solver:12}"
    if not runs:
        return f"{head} no run ended in time"
    return (
        f"{head} correct {np.mean([r['correct'] for r in runs]):.4f}"
        f" (least {min(r['correct'] for r in runs):.3f})"
        f"  CPU {median(r['seconds'] for r in runs):8.2f} s"
        f"  gap {max(r['gap'] for r in runs):.1e}"
        f"  memory {median(r['mib'] for r in runs):6.0f} MiB  runs {len(runs)}/{seeds}"
    )


def _times(results: list[dict[str, Any]]) -> dict[tuple[str, float, str], dict[int, float]]:
    found: dict[tuple[str, float, str], dict[int, list[float]]] = {}
    for run in results:
        key = (run["family"], run["noise"], run["solver"])
        found.setdefault(key, {}).setdefault(run["nodes"], []).append(run["seconds"])
    return {key: {n: median(s) for n, s in sizes.items()} for key, sizes in found.items()}


def _print_exponents(results: list[dict[str, Any]]) -> None:
    """Print the slope of log seconds against log nodes, fitted by least squares."""
    for (family, noise, solver), sizes in _times(results).items():
        if len(sizes) > 1:
            span = f"n = {min(sizes)}..{max(sizes)}"
            print(f"{family:6}{noise:6.2f}  {solver:12} time ~ n^{_slope(sizes):.2f} over {span}")


def _slope(sizes: dict[int, float]) -> float:
    """Return the slope of the logarithm of what is given against that of the nodes."""
    return float(np.polyfit(np.log(list(sizes)), np.log(list(sizes.values())), 1)[0])


def _print_recorded(records: list[Record]) -> None:
    """Print the growth of the median time, and of the median peak above ``BASE``, of each entry.

    Tiers stand apart, as a run belongs to one of them, and each fit says on which n it rests.
    """
    bases: dict[str, list[int]] = {}
    cells: dict[tuple[str, str, str, str], dict[int, list[Record]]] = {}
    for record in records:
        if record.status != "ok" or record.cost.peak_bytes is None:
            continue
        if record.problem == BASE:
            bases.setdefault(record.entry, []).append(record.cost.peak_bytes)
        kind = str(record.params["data"])
        nodes = record.params.get("nodes", record.params.get("points"))
        if isinstance(nodes, int) and nodes >= 500:
            group = (record.tier, kind, f"{record.params.get('noise', 0.0):4}", record.entry)
            cells.setdefault(group, {}).setdefault(nodes, []).append(record)
    for group, by_size in sorted(cells.items()):
        if len(by_size) < 2:
            continue
        seconds = {n: median(r.cost.cpu_seconds or 0.0 for r in own) for n, own in by_size.items()}
        tier, kind, noise, entry = group
        span = f"n = {min(seconds)}..{max(seconds)} ({len(seconds)} sizes)"
        line = f"{tier:6}{kind:18}{noise:6}{entry:18} time ~ n^{_slope(seconds):.2f}"
        if entry in bases:
            base = median(bases[entry])
            peaks = {
                n: median(r.cost.peak_bytes or 0 for r in own) - base for n, own in by_size.items()
            }
            if min(peaks.values()) > 0:
                line += f"  memory ~ n^{_slope(peaks):.2f}"
        sizes = ", ".join(f"{n}: {seconds[n]:.3g} s ({len(by_size[n])})" for n in sorted(by_size))
        print(f"{line}  over {span}  {sizes}")


def _print_ratios(results: list[dict[str, Any]]) -> None:
    """Print how many times more seconds each solver takes than lobcd_gw."""
    times = _times(results)
    ratios: dict[str, list[float]] = {}
    for (family, noise, solver), sizes in times.items():
        own = times.get((family, noise, "lobcd_gw"), {})
        for nodes in sorted(sizes.keys() & own.keys()):
            if solver != "lobcd_gw":
                ratio = sizes[nodes] / own[nodes]
                print(f"{family:6}{nodes:6}{noise:6.2f}  {solver:12} {ratio:7.2f} x lobcd_gw")
                ratios.setdefault(solver, []).append(ratio)
    for solver, values in ratios.items():
        mean = float(np.exp(np.mean(np.log(values))))
        print(f"{solver:12} geometric mean {mean:.2f} x, least {min(values):.2f} x")


if __name__ == "__main__":
    main()
