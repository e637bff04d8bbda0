"""The records that travel with Podium: ``leaderboard/snapshot/<task>.jsonl``, one a line.

For maintainers::

    python -m podium.store.snapshot --store results --task granger_recovery

writes the newest record of every run of the task's newest version that the store holds. Learning
curves and the names of prediction files are left out, and absolute paths are cut to their last
part: a bundled record says what was run and how it ended, not where.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from podium.errors import InputError, PodiumError
from podium.store.files import write_atomically
from podium.store.newest import newest
from podium.store.record import Record

SUFFIX = ".jsonl"
# A path in quotes may hold spaces; a bare one ends at a space or at punctuation. A single part,
# such as "/s" in "10 samples/s", counts only where it is a folder that every machine has.
_QUOTED = re.compile(
    r"""(?P<quote>["'])(?:file://)?(?:(?:~\w*)?/|[A-Za-z]:[/\\]|\\\\)[^"'\n]*(?P=quote)"""
)
_PART = r"""[^\s/\\"'<>|:,;()\[\]{}]+"""
_BARE = re.compile(
    r"(?:file://|(?<![\w./\\~-])|(?<=-[IL]))"
    rf"(?:(?:/{_PART}){{2,}}/?"
    rf"|~\w*(?:/{_PART})+/?"
    r"|/(?:home|root|tmp|mnt|srv|opt|usr|var|etc|media|Users|private|work|workspace|scratch)\b/?"
    rf"|[A-Za-z]:(?:\\{_PART})+\\?)"
)


def without_paths(text: str) -> str:
    """Cut every absolute path in ``text`` to its last part."""

    def last(path: str) -> str:
        return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or "/"

    def quoted(match: re.Match[str]) -> str:
        quote = match["quote"]
        return f"{quote}{last(match[0][1:-1])}{quote}"

    return _BARE.sub(lambda m: last(m[0]), _QUOTED.sub(quoted, text))


def public_record(record: Record) -> Record:
    """Return ``record`` without what is private or bulky.

    Raises:
        InputError: a number in it is not finite, which strict JSON cannot hold.
    """
    slim = msgspec.structs.replace(record, curves={}, predictions=None, picture=None)
    cleaned = _cleaned(msgspec.to_builtins(slim), where=f"record {record.key}")
    return msgspec.convert(cleaned, Record)


def _cleaned(value: Any, where: str) -> Any:
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {k: _cleaned(v, f"{where}, {k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(v, where) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("a number is not finite", where=where, found=str(value))
    return value


def bundle(records: Iterable[Record], path: Path) -> int:
    """Write one task's records to ``path`` and return how many: strict JSON, sorted, atomic.

    Raises:
        InputError: there are no records, or they are of several tasks or versions, or two are of
            one identity.
        MissingError: the folder cannot be written.
    """
    chosen = sorted((public_record(r) for r in records), key=lambda r: r.identity)
    kinds = sorted({(r.task, r.task_version) for r in chosen})
    if len(kinds) != 1:
        raise InputError(
            "a snapshot file holds the records of one version of one task",
            where=str(path),
            found=", ".join(f"{t} v{v}" for t, v in kinds) or "no records",
        )
    for one, two in pairwise(chosen):
        if one.identity == two.identity:
            raise InputError("two records are of one run", where=str(path), found=str(one.identity))
    text = msgspec.json.Encoder(order="sorted").encode_lines(chosen)

    def fill(file: BinaryIO) -> None:
        file.write(text)

    write_atomically(path, fill)
    return len(chosen)


def read_snapshot(path: Traversable) -> list[Record]:
    """Return the records of a snapshot file.

    Raises:
        InputError: a line is not a record; the message gives its number.
    """
    decoder = msgspec.json.Decoder(Record)
    found: list[Record] = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            found.append(decoder.decode(line))
        except msgspec.MsgspecError as error:
            raise InputError(
                f"a bundled record cannot be read: {error}",
                where=f"{path.name}, line {number}",
                expected="one record as a JSON object",
                fix="install Podium again, or rebuild it: python -m podium.store.snapshot",
            ) from error
    return found


def read_bundled(task: str | None = None) -> list[Record]:
    """Return the records bundled with Podium, of one task or of all.

    Raises:
        InputError: a bundled file is damaged.
    """
    folder = files("podium.leaderboard") / "snapshot"
    if not folder.is_dir():
        return []
    found: list[Record] = []
    for item in sorted(folder.iterdir(), key=lambda i: i.name):
        if item.name.endswith(SUFFIX) and task in (None, item.name.removesuffix(SUFFIX)):
            found.extend(read_snapshot(item))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Bundle one task's records from a store; the command line described above."""
    from podium.store.store import Store

    parser = argparse.ArgumentParser(
        prog="python -m podium.store.snapshot",
        description="Write a task's records from a store to the snapshot that travels with Podium.",
    )
    parser.add_argument("--store", type=Path, required=True, help="the store to read")
    parser.add_argument("--task", required=True, help="the task whose records are bundled")
    parser.add_argument("--tier", action="append", help="only this tier (may be repeated)")
    parser.add_argument(
        "--output",
        type=Path,
        help="the file to write (default: leaderboard/snapshot/TASK.jsonl of this checkout)",
    )
    given = parser.parse_args(arguments)
    output: Path = given.output or Path(str(files("podium.leaderboard"))).joinpath(
        "snapshot", f"{given.task}{SUFFIX}"
    )
    try:
        if not given.store.is_dir():
            raise InputError("there is no store here", where=str(given.store))
        records = newest(Store(given.store).records(given.task))
        records = [r for r in records if given.tier is None or r.tier in given.tier]
        version = max((r.task_version for r in records), default=0)
        chosen = [r for r in records if r.task_version == version]
        before = read_snapshot(output) if output.exists() else []
        count = bundle(chosen, output)
    except PodiumError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    gone = len({r.identity for r in before} - {r.identity for r in chosen})
    print(f"{output}: {count} records of {given.task} v{version} ({gone} earlier ones are gone)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
