"""Judge a claim by the interval of its paired comparison.

With the interval of the mean gain (95 %, ``podium.stats.bootstrap``), the threshold ``t`` and the
neutral value ``z`` (0 for a difference, 1 for a ratio):

============  =================  ==================  ======================  ==================
shape         reproduced         direction only      not reproduced          inconclusive
============  =================  ==================  ======================  ==================
``at_least``  wholly ``t`` or    beyond ``z`` only   wholly below ``t``,     anything else
              more                                   and not beyond ``z``
``within``    inside the margin  never               wholly outside          anything else
``order``     every neighbour    never               some neighbour wholly   anything else
              wholly beyond                          the other way round
              ``z``
============  =================  ==================  ======================  ==================

- A negative ``t`` (or a ratio below 1) says "no worse than": whatever lies beyond ``z`` also lies
  beyond ``t``, so there is no "direction only".
- Where ``t`` is ``z`` itself the claim says "better", and a tie does not reproduce it.
- The margin of ``within = w`` is ``[-w, w]``, for a ratio ``[1/(1+w), 1+w]``: exchanging the
  entries changes no verdict.
- The estimate and interval of an ``order`` are those of its weakest link. All links must hold, so
  testing several needs no correction.
- Fewer than ``min_seeds`` pairs on any problem is inconclusive. A run that was tried and gave no
  score leaves a set that was chosen by the failure: nothing can be reproduced on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from podium.declarations.claim import ClaimSpec
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.seeding import generator
from podium.stats.bootstrap import Interval
from podium.stats.paired import NEUTRAL, Paired, pair_entries
from podium.store.record import Record

Verdict = Literal["reproduced", "direction only", "not reproduced", "inconclusive"]
VERDICTS: tuple[Verdict, ...] = ("reproduced", "direction only", "not reproduced", "inconclusive")
# Decimal thresholds are not exact in binary: 0.97 - 0.95 exceeds 0.02 by 2e-17.
_ROUNDING = 1e-12


class LinkResult(msgspec.Struct, frozen=True, kw_only=True):
    """One paired comparison: ``left`` against ``right``.

    ``interval`` is ``None`` where none can be given. ``seeds``: the fewest pairs on any problem;
    ``pairs``: all of them. ``failed``: tried runs without a score; ``unpaired``: runs of one entry
    whose counterpart was never tried. ``reason``: what decided the verdict, for people.
    """

    left: str
    right: str
    verdict: Verdict
    estimate: float | None
    interval: tuple[float, float] | None
    seeds: int
    pairs: int
    failed: int
    unpaired: int
    reason: str


class ClaimResult(msgspec.Struct, frozen=True, kw_only=True):
    """A claim and its verdict; see the module docstring and :class:`LinkResult`.

    ``estimate``, ``interval`` and ``threshold`` are gains, positive where the left entry is better,
    in the metric's unit or as a ratio. ``links``: every paired comparison behind the verdict.
    """

    task: str
    id: str
    gate: bool
    verdict: Verdict
    estimate: float | None
    interval: tuple[float, float] | None
    threshold: float
    seeds: int
    min_seeds: int
    problems: tuple[str, ...]
    tier: str
    shape: Literal["at_least", "within", "order"]
    compare: Literal["difference", "ratio"]
    metric: str
    direction: Literal["higher", "lower"]
    entries: tuple[str, ...]
    statement: str
    source: str
    reason: str
    links: tuple[LinkResult, ...]


def judge_claim(task: TaskSpec, claim: ClaimSpec, records: Iterable[Record]) -> ClaimResult:
    """Return the verdict on one claim.

    Args:
        task: the claim's task; records of another task, version or tier are not used.
        claim: the claim.
        records: at most one for each identity.

    Raises:
        ValueError: two records of one identity.
    """
    here = [
        r
        for r in records
        if (r.task, r.task_version, r.tier) == (task.id, task.version, claim.tier)
        and r.entry in claim.entries
    ]
    links = [_link(task, claim, pair, here) for pair in pairwise(claim.entries)]
    weakest = min(links, key=_strength)
    return ClaimResult(
        task=task.id,
        id=claim.id,
        gate=claim.gate,
        verdict=weakest.verdict,
        estimate=weakest.estimate,
        interval=weakest.interval,
        threshold=_threshold(claim),
        seeds=min(link.seeds for link in links),
        min_seeds=claim.min_seeds,
        problems=claim.problems,
        tier=claim.tier,
        shape=claim.shape,
        compare=claim.compare,
        metric=claim.metric,
        direction=task.metric(claim.metric).direction,
        entries=claim.entries,
        statement=claim.statement,
        source=claim.source,
        reason=weakest.reason
        if len(links) == 1
        else f"{weakest.left} against {weakest.right}: {weakest.reason}",
        links=tuple(links),
    )


def judge_claims(task: TaskSpec, records: Iterable[Record]) -> list[ClaimResult]:
    """Return the verdict on every claim of a task, in declared order."""
    kept = list(records)
    return [judge_claim(task, claim, kept) for claim in task.claims]


def _strength(link: LinkResult) -> tuple[int, float]:
    """Order links so that the one that decides the claim comes first."""
    order: tuple[Verdict, ...] = ("not reproduced", "inconclusive", "direction only", "reproduced")
    estimate = float("-inf") if link.estimate is None else link.estimate
    return (order.index(link.verdict), estimate)


def _threshold(claim: ClaimSpec) -> float:
    if claim.at_least is not None:
        return claim.at_least
    return NEUTRAL[claim.compare] if claim.within is None else claim.within


def _link(
    task: TaskSpec, claim: ClaimSpec, pair: tuple[str, str], records: Sequence[Record]
) -> LinkResult:
    left, right = ([r for r in records if r.entry == entry] for entry in pair)
    try:
        paired = pair_entries(
            left,
            right,
            metric=task.metric(claim.metric),
            problems=claim.problems,
            compare=claim.compare,
        )
    except InputError as error:
        return _undecided(pair, str(error).replace("\n ", ";"))
    absent = [
        entry
        for entry, own in zip(pair, (left, right), strict=True)
        if not any(r.problem in claim.problems for r in own)
    ]
    if absent:
        whose = "" if len(absent) == len(set(pair)) else f" of {' and '.join(absent)}"
        return _undecided(pair, f"no records{whose}", paired)
    few = [
        f"{n} on {problem}"
        for problem, n in zip(claim.problems, paired.pairs, strict=True)
        if n < claim.min_seeds
    ]
    interval: Interval | None = None
    if all(paired.pairs):
        interval = paired.interval(generator(0, "claim", task.id, claim.id, *pair))
    if few:
        reason = f"needs {claim.min_seeds} paired seeds on each problem, found {', '.join(few)}"
        return _undecided(pair, reason + _failures(paired), paired, interval)
    assert interval is not None
    if interval.limits is None:
        return _undecided(pair, interval.note or "no interval", paired, interval)
    verdict, reason = _decide(claim, *interval.limits)
    if interval.note is not None:
        reason += f"; {interval.note}"
    if paired.failed and verdict in ("reproduced", "direction only"):
        return _undecided(
            pair,
            f"the pairs that are left would say {verdict!r}, but failures chose them"
            + _failures(paired),
            paired,
            interval,
        )
    return _result(pair, verdict, reason + _failures(paired), paired, interval)


def _failures(paired: Paired) -> str:
    if not paired.failed:
        return ""
    problem, seed = paired.failed[0]
    fault = paired.left.faults.get((problem, seed)) or paired.right.faults[problem, seed]
    first = fault.splitlines()[0]
    return f"; {len(paired.failed)} without a score, the first on {problem}, seed {seed}: {first}"


def _decide(claim: ClaimSpec, low: float, high: float) -> tuple[Verdict, str]:
    """Place the interval [low, high] against the claim's threshold."""
    neutral = NEUTRAL[claim.compare]
    shown = f"[{low:.4g}, {high:.4g}]"
    if claim.within is not None:
        width = claim.within
        floor = -width if claim.compare == "difference" else 1 / (1 + width)
        ceiling = neutral + width
        margin = f"the margin [{floor:.4g}, {ceiling:.4g}]"
        if floor - _ROUNDING <= low and high <= ceiling + _ROUNDING:
            return "reproduced", f"{shown} lies inside {margin}"
        if low > ceiling + _ROUNDING or high < floor - _ROUNDING:
            return "not reproduced", f"{shown} lies wholly outside {margin}"
        return "inconclusive", f"{shown} crosses an edge of {margin}"
    if claim.order is not None:
        if low > neutral + _ROUNDING:
            return "reproduced", f"{shown} lies beyond {neutral:g}"
        if high < neutral - _ROUNDING:
            return "not reproduced", f"{shown} lies on the other side of {neutral:g}"
        return "inconclusive", f"{shown} holds {neutral:g}"
    assert claim.at_least is not None
    threshold = claim.at_least
    # "At least 0 better" says "better": a tie is not enough.
    slack = _ROUNDING if threshold == neutral else -_ROUNDING
    if low >= threshold + slack:
        return "reproduced", f"{shown} lies beyond {threshold:g}"
    if low > neutral + _ROUNDING:
        return "direction only", f"{shown} lies beyond {neutral:g}, but not beyond {threshold:g}"
    if high < threshold - _ROUNDING:
        return "not reproduced", f"{shown} falls short of {threshold:g}"
    return "inconclusive", f"{shown} holds the threshold {threshold:g}"


def _undecided(
    pair: tuple[str, str],
    reason: str,
    paired: Paired | None = None,
    interval: Interval | None = None,
) -> LinkResult:
    return _result(pair, "inconclusive", reason, paired, interval)


def _result(
    pair: tuple[str, str],
    verdict: Verdict,
    reason: str,
    paired: Paired | None,
    interval: Interval | None,
) -> LinkResult:
    return LinkResult(
        left=pair[0],
        right=pair[1],
        verdict=verdict,
        estimate=None if interval is None else interval.estimate,
        interval=None if interval is None else interval.limits,
        seeds=0 if paired is None else min(paired.pairs),
        pairs=0 if paired is None else sum(paired.pairs),
        failed=0 if paired is None else len(paired.failed),
        unpaired=0 if paired is None else len(paired.unpaired),
        reason=reason,
    )
