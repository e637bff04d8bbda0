"""Rated texts: the archive of Hutto and Gilbert, files of one's own, and how they are split."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.benchmarks.judge_correlation import hutto, local
from podium.benchmarks.judge_correlation.params import Local
from podium.benchmarks.judge_correlation.rated import RatedTexts, halves, split, spread
from podium.errors import InputError

LEVELS = np.arange(-4.0, 5.0)


def archive_of(folder: Path, texts: bytes, ratings: bytes) -> Path:
    path = folder / "hutto.tar.gz"
    with tarfile.open(path, "w:gz") as bundle:
        for part, content in (("GroundTruth", texts), ("anonDataRatings", ratings)):
            info = tarfile.TarInfo(f"hutto_ICWSM_2014/tweets_{part}.txt")
            info.size = len(content)
            bundle.addfile(info, io.BytesIO(content))
    return path


def test_hutto_is_joined_by_id_and_cleaned(tmp_path: Path) -> None:
    texts = (
        b"\xef\xbb\xbf1_1\t0.5\tgood\tand bad\r\n"  # a tab in the text
        b"1_2\t-1\tbroken \xff byte\r\n"
        b"2_1\t3\tanother text's ratings\r\n"
        b"2_2\t2\tgood\tand bad\r\n"
        b"2_3\t0\t\r\n"
    )
    ratings = (
        b"\xef\xbb\xbf2_3\t0\t1\t[1, -1]\r\n1_1\t0.5\t1\t[0, 1]\r\n1_2\t-1\t0\t[-1]\r\n"
        b"2_1\t-3\t0\t[-3, -3]\r\n2_2\t2\t0\t[2]\r\n"
    )
    found = hutto.read_set(archive_of(tmp_path, texts, ratings), "tweets", group=True)
    assert found.ids == ["1_1", "1_2", "2_3"]
    assert found.texts == ["good\tand bad", "broken \ufffd byte", ""]
    assert [list(r) for r in found.ratings] == [[0, 1], [-1], [1, -1]]
    assert found.groups == ["1", "1", "2"]
    plain = hutto.read_set(archive_of(tmp_path, texts, ratings), "tweets", group=False)
    assert plain.groups == plain.ids


@pytest.mark.parametrize(
    "text", ["", "[]", "[1", "1, 2", "[1.5]", "[nan]", "[__import__('os')]", "[[1]]", "[1,, 2]"]
)
def test_ratings_are_lists_of_whole_numbers_and_nothing_else(text: str) -> None:
    with pytest.raises(InputError, match="list of ratings"):
        hutto.parse_ratings(text, "here")


@given(st.lists(st.integers(-4, 4), min_size=1))
def test_lists_of_ratings_are_read_back(values: list[int]) -> None:
    assert list(hutto.parse_ratings(str(values), "here")) == values


@pytest.mark.parametrize(
    ("texts", "ratings", "words"),
    [
        (b"1\t0\ta\n", b"2\t0\t0\t[0]\n", "without ratings"),
        (b"1\t0\n", b"1\t0\t0\t[0]\n", "3 columns"),
        (b"1\tzero\ta\n", b"1\t0\t0\t[0]\n", "not a mean"),
        (b"1\t0\ta\n", b"1\t0\t0\tnone\n", "list of ratings"),
    ],
)
def test_other_lines_are_named(texts: bytes, ratings: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        hutto.read_set(archive_of(tmp_path, texts, ratings), "tweets", group=False)


def test_another_archive_is_named(tmp_path: Path) -> None:
    path = archive_of(tmp_path, b"1\t0\ta\n", b"1\t0\t0\t[0]\n")
    with pytest.raises(InputError, match="rated sentiment"):
        hutto.read_set(path, "movies", group=False)
    for content in (b"", b"no archive", path.read_bytes()[:60]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="rated sentiment"):
            hutto.read_set(path, "tweets", group=False)


def rated(groups: list[int]) -> RatedTexts:
    count = len(groups)
    ratings = [np.array([float(row % 5)]) for row in range(count)]
    ids = [f"id {row}" for row in range(count)]
    return RatedTexts(ids, [f"text {row}" for row in range(count)], ratings, [*map(str, groups)])


@given(st.lists(st.integers(0, 20), min_size=4, max_size=80), st.integers(1, 40))
def test_no_group_is_on_both_sides(groups: list[int], items: int) -> None:
    texts = rated(groups)
    test, pool = split(texts, items, np.random.default_rng(0))
    assert sorted([*test, *pool]) == list(range(len(groups)))
    assert not {groups[row] for row in test} & {groups[row] for row in pool}
    sizes = np.bincount(groups)
    assert 1 <= test.size <= max(min(items, len(groups) // 2), sizes.max())


def test_the_split_depends_on_its_generator() -> None:
    texts = rated(list(range(100)))
    first, second = (split(texts, 30, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert first.size == second.size == 30
    assert set(first) != set(second)


def test_halves_use_every_rater_once() -> None:
    ratings = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    a, b = halves(ratings, np.random.default_rng(0))
    assert 2 * a + 3 * b == pytest.approx(ratings.sum())


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=20))
def test_spread_ratings_keep_their_mean(values: list[float]) -> None:
    shares = spread(np.array(values), LEVELS)
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= -1e-12).all()
    assert shares @ LEVELS == pytest.approx(np.mean(values), abs=1e-9)


def test_spread_ratings_on_levels_are_their_shares() -> None:
    assert list(spread(np.array([-4.0, 4.0, 4.0, 0.0]), LEVELS)[[0, 4, 8]]) == [0.25, 0.25, 0.5]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ids": ["a", "b", "c", "a"]}, "one text"),
        ({"ratings": [np.zeros(1)] * 3 + [np.zeros(0)]}, "without ratings"),
        ({"ratings": [np.zeros(1)] * 3 + [np.array([4.5])]}, "-4 to 4"),
        ({"ratings": [np.zeros(1)] * 3 + [np.array([np.nan])]}, "-4 to 4"),
        ({"groups": ["a", "a", "b", "c"]}, "too few"),
    ],
)
def test_bad_sets_are_named(change: dict[str, Any], words: str) -> None:
    parts = vars(rated([0, 1, 2, 3])) | change
    with pytest.raises(InputError, match=words):
        RatedTexts(**parts).check(LEVELS, "here")


def local_params(form: str, **fields: str) -> Local:
    return Local(
        train=10,
        items=10,
        scale=[1.0, 5.0],
        rubric="Rate it.",
        tokens=8,
        width=4,
        folder="mine",
        form="squality" if form == "squality" else "rows",
        **fields,
    )


def test_rows_are_read_from_json_and_jsonl(tmp_path: Path) -> None:
    rows = [{"text": "a", "score": 4}, {"text": "", "score": [1, 2.5, "3"], "id": 7, "group": "g"}]
    (tmp_path / "a.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "b.jsonl").write_bytes(b'\xef\xbb\xbf{"text": "c", "score": "2"}\n\n')
    (tmp_path / "notes.txt").write_text("not read")
    found = local.read_set(tmp_path, local_params("rows"))
    assert found.ids == ["item-00000", "7", "item-00002"]
    assert found.texts == ["a", "", "c"]
    assert [list(r) for r in found.ratings] == [[4], [1, 2.5, 3], [2]]
    assert len(set(found.groups)) == 3
    assert found.groups[1] == "g"


def test_a_prompt_is_cut_to_what_is_judged_and_grouped_by_instruction(tmp_path: Path) -> None:
    prompt = (
        "###Task Description:\nMany words.\n\n###The instruction to evaluate:\nAdd 1 and 1.\n\n"
        "###Response to evaluate:\n{}\n\n###Score Rubrics:\nRight?\n\n###Feedback: "
    )
    rows = [{"instruction": prompt.format(answer), "orig_score": "5"} for answer in ("2", "3")]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    found = local.read_set(tmp_path, local_params("rows", text="instruction", score="orig_score"))
    assert found.texts[0].startswith("Add 1 and 1.")
    assert found.texts[0].endswith("Right?")
    assert found.groups == ["Add 1 and 1."] * 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'[{"text": "a"}]', "number or a list"),
        ("a.json", b'[{"text": 1, "score": 1}]', "int and int"),
        ("a.json", b'[{"text": "a", "score": true}]', "bool"),
        ("a.json", b'[{"text": "a", "score": "four"}]', "str"),
        ("a.json", b'{"text": "a"}', "JSON"),
        ("a.jsonl", b'{"text": "\xff", "score": 1}', "line 1"),
        ("a.jsonl", b'{"text": "a", "score": 1}\n{', "line 2"),
        ("a.csv", b"text,score", "no ratings here"),
    ],
)
def test_bad_files_of_ones_own_are_named(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=words):
        local.read_set(tmp_path, local_params("rows"))


def test_squality_is_read_by_story(tmp_path: Path) -> None:
    reviews = [{"overall-rating": rating, "worker_id": "3"} for rating in (10, 20, 35)]
    answers = {"bart": {"response": "A story.", "reviews": reviews, "overall": {}}}
    story = {"passage-id": "50827", "questions": {"0": answers}}
    (tmp_path / "all-responses.jsonl").write_text(json.dumps(story) + "\n")
    found = local.read_set(tmp_path, local_params("squality"))
    assert (found.ids, found.groups) == (["50827-0-bart"], ["50827"])
    assert list(found.ratings[0]) == [10, 20, 35]
    (tmp_path / "all-responses.jsonl").unlink()
    with pytest.raises(InputError, match="no ratings here"):
        local.read_set(tmp_path, local_params("squality"))
