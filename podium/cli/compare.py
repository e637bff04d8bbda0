"""``podium compare``: two entries on the runs they share. ``--json``: docs/json.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from podium.cli.output import counted, print_json
from podium.cli.selection import Selection, select, sources_json, sources_line
from podium.cli.tables import Column, limits, number, reason, render
from podium.errors import InputError
from podium.seeding import generator
from podium.stats.bootstrap import LEVEL, Interval
from podium.stats.grid import Grid, mean_score
from podium.stats.paired import NEUTRAL, Paired, Tally, pair_entries


def compare(
    task: str,
    left: str,
    right: str,
    *,
    tier: str = "small",
    problems: Sequence[str] = (),
    metric: str | None = None,
    by: str = "difference",
    only: str | None = None,
    store: Path | None = None,
    as_json: bool = False,
) -> None:
    """Print the paired comparison of two entries, for each problem and overall.

    Args:
        task: the task's id.
        left: an entry; gains are positive where it is better.
        right: the entry it is compared with.
        tier: the tier.
        problems: only these problems count; by default all on which either entry was tried.
        metric: the metric; the primary one by default.
        by: ``difference`` or ``ratio``.
        only: ``local`` or ``bundled`` records only.
        store: the local store.
        as_json: print JSON.

    Raises:
        InputError: an unknown name, a store that is missing, no run in common, or a ratio of
            scores that are not positive.
    """
    if by not in NEUTRAL:
        raise InputError("unknown comparison", expected=" or ".join(NEUTRAL), found=by)
    chosen = select(task, tier=tier, metric=metric, problems=problems, only=only, store=store)
    ours, theirs = (
        [r for r in chosen.records if r.entry == chosen.check_entry(name)] for name in (left, right)
    )
    tried = {r.problem for r in (*ours, *theirs)}
    in_tier = [p.id for p in chosen.task.in_tier(tier) if p.id in tried]
    among = [p for p in in_tier if p in (chosen.problems or in_tier)]
    if by == "difference":
        chosen.check_averaged(among, ", or --by ratio")
    paired = pair_entries(
        ours,
        theirs,
        metric=chosen.metric,
        problems=among,
        compare=by,
    )
    if not any(paired.pairs):
        raise InputError(
            f"{left} and {right} have no run in common that gave {chosen.metric.name} for both",
            where=f"{task}, tier {tier}",
            expected="at least one problem and seed that both were run on",
            found=f"{len(ours)} and {len(theirs)} records",
            fix=f"podium run {task} --tier {tier} --entries {left},{right}",
        )
    rows = {name: _interval(paired, task, left, right, name) for name in _compared(paired)}
    overall = _interval(paired, task, left, right, None)
    if as_json:
        print_json(_json(chosen, paired, left, right, rows, overall))
    else:
        _print(chosen, paired, left, right, rows, overall)


def _compared(paired: Paired) -> list[str]:
    return [p for p, n in zip(paired.problems, paired.pairs, strict=True) if n]


def _interval(paired: Paired, task: str, left: str, right: str, problem: str | None) -> Interval:
    rng = generator(0, "compare", task, left, right, problem or "")
    return paired.interval(rng, problem)


def _paired_mean(paired: Paired, grid: Grid, problem: str) -> float:
    """Mean of one entry's scores over the seeds that both have."""
    row = paired.problems.index(problem)
    return mean_score(grid.values[row][~np.isnan(paired.gains[row])])


def _counts(tally: Tally) -> str:
    return f"{tally.wins}/{tally.ties}/{tally.losses}"


def _print(
    chosen: Selection,
    paired: Paired,
    left: str,
    right: str,
    rows: dict[str, Interval],
    overall: Interval,
) -> None:
    gain = "gain" if paired.compare == "difference" else "ratio"
    neutral = NEUTRAL[paired.compare]
    print(
        f"{chosen.task.id} v{chosen.task.version}, tier {chosen.tier}: {left} against {right} by "
        f"{chosen.metric.title}, paired by problem and seed.\n"
        f"A {gain} above {neutral:g} says that {left} is better. 95 % intervals.\n"
    )
    columns = [
        Column("problem"),
        Column(left, number=True),
        Column(right, number=True),
        Column(gain, number=True),
        Column("interval"),
        Column("pairs", number=True),
        Column("wins/ties/losses", number=True),
    ]
    cells = [
        [
            problem,
            number(_paired_mean(paired, paired.left, problem)),
            number(_paired_mean(paired, paired.right, problem)),
            number(interval.estimate),
            limits(interval),
            str(paired.pairs[paired.problems.index(problem)]),
            _counts(paired.tally(problem)),
        ]
        for problem, interval in rows.items()
    ]
    cells.append(
        [
            "all",
            "",
            "",
            number(overall.estimate),
            limits(overall),
            str(sum(paired.pairs)),
            _counts(paired.tally()),
        ]
    )
    print(render(columns, cells))
    print()
    if overall.note is not None:
        print(f"Overall: {overall.note}.")
    without = [p for p in paired.problems if p not in rows]
    if without:
        print(f"No pair on {', '.join(without)}; they are not in the overall figure.")
    if paired.unpaired:
        print(f"Not used, for want of a counterpart: {counted(len(paired.unpaired), 'run')}.")
    for failed in _failed(paired, left, right):
        print("{entry} on {problem}, seed {seed}: ".format(**failed) + reason(failed["reason"]))
    shown = [r for r in chosen.records if r.entry in (left, right)]
    print(sources_line(chosen.loaded, shown))


def _failed(paired: Paired, left: str, right: str) -> list[dict[str, Any]]:
    sides = {left: paired.left, right: paired.right}
    return [
        {"entry": entry, "problem": problem, "seed": seed, "reason": reason}
        for entry, grid in sides.items()
        for (problem, seed), reason in sorted(grid.faults.items())
    ]


def _json(
    chosen: Selection,
    paired: Paired,
    left: str,
    right: str,
    rows: dict[str, Interval],
    overall: Interval,
) -> dict[str, Any]:
    def figures(interval: Interval, pairs: int, tally: Tally) -> dict[str, Any]:
        return {
            "estimate": interval.estimate,
            "interval": None if interval.limits is None else list(interval.limits),
            "note": interval.note,
            "pairs": pairs,
            "wins": tally.wins,
            "ties": tally.ties,
            "losses": tally.losses,
        }

    shown = [r for r in chosen.records if r.entry in (left, right)]
    return {
        "task": chosen.task.id,
        "version": chosen.task.version,
        "tier": chosen.tier,
        "metric": chosen.metric.name,
        "direction": chosen.metric.direction,
        "compare": paired.compare,
        "level": LEVEL,
        "left": left,
        "right": right,
        "records": sources_json(chosen.loaded, shown),
        "overall": figures(overall, sum(paired.pairs), paired.tally()),
        "problems": [
            {
                "problem": problem,
                "left": _paired_mean(paired, paired.left, problem),
                "right": _paired_mean(paired, paired.right, problem),
                **figures(
                    interval,
                    paired.pairs[paired.problems.index(problem)],
                    paired.tally(problem),
                ),
            }
            for problem, interval in rows.items()
        ],
        "unpaired": [{"problem": p, "seed": s} for p, s in paired.unpaired],
        "failed": _failed(paired, left, right),
    }
