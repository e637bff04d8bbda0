"""Read a score out of a judge's own words."""

from __future__ import annotations

import math
import re

_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBER = r"(?<![\w.])[+-]?[0-9]+(?:\.[0-9]+)?(?!\.?[0-9])(?![\w%])"
_WORD = rf"(?<![\w-])(?:(?:minus|negative) +)?(?:{'|'.join(_WORDS)})(?![\w-])"
_LABEL = r"\b(?:score|rating|grade|answer|result|verdict)\b[\]\"'*_]*(?: +is\b)?[\s:=*_\"'\[(]*"

# "on a scale of 1 to 5", "(from -4 to 4)": they name the scale, not a place on it.
_SCALE = re.compile(
    rf"\b(?:scale|range|from|between)\b(?: +(?:of|from|between))? *"
    rf"{_NUMBER} *(?:to|and|through|[-–—]) *[+-]?[0-9]+(?:\.[0-9]+)?"
)
_OUT_OF = re.compile(r" *\bout +of *(?:a +possible +)?")
_SHARE = re.compile(rf"({_NUMBER}|{_WORD}) */ *({_NUMBER}|{_WORD})(?![\w%])")
_FIRST_WORD = re.compile(rf"[\s\"'*_(]*({_WORD})(?= *(?:$|[.,;:!\n\"'*_)/]|stars?\b|points?\b))")
_LABELLED = re.compile(rf"{_LABEL}({_NUMBER}|{_WORD})")
_ANY = re.compile(_NUMBER)


def read_score(text: str, low: float, high: float) -> float:
    """Return the score that an answer names, or NaN where none can be read.

    Read are numbers in digits, with or without decimals and a sign ("4", "4.5.", "-2"), and
    numbers in words from zero to ten where the answer begins with one or a label stands before it
    ("four", "Score: minus two"). Of "4/5" and "4 out of 5" the first number is the score if the
    second is the highest level, and otherwise there is none: it is another scale. What names the
    scale ("from 1 to 5") is passed over.

    Of two or more numbers the first that follows a label counts (score, rating, grade, answer,
    result or verdict: "3 good points. Score: 4" is 4). Without a label the first line that has a
    number must have one alone, or the same one again: "4" and "5" on two lines is 4, but "4 or 5"
    and "3-4" are NaN.

    Args:
        text: the answer.
        low, high: the lowest and the highest level.

    Returns:
        A float in [low, high], or NaN: also for a number outside the scale, which is no answer.
    """
    plain = _OUT_OF.sub("/", text.replace("\u2212", "-").casefold())
    plain = _SCALE.sub(" ", plain)
    if any(_value(share[2]) != high for share in _SHARE.finditer(plain)):
        return math.nan
    plain = _SHARE.sub(lambda share: f" {share[1]} ", plain)
    value = _found(plain)
    return value if low <= value <= high else math.nan


def _found(plain: str) -> float:
    labelled = _LABELLED.search(plain)
    if labelled is not None:
        return _value(labelled[1])
    word = _FIRST_WORD.match(plain)
    if word is not None and not _ANY.search(plain.partition("\n")[0]):
        return _value(word[1])
    for line in plain.splitlines():
        values = {float(number) for number in _ANY.findall(line)}
        if values:
            return values.pop() if len(values) == 1 else math.nan
    return math.nan


def _value(number: str) -> float:
    """Return what a number in digits or words is."""
    *sign, word = number.split()
    if word in _WORDS:
        return float(-_WORDS.index(word) if sign else _WORDS.index(word))
    return float(number)
