"""Seeds, durations and sizes from the command line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import InputError
from podium.plan.values import parse_duration, parse_seeds, parse_size


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("3", (0, 1, 2)),
        ("1", (0,)),
        ("0-0", (0,)),
        ("2-4", (2, 3, 4)),
        ("0,2,7", (0, 2, 7)),
        ("5,0-1", (5, 0, 1)),
    ],
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize(
    "text", ["0", "-1", "1.5", "3-1", "", "a", "1,1", "0-1,1", "1-", "99999999", "0-4294967296"]
)
def test_bad_seeds_say_what_was_given(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_seeds(text)
    assert f"--seeds {text}" == caught.value.where


@pytest.mark.parametrize("text", ["9" * 5000, "0-" + "9" * 5000, "1," + "9" * 5000])
def test_endless_numbers_are_refused_too(text: str) -> None:
    with pytest.raises(InputError, match="too large"):
        parse_seeds(text)


@given(st.text(alphabet="0123456789,- .", max_size=12))
def test_any_seeds_text_gives_distinct_seeds_or_an_input_error(text: str) -> None:
    try:
        seeds = parse_seeds(text)
    except InputError:
        return
    assert seeds
    assert len(set(seeds)) == len(seeds)
    assert min(seeds) >= 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("2 h", 7200), ("3min", 180)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text, option="--time-limit") == seconds


@pytest.mark.parametrize("text", ["0", "-1", "x", "", "5d", "1e3", "nan", "inf", "9" * 400])
def test_bad_durations(text: str) -> None:
    with pytest.raises(InputError, match="not a duration"):
        parse_duration(text, option="--time-limit")


@pytest.mark.parametrize(
    ("text", "size"), [("2GiB", 2**31), ("500MB", 5 * 10**8), ("1.5 kib", 1536)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, option="--memory-limit") == size


@pytest.mark.parametrize(
    "text", ["2", "0GB", "-1GB", "GB", "", "2 TB", "9" * 30 + "B", "9" * 400 + "GB"]
)
def test_bad_sizes(text: str) -> None:
    with pytest.raises(InputError, match="not a size"):
        parse_size(text, option="--memory-limit")
