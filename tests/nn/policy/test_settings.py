"""Settings name the argument that has no meaning."""

from __future__ import annotations

from typing import Any

import pytest

from podium.errors import InputError
from podium.nn.policy.merging import MergeSettings
from podium.nn.policy.settings import PolicySettings

POLICY: dict[str, Any] = {
    "updates": 1,
    "subsets": 4,
    "size": 2,
    "steps": 4,
    "noise_scale": 0.7,
    "trained_steps": 2,
    "keep": 0.25,
    "order": "signed",
    "clip": 1e-4,
    "learning_rate": 1e-4,
    "decay": 0.9,
}
MERGE: dict[str, Any] = {
    "updates": 1,
    "candidates": 4,
    "subsets": 1,
    "replacements": 1,
    "size": 8,
    "steps": 4,
    "spread": 0.1,
    "learning_rate": 0.01,
}


def test_plain_settings_are_taken() -> None:
    assert PolicySettings(**POLICY).max_norm == 1.0
    assert MergeSettings(**MERGE).candidates == 4


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("updates", -1),
        ("subsets", 1),
        ("size", 0),
        ("steps", 2.0),
        ("noise_scale", 0.0),
        ("noise_scale", "much"),
        ("trained_steps", 5),
        ("keep", 1.5),
        ("keep", 0.0),
        ("order", "largest"),
        ("clip", float("nan")),
        ("learning_rate", True),
        ("decay", 1.0),
        ("decay", -0.1),
    ],
)
def test_values_without_a_meaning_are_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        PolicySettings(**{**POLICY, name: value})


@pytest.mark.parametrize(("name", "value"), [("candidates", 1), ("spread", 0.0), ("size", 0)])
def test_a_merge_without_a_meaning_is_refused(name: str, value: object) -> None:
    with pytest.raises(InputError, match=name):
        MergeSettings(**{**MERGE, name: value})
