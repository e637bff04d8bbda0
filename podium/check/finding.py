"""What a conformance check found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

State = Literal["ok", "failed", "skipped"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one named check: its state, what was seen, and what to do about it."""

    name: str
    state: State
    message: str
    fix: str | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """The faults a check saw in one place; none means that the check held there.

    ``skipped`` says why the check could not be made there.
    """

    where: str
    faults: tuple[str, ...] = ()
    skipped: str | None = None


def gathered(name: str, places: Sequence[Place], *, fix: str) -> list[Finding]:
    """Return one finding for all places alike: with the same faults, skipped alike, or sound."""
    findings = []
    alike: dict[tuple[tuple[str, ...], str | None], list[str]] = {}
    for place in places:
        alike.setdefault((place.faults, place.skipped), []).append(place.where)
    for (faults, why), where in alike.items():
        if faults:
            message = f"{', '.join(where)}: {'; '.join(faults)}"
            findings.append(Finding(name=name, state="failed", message=message, fix=fix))
        elif why is not None:
            message = f"{', '.join(where)}: {why}"
            findings.append(Finding(name=name, state="skipped", message=message))
    held = [p.where for p in places if not p.faults and p.skipped is None]
    if held:
        findings.insert(0, Finding(name=name, state="ok", message=", ".join(held)))
    return findings


def skipped(names: Sequence[str], reason: str) -> list[Finding]:
    """Return a finding for each check that could not be made, and why."""
    return [Finding(name=name, state="skipped", message=reason) for name in names]


def failed(findings: Sequence[Finding]) -> bool:
    """Tell whether any of the checks failed."""
    return any(f.state == "failed" for f in findings)
