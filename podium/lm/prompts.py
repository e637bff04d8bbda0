"""What a language model is asked, and how many characters of a text it gets to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy.typing as npt

_FORM = "{rubric}\n\nText: {text}\nScore (a number from {low} to {high}):"
"""The scale stands last: a small model asked for a bare score writes 100, whatever the rubric."""


def judge_prompt(rubric: str, text: str, levels: npt.ArrayLike) -> str:
    """Return the zero-shot prompt for one text.

    Args:
        rubric: the instruction, and what the scale means.
        text: what is to be judged; it may be empty.
        levels: the scale, rising.
    """
    spelled = spelled_levels(levels)
    return _FORM.format(rubric=rubric.strip(), text=text, low=spelled[0], high=spelled[-1])


def spelled_levels(levels: npt.ArrayLike) -> list[str]:
    """Return the levels as a judge would write them: ``-4``, ``0``, ``3.5``."""
    import numpy as np

    return [f"{level:.12g}" for level in np.asarray(levels, dtype=np.float64)]


def fitted_prompts(
    rubric: str,
    texts: Sequence[str],
    levels: npt.ArrayLike,
    *,
    room: int | None,
    count: Callable[[str], int],
) -> tuple[list[str], int]:
    """Return a prompt for every text, and how many texts had to be cut.

    A text that is too long loses its end, so that the rubric and the question stay.

    Args:
        rubric, texts, levels: see ``judge_prompt``.
        room: tokens that a prompt may have; None for any number.
        count: says how many tokens a prompt has; more characters never have fewer.
    """
    prompts, cut = [], 0
    for text in texts:
        prompt = judge_prompt(rubric, text, levels)
        # A token stands for one byte or more: most prompts need no tokenizer to be short enough.
        if room is not None and len(prompt.encode()) > room and count(prompt) > room:
            low, high = 0, len(text)
            while high - low > 1:
                middle = (low + high) // 2
                fits = count(judge_prompt(rubric, text[:middle], levels)) <= room
                low, high = (middle, high) if fits else (low, middle)
            prompt = judge_prompt(rubric, text[:low], levels)
            cut += 1
        prompts.append(prompt)
    return prompts, cut
