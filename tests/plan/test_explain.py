"""`--explain` names the part of the key that changed."""

from __future__ import annotations

import msgspec

from podium.plan.explain import explain
from podium.plan.spec import Location, RunSpec
from podium.store.record import Status

AT = Location(package=None, folder="/nowhere")


class Earlier(msgspec.Struct, frozen=True):
    key: str
    key_parts: dict[str, str]
    status: Status
    identity: tuple[str, int, str, str, str, int]


def spec(parts: dict[str, str]) -> RunSpec:
    return RunSpec(
        key="new", key_parts=parts, task="t", task_version=2, task_at=AT, problem="p", params={},
        tier="small", entry="e", entry_id="e", entry_at=AT, kind="baseline", origin="podium",
        function="method:run", preload=(), requires=(), extra=None, config={}, overrides={}, seed=0,
    )  # fmt: skip


def before(key: str, parts: dict[str, str], status: Status = "ok") -> Earlier:
    return Earlier(key, parts, status, ("t", 1, "small", "p", "e", 0))


def test_each_reason() -> None:
    run = spec({"task": "t v2", "entry source": "b", "config": "{}"})
    assert explain([run], []) == {"new": "never run here"}
    assert explain([run], [before("new", run.key_parts)]) == {"new": "finished, skipped"}
    failed = explain([run], [before("new", run.key_parts, "failed")])
    assert failed == {"new": "ended as failed before"}
    old = {"task": "t v1", "entry source": "a", "config": "{}"}
    assert explain([run], [before("old", old)]) == {
        "new": "changed: task (t v1 -> t v2), entry source"
    }


def test_another_seed_is_no_earlier_run() -> None:
    run = spec({})
    other = Earlier("k", {}, "ok", ("t", 1, "small", "p", "e", 1))
    assert explain([run], [other]) == {"new": "never run here"}
