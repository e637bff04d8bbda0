"""Tables of results as text: aligned columns, drawn by rich where a person sits at a terminal.

Nothing here imports pandas, scipy or torch, and rich only for a terminal: a table follows every
``podium run``.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from podium.cli.output import counted
from podium.errors import FIX
from podium.stats.ranking import Failure, Ranking, Row, rank_entries

if TYPE_CHECKING:
    from podium.declarations.task import TaskSpec
    from podium.stats.bootstrap import Interval
    from podium.store.newest import Identity
    from podium.store.record import Record

_REASON = 200
_FAILURES_SHOWN = 12
_PIPED_WIDTH = 120
_GAP = 2
_SECONDS = "s/run"
_COLUMNS_KEPT = 6  # rank, entry, score, interval, seeds, coverage


@dataclass(frozen=True)
class Column:
    """A column's heading, and whether its cells are numbers, which stand to the right."""

    heading: str
    number: bool = False


def number(value: float | None) -> str:
    """Write a score in four significant digits, with a dash for none."""
    if value is None:
        return "-"
    if value == 0 or 1e-3 <= abs(value) < 1e4:
        digits = 4 if abs(value) < 10 else 2
        return f"{value:.{digits}f}"
    return f"{value:.3g}"


def limits(interval: Interval | None) -> str:
    """Write an interval's limits, or why there are none."""
    if interval is None or interval.limits is None:
        return "-"
    low, high = interval.limits
    return f"[{number(low)}, {number(high)}]"


def seconds(value: float | None) -> str:
    """Write a duration in seconds."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def mebibytes(value: int | None) -> str:
    """Write a size in MiB."""
    return "-" if value is None else f"{value / 2**20:.0f}"


def shortened(text: str, length: int = _REASON) -> str:
    """Return the first line of ``text``, cut to ``length`` characters."""
    line = printable(text.strip().splitlines()[0]) if text.strip() else ""
    return line if len(line) <= length else line[: length - 3] + "..."


def reason(text: str) -> str:
    """Return a run's reason on one line: what happened is cut, what to do about it never is."""
    what, mark, fix = text.partition(FIX)
    return shortened(what) + mark + printable(" ".join(fix.split()))


def printable(text: str) -> str:
    """Replace control characters: what foreign code raised must not steer the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def available_width() -> int:
    """Return how wide a table may be: the terminal's width, or COLUMNS, or 120 in a pipe."""
    return shutil.get_terminal_size((_PIPED_WIDTH, 24)).columns


