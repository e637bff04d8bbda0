from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.judging.parsing import read_score


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("4", 4.0),
        (" 4\n", 4.0),
        ("4/5", 4.0),
        ("4 / 5", 4.0),
        ("4 out of 5", 4.0),
        ("four", 4.0),
        ("Four.", 4.0),
        ("four out of five", 4.0),
        ("four stars", 4.0),
        ("four/5", 4.0),
        ("Score: 4.5.", 4.5),
        ("**Score:** 4", 4.0),
        ("[RESULT] 3", 3.0),
        ("The rating is 2.", 2.0),
        ("I give it a 2!", 2.0),
        ('{"score": 3}', 3.0),
        ("score: three", 3.0),
        ("On a scale of 1 to 5, I would say 3", 3.0),
        ("from 1-5: 3", 3.0),
        ("3 good points. Score: 4", 4.0),
        ("Score: 4\nScore: 2", 4.0),
        ("4\n5", 4.0),
        ("4, yes, 4", 4.0),
        ("+4", 4.0),
        ("4.0000", 4.0),
    ],
)
def test_what_is_read_on_one_to_five(text: str, score: float) -> None:
    assert read_score(text, 1, 5) == pytest.approx(score, nan_ok=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n\t",
        "no idea",
        "This one is good",
        "6",
        "0",
        "-3",
        "4 or 5",
        "3-4",
        "3 - 4",
        "4/10",
        "8 out of 10",
        "four out of ten",
        "80%",
        "gpt4",
        "4th",
        "1.2.3",
        "twenty-four",
        "nan",
        "inf",
        "1e400",
        "٤",
        "9" * 5000,
    ],
)
def test_what_is_no_score_on_one_to_five(text: str) -> None:
    assert math.isnan(read_score(text, 1, 5))


def test_eleven_is_no_score_on_one_to_ten() -> None:
    assert math.isnan(read_score("11", 1, 10))
    assert read_score("10", 1, 10) == 10
    assert read_score("ten", 1, 10) == 10


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("-2", -2.0),
        ("−2", -2.0),
        ("-2.5.", -2.5),
        ("minus two", -2.0),
        ("Score: negative three", -3.0),
        ("zero", 0.0),
        ("-4 (from -4 to 4)", -4.0),
        ("-1 / 4", -1.0),
    ],
)
def test_signs(text: str, score: float) -> None:
    assert read_score(text, -4, 4) == score


@given(st.text(max_size=60))
def test_any_text_gives_a_score_on_the_scale_or_nan(text: str) -> None:
    score = read_score(text, 1, 5)
    assert math.isnan(score) or 1 <= score <= 5


@given(st.integers(-400, 400), st.sampled_from(["{}", "Score: {}", "{}.", "**{}**", "I say {}."]))
def test_numbers_with_decimals_are_read_back(tenths: int, form: str) -> None:
    assert read_score(form.format(tenths / 10), -40, 40) == tenths / 10
