"""Prompts, and texts that are too long for a model."""

from __future__ import annotations

import numpy as np
import pytest

from podium.lm.prompts import fitted_prompts, judge_prompt, spelled_levels

SCALE = np.array([1.0, 2.0, 3.0])


def test_prompt_holds_rubric_text_and_scale() -> None:
    prompt = judge_prompt("Rate {it}.", "50% {off} of\nthis", SCALE)
    assert prompt.startswith("Rate {it}.")
    assert "Text: 50% {off} of\nthis" in prompt
    assert "from 1 to 3" in prompt
    assert prompt.endswith(":")


def test_an_empty_text_has_a_prompt() -> None:
    assert "Text: \n" in judge_prompt("Rate.", "", SCALE)


@pytest.mark.parametrize(
    ("levels", "words"),
    [([-4, 0, 4], ["-4", "0", "4"]), ([0.5, 1.25], ["0.5", "1.25"]), ([0, 100], ["0", "100"])],
)
def test_levels_are_written_as_people_do(levels: list[float], words: list[str]) -> None:
    assert spelled_levels(levels) == words


@pytest.mark.parametrize("text", ["x" * 1000, "é" * 1000, "\U0001f600" * 300])
def test_a_long_text_loses_its_end(text: str) -> None:
    def count(prompt: str) -> int:
        return len(prompt.encode())

    room = count(judge_prompt("Rate.", "", SCALE)) + 101
    prompts, cut = fitted_prompts("Rate.", ["short", text], SCALE, room=room, count=count)
    assert cut == 1
    assert prompts[0] == judge_prompt("Rate.", "short", SCALE)
    kept = prompts[1].partition("Text: ")[2].partition("\n")[0]
    assert text.startswith(kept)
    assert room - len(text[0].encode()) < count(prompts[1]) <= room


def test_a_rubric_that_leaves_no_room_leaves_no_text() -> None:
    prompts, cut = fitted_prompts("Rate.", ["abc"], SCALE, room=3, count=len)
    assert cut == 1
    assert prompts == [judge_prompt("Rate.", "", SCALE)]


def test_any_length_goes_where_the_model_does_not_say() -> None:
    prompts, cut = fitted_prompts("Rate.", ["x" * 10_000], SCALE, room=None, count=len)
    assert cut == 0
    assert "x" * 10_000 in prompts[0]