def render(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, for a terminal (rich) or for a pipe (aligned columns)."""
    rows = [[printable(cell) for cell in row] for row in rows]
    table = [[c.heading for c in columns], *rows]
    widths = _widths(columns, rows)
    if sys.stdout.isatty():
        return _rich(columns, rows, sum(widths) + _GAP * len(widths))
    lines = []
    for row in table:
        cells = [
            cell.rjust(width) if column.number else cell.ljust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        ]
        lines.append((" " * _GAP).join(cells).rstrip())
    return "\n".join(lines)


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(len(text) for text in (column.heading, *(row[i] for row in rows)))
        for i, column in enumerate(columns)
    ]


def _rich(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.number else "left"
        table.add_column(column.heading, justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    # Wide enough for every cell: a line that the terminal wraps can be read, a cut one cannot.
    console = Console(width=max(available_width(), width))
    with console.capture() as capture:
        console.print(table)
    return capture.get().strip("\n")


def ranking_table(ranking: Ranking) -> str:
    """Return a ranking as text, with a column for each problem where they fit."""
    arrow = "higher is better" if ranking.metric.direction == "higher" else "lower is better"
    count = len(ranking.problems)
    title = (
        f"{ranking.task} v{ranking.version}, tier {ranking.tier}: {ranking.metric.title} "
        f"({arrow}), mean over {_of_the_tier(ranking)}, with 95 % interval"
    )
    columns = [
        Column("rank", number=True),
        Column("entry"),
        Column(ranking.metric.name, number=True),
        Column("interval"),
        Column("seeds", number=True),
        Column("runs ok", number=True),
        Column("kind"),
        Column(_SECONDS, number=True),
        Column("MiB", number=True),
    ]
    rows = [_cells(row) for row in ranking.rows]
    notes: list[str] = []
    if count > 1:
        columns += [Column(p, number=True) for p in ranking.problems]
        for cells, row in zip(rows, ranking.rows, strict=True):
            cells += [_problem_cell(row, p) for p in ranking.problems]
        if not _fits(columns, rows):
            columns, rows = columns[:-count], [cells[:-count] for cells in rows]
            notes.append(f"Each problem alone: podium show {ranking.task} --problem ID")
    left_out: list[str] = []
    while len(columns) > _COLUMNS_KEPT and not _fits(columns, rows):
        left_out.insert(0, columns[-1].heading)
        columns, rows = columns[:-1], [cells[:-1] for cells in rows]
    if left_out:
        notes.append(f"Left out on a narrow screen: {', '.join(left_out)}")
    if any(c.heading == _SECONDS for c in columns):
        notes.append(f"{_SECONDS}: the method alone, without loading, building and scoring.")
    notes += _notes(ranking)
    text = f"{title}\n\n{render(columns, rows)}\n"
    if notes:
        text += "\n" + "\n".join(notes) + "\n"
    return "\n".join([text, *failure_lines(ranking.failures, ranking.task)]).strip("\n")


def _of_the_tier(ranking: Ranking) -> str:
    count = len(ranking.problems)
    if count == ranking.in_tier:
        return counted(count, "problem")
    return f"{count} of the tier's {counted(ranking.in_tier, 'problem')}"


def _fits(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    return sum(_widths(columns, rows)) + _GAP * len(columns) <= available_width()


def _cells(row: Row) -> list[str]:
    score = None if row.score is None else row.score.estimate
    return [
        "-" if row.rank is None else str(row.rank),
        row.entry,
        number(score),
        limits(row.score),
        str(len(row.seeds)),
        f"{row.ok}/{row.expected}",
        row.kind,
        seconds(row.seconds),
        mebibytes(row.peak_bytes),
    ]


def _problem_cell(row: Row, problem: str) -> str:
    score = row.problems[problem]
    mark = "*" if score.mean is not None and score.ok < score.expected else ""
    return number(score.mean) + mark


def _notes(ranking: Ranking) -> list[str]:
    notes: list[str] = []
    if any(r.score and r.score.limits for r in ranking.rows) and len(ranking.problems) > 1:
        notes.append(
            "Intervals hold the spread of problems and seeds. Two entries are told apart on the "
            f"runs they share: podium compare {ranking.task} A B"
        )
    unsure = [r for r in ranking.rows if r.score is not None and r.score.limits is None]
    if unsure:
        notes.append("No interval: " + ", ".join(r.entry for r in unsure) + " (a single seed).")
    fixed = [r for r in ranking.rows if r.score and r.score.limits and r.score.note]
    if fixed:
        notes.append("Same value for every seed: " + ", ".join(r.entry for r in fixed) + ".")
    if any(not row.complete for row in ranking.rows):
        notes.append("Entries with missing runs are not ranked; *: the mean of the other seeds.")
    return notes


def failure_lines(failures: Sequence[Failure], task: str) -> list[str]:
    """Return a list of the runs that gave no score, each with its reason, shortened."""
    tried = [f for f in failures if f.record is not None]
    absent = [f for f in failures if f.record is None]
    lines: list[str] = []
    if tried:
        lines.append(f"{counted(len(tried), 'run')} without a score:")
        alike: dict[tuple[str, str], list[Failure]] = {}
        for f in tried:
            alike.setdefault((f.entry, f.reason), []).append(f)
        lines += [_alike_line(group) for group in list(alike.values())[:_FAILURES_SHOWN]]
        if len(alike) > _FAILURES_SHOWN:
            lines.append(f"  and {len(alike) - _FAILURES_SHOWN} more reasons")
        tier = next(f.record.tier for f in tried if f.record is not None)
        option = "" if tier == "small" else f" --tier {tier}"
        entry = shlex.quote(tried[0].entry)
        command = f"podium show {task}{option} --entries {entry} --failures"
        lines.append(f"  in full: {command}")
    if absent:
        lines.append(f"{counted(len(absent), 'run')} not made:")
        for entry in dict.fromkeys(f.entry for f in absent):
            mine = [f for f in absent if f.entry == entry]
            where = ", ".join(dict.fromkeys(f.problem for f in mine))
            lines.append(f"  {entry}: {len(mine)}, on {where}")
    return lines


def _alike_line(group: Sequence[Failure]) -> str:
    """Return one line for an entry's runs that ended for the same reason."""
    first = group[0]
    if len(group) == 1:
        return f"  {first.entry} on {first.problem}, seed {first.seed}: {reason(first.reason)}"
    where = ", ".join(dict.fromkeys(f.problem for f in group))
    return f"  {first.entry}, {len(group)} runs on {shortened(where)}: {reason(first.reason)}"


def result_table(
    task: TaskSpec,
    records: Sequence[Record],
    expected: Sequence[Identity] | None = None,
) -> str:
    """Return the table that follows ``podium run``, one for each tier.

    Args:
        task: the task's declaration.
        records: its records; of several of one identity the newest counts.
        expected: identities of the runs that should be there; one without a record counts against
            coverage. Without it the records themselves say what was tried.
    """
    from podium.store.newest import newest

    mine = newest(r for r in records if (r.task, r.task_version) == (task.id, task.version))
    tiers = {r.tier for r in mine} | {i[2] for i in expected or () if i[0] == task.id}
    if not tiers:
        return f"{task.id}: no records"
    return "\n\n".join(
        ranking_table(rank_entries(task, mine, tier=tier, expected=expected))
        for tier in ("smoke", "small", "full")
        if tier in tiers
    )
