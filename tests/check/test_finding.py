from __future__ import annotations

import pytest

from podium.check.finding import Finding, Place, gathered
from podium.cli.check import Subject, _print


def test_places_with_the_same_faults_are_one_finding(capsys: pytest.CaptureFixture[str]) -> None:
    places = [
        Place(where="t/a", faults=("no scores",)),
        Place(where="t/b", faults=("wrong shape",)),
        Place(where="t/c", faults=("no scores",)),
        Place(where="t/d"),
    ]
    found = gathered("contract", places, fix="podium info t")
    assert [(f.state, f.message) for f in found] == [
        ("ok", "t/d"),
        ("failed", "t/a, t/c: no scores"),
        ("failed", "t/b: wrong shape"),
    ]
    other = Finding(name="seed", state="failed", message="same", fix="another fix")
    _print(Subject("entry", "mine", [*found, other]))
    out = capsys.readouterr().out
    assert out.count("fix: podium info t") == 1
    assert out.index("wrong shape") < out.index("fix: podium info t") < out.index("fix: another")
