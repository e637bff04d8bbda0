"""Rated texts in JSON files of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from podium.benchmarks.judge_correlation.params import Local
from podium.benchmarks.judge_correlation.rated import RatedTexts
from podium.errors import InputError

Floats = npt.NDArray[np.float64]

CONTENT = {
    "rows": "JSON or JSONL files with one object a text",
    "squality": "all-responses.jsonl of SQuALITY",
}
"""What belongs into a folder, by the form it is read in."""

_BEGIN = "###The instruction to evaluate:"
_RESPONSE = "###Response to evaluate:"
_END = "###Feedback:"


class _Review(msgspec.Struct, frozen=True, rename="kebab"):
    overall_rating: float


class _Response(msgspec.Struct, frozen=True):
    response: str
    reviews: list[_Review]


class _Story(msgspec.Struct, frozen=True, rename="kebab"):
    passage_id: str
    questions: dict[str, dict[str, _Response]]


def read_set(folder: Path, params: Local) -> RatedTexts:
    """Read the texts and ratings of a folder.

    ``rows``: every ``.json`` file is a list of objects, every ``.jsonl`` file has one a line. The
    field ``text`` is what is judged; in a prompt of Prometheus' form only what stands from the
    instruction on, and prompts with the same instruction are of one group. The field ``score`` is
    a number, or a list of one for each rater. ``id`` and ``group`` may be given.
    ``squality``: summaries with the overall ratings of three reviewers each, by story.

    Raises:
        InputError: files that are not UTF-8, not JSON, or not of these fields.
    """
    found = RatedTexts([], [], [], [])
    if params.form == "squality":
        path = folder / "all-responses.jsonl"
        if not path.is_file():
            raise InputError("no ratings here", where=str(folder), expected=path.name)
        for number, line in _lines(path):
            _add_story(found, _decoded(line, f"{path}, line {number}", _Story))
        return found
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".json", ".jsonl"))
    if not paths:
        raise InputError(
            "no ratings here", where=str(folder), expected=CONTENT["rows"], found="none"
        )
    for path in paths:
        for place, row in _rows(path):
            _add_row(found, row, params, place)
    return found


def _add_story(found: RatedTexts, story: _Story) -> None:
    for question, systems in story.questions.items():
        for system, answer in systems.items():
            ratings = np.array([r.overall_rating for r in answer.reviews], dtype=np.float64)
            name = f"{story.passage_id}-{question}-{system}"
            found.add(name, answer.response, ratings, story.passage_id)


def _add_row(found: RatedTexts, row: dict[str, Any], params: Local, place: str) -> None:
    text, score = row.get(params.text), row.get(params.score)
    ratings = _ratings(score)
    if not isinstance(text, str) or ratings is None:
        raise InputError(
            "not a rated text",
            where=place,
            expected=f"{params.text!r} as text, {params.score!r} as a number or a list of numbers",
            found=f"{_kind(text)} and {_kind(score)}",
        )
    begin = text.find(_BEGIN)
    group = str(row.get("group", f"row {len(found.ids)}"))
    if begin >= 0:
        text = text[begin + len(_BEGIN) :].partition(_END)[0].strip()
        group = text.partition(_RESPONSE)[0].strip()
    found.add(str(row.get("id", f"item-{len(found.ids):05d}")), text, ratings, group)


def _ratings(score: object) -> Floats | None:
    """Return ratings; numbers in quotes count, as Feedback-Bench has them."""
    values = score if isinstance(score, list) else [score]
    numbers = []
    for value in values:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", value.strip()):
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        numbers.append(float(value))
    return np.array(numbers, dtype=np.float64)


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if path.suffix == ".jsonl":
        for number, line in _lines(path):
            place = f"{path}, line {number}"
            yield place, _decoded(line, place, dict[str, Any])
    else:
        rows = _decoded(path.read_bytes(), str(path), list[dict[str, Any]])
        yield from ((f"{path}, row {number}", row) for number, row in enumerate(rows))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        if line.strip():
            yield number, line


def _decoded(content: bytes, place: str, shape: Any) -> Any:
    try:
        return msgspec.json.decode(content.removeprefix(b"\xef\xbb\xbf"), type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("not readable as JSON in UTF-8", where=place, found=str(error)) from error


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
