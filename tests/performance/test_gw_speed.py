"""CPU time of Gromov-Wasserstein alignment, as ratios of solvers measured in one run.

The whole picture, at more sizes and with more solvers, comes from ``gw_scaling.py`` beside this.
"""

from __future__ import annotations

import time
from functools import partial
from statistics import geometric_mean
from typing import Any

import numpy as np
import pytest

from podium.benchmarks.gw_alignment import generate
from podium.transport.alignment import Alignment, align
from podium.transport.costs import Cost
from podium.transport.matching import kept
from podium.transport.solver import Options
from podium.transport.stopping import in_chunks

pytestmark = pytest.mark.performance


def _graphs(family: str, nodes: int, seed: int) -> tuple[Cost, Cost, Any]:
    rng = np.random.default_rng([seed, nodes])
    if family == "ba":
        graph = generate.barabasi_albert(nodes, 3, rng)
    elif family == "plc":
        graph = generate.powerlaw_cluster(nodes, 3, 0.3, rng)
    else:
        graph = generate.block_model(nodes, 5, inside=12.0, outside=1.6, rng=rng)
    order = rng.permutation(nodes)
    copy = generate.relabelled(generate.with_noise(graph, 0.05, rng), order)
    return Cost(graph), Cost(copy), np.argsort(order)


def _timed(source: Cost, target: Cost, **options: Any) -> tuple[Alignment, float]:
    mass = np.full(source.size, 1 / source.size)
    started = time.process_time()
    result = align(source, target, mass, mass, begin="uniform", options=Options(**options))
    return result, time.process_time() - started


def _correct(plan: Any, truth: Any) -> float:
    return float((np.asarray(plan.argmax(axis=1)).ravel() == truth).mean())


def _bapg(ot: Any, first: Any, second: Any, mass: Any, plan: Any, steps: int) -> Any:
    return ot.gromov.BAPG_gromov_wasserstein(
        first,
        second,
        mass,
        mass,
        epsilon=0.02 / len(mass),
        symmetric=True,
        G0=plan,
        max_iter=steps,
        marginal_loss=False,
    )


def test_graphs_take_a_small_part_of_the_time_of_bapg() -> None:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    _timed(*_graphs("ba", 60, 0)[:2])
    ratios = []
    for family in ("ba", "plc", "sbm"):
        source, target, truth = _graphs(family, 500, 0)
        result, ours = _timed(source, target)
        first, second = source.normalised().dense(), target.normalised().dense()
        mass = np.full(500, 1 / 500)
        advance = partial(_bapg, ot, first, second, mass)
        started = time.process_time()
        # Stopped by the rule that stops the reference, as the entry ``pot_bapg`` is.
        plan = in_chunks(advance, np.outer(mass, mass), steps=1000, tolerance=1e-9)
        ratios.append((time.process_time() - started) / ours)
        assert _correct(result.plan, truth) >= _correct(plan, truth) - 0.01
    print(f"{', '.join(f'{ratio:.1f}' for ratio in ratios)} times the CPU time")
    assert min(ratios) >= 2.5
    assert geometric_mean(ratios) >= 5.8


def test_clouds_take_no_longer_than_conditional_gradient() -> None:
    pytest.importorskip("ot")
    from podium.transport.pot import ot

    rng = np.random.default_rng(0)
    cloud = generate.cloud(500, 4, 3, rng)
    order = rng.permutation(500)
    turned = (cloud @ generate.rotation(3, rng))[order]
    source, target = Cost(generate.distances(cloud)), Cost(generate.distances(turned))
    result, ours = _timed(source, target)
    started = time.process_time()
    ot.gromov.gromov_wasserstein(source.dense(), target.dense(), symmetric=True)
    assert ours <= time.process_time() - started
    assert _correct(result.plan, np.argsort(order)) == 1.0


def test_localisation_pays_where_few_rows_move_and_costs_nothing_elsewhere() -> None:
    _timed(*_graphs("ba", 60, 0)[:2])
    totals, late, lost = [], [], []
    for family in ("ba", "plc", "sbm"):
        source, target, _ = _graphs(family, 1000, 0)
        local, ours = _timed(source, target)
        full, theirs = _timed(source, target, localise=False)
        totals.append(theirs / ours)
        graphs = source.normalised().csr(), target.normalised().csr()
        found = [kept(*graphs, np.asarray(r.plan.argmax(axis=1)).ravel()) for r in (local, full)]
        lost.append(1 - found[0] / found[1])
        few = [step.cpu_seconds for step in local.trace if step.rows < 0.3 * 1000]
        if few:
            every = [step.cpu_seconds for step in full.trace]
            late.append(float(np.mean(every) / np.mean(few)))
            print(
                f"{family}: a late step is {late[-1]:.1f} times faster, all {totals[-1]:.2f} times"
            )
    assert max(lost) <= 1e-2
    assert geometric_mean(totals) >= 1 / 1.1
    assert late
    assert min(late) >= 1.5


def test_time_grows_far_slower_than_dense_products() -> None:
    _timed(*_graphs("ba", 60, 0)[:2])
    seconds = []
    for nodes in (400, 1600):
        graphs = _graphs("ba", nodes, 0)[:2]
        seconds.append(min(_timed(*graphs)[1] for _ in range(4)))
    print(f"{seconds[0]:.3f} s at n = 400, {seconds[1] / seconds[0]:.1f} times that at n = 1600")
    # Dense products take n^3 for each step: 64 times as long, here.
    assert seconds[1] / seconds[0] < 40
