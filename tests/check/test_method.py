"""Every check of an entry catches the entry it is there for, and lets a good one pass."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from podium.check.finding import Finding
from podium.check.method import METHOD_CHECKS, Observed, check_method, check_methods, limits
from podium.plan.planner import Request, plan
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry
from podium.store.record import Cost, Record

DRAWN = 'context.rng("y").normal(size=6)'

# id: (body of run, check that fails, what it says)
BAD = {
    "seeds_numpy": (
        f"import numpy as np; np.random.seed(0); return {{'y': {DRAWN}}}",
        {"global_state": "numpy.random"},
    ),
    "seeds_python": (
        f"import random; random.seed(1); return {{'y': {DRAWN}}}",
        {"global_state": "state of random"},
    ),
    "reads_numpy": (
        "import numpy as np; return {'y': np.random.normal(size=6)}",
        {"determinism": "depends on global random state", "global_state": "numpy.random"},
    ),
    "peeks_at_python": (
        # Puts the state back: only the prediction gives it away.
        "import random, numpy as np; state = random.getstate()\n"
        "    y = np.array([random.random() for _ in range(6)])\n"
        "    random.setstate(state); return {'y': y}",
        {"determinism": "depends on global random state"},
    ),
    "clock": (
        "import time, numpy as np\n"
        "    return {'y': np.random.default_rng(time.time_ns()).normal(size=6)}",
        {"determinism": "two calls under one seed differ"},
    ),
    "ignores_seed": (
        "import numpy as np; return {'y': np.random.default_rng(0).normal(size=6)}",
        {"seed": "another seed gives the same prediction"},
    ),
    "not_a_number": (
        "import numpy as np; return {'y': np.full(6, np.nan)}",
        {"contract": "invalid: y: 6 values are not finite"},
    ),
    "wrong_dtype": (
        f"return {{'y': {DRAWN}.astype('float32')}}",
        {"contract": "dtype float32, expected float64"},
    ),
    "wrong_shape_and_extra": (
        f"return {{'y': {DRAWN}[:3], 'z': {DRAWN}}}",
        {"contract": "length 3 along axis 0, expected n = 6; 'z': unexpected"},
    ),
    "nothing": ("pass", {"contract": "the method returned None (did you forget return?)"}),
    "raises": ("raise RuntimeError('no luck')", {"contract": "raise RuntimeError('no luck')"}),
    "exits": ("raise SystemExit(0)", {"contract": "failed: SystemExit"}),
    "hangs": (
        "import time; time.sleep(600)",
        {"contract": "timeout", "limits": "took longer than 4 s"},
    ),
    "hangs_when_called_again": (
        "import pathlib, time\n"
        "    mark = pathlib.Path(__file__).with_name('ran')\n"
        "    if mark.exists():\n"
        "        time.sleep(600)\n"
        "    mark.touch()\n"
        f"    return {{'y': {DRAWN}}}",
        {"determinism": "called again: "},
    ),
    "allocates": (
        "import time, numpy as np\n"
        "    kept = []\n"
        "    while True:\n"
        "        kept.append(np.ones(1 << 22)); time.sleep(0.01)",
        {"contract": "out_of_memory", "limits": "MiB"},
    ),
    "leaves_a_child": (
        f"import subprocess; subprocess.Popen(['sleep', '600'])\n    return {{'y': {DRAWN}}}",
        {"children": "left running: sleep 600"},
    ),
    "leaves_a_grandchild": (
        "import subprocess; subprocess.run('setsid sleep 600 & true', shell=True)\n"
        f"    return {{'y': {DRAWN}}}",
        {"children": "left running: sleep 600"},
    ),
    "writes_input": (
        f"problem.public['x'][0] = 1.0; return {{'y': {DRAWN}}}",
        {"contract": "read-only"},
    ),
    "forces_input": (
        "owner = problem.public['x'].base; owner.flags.writeable = True; owner[0] = 1.0\n"
        f"    return {{'y': {DRAWN}}}",
        {"inputs": "x was changed in place"},
    ),
}

# The same, for what torch does; these share one server that has it loaded.
BAD_TORCH = {
    "seeds_torch": (
        f"import torch; torch.manual_seed(1); return {{'y': {DRAWN}}}",
        {"global_state": "torch"},
    ),
    "reads_torch": (
        "import torch; return {'y': torch.randn(6, dtype=torch.float64).numpy()}",
        {"determinism": "depends on global random state", "global_state": "torch"},
    ),
    "shares_input_with_torch": (
        "import torch; torch.from_numpy(problem.public['x']).mul_(2.0)\n"
        f"    return {{'y': {DRAWN}}}",
        {"inputs": "x was changed in place"},
    ),
}

SEEDED_FALSE = "seeded = false\n"
SEEDS_ON_IMPORT = f"""
import numpy as np
np.random.seed(0)
def run(problem, context):
    return {{"y": {DRAWN}}}
"""
USES_A_LIBRARY_THAT_DRAWS_ON_IMPORT = f"""
import sys
def run(problem, context):
    (context.scratch / "drawing_library.py").write_text("import random; random.random()")
    sys.path.insert(0, str(context.scratch))
    import drawing_library
    return {{"y": {DRAWN}}}
"""
UNSEEDED_GOOD = "def run(problem, context):\n    return {'y': 3.0 * problem.public['x']}\n"


@pytest.fixture(scope="module")
def task(make_task: Callable[..., Task]) -> Task:
    return make_task()


@pytest.fixture(scope="module")
def findings(
    task: Task,
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
) -> dict[str, list[Finding]]:
    """Check all entries of this module at once: servers start once."""
    entries = [make_entry("good"), make_entry("good_unseeded", UNSEEDED_GOOD, added=SEEDED_FALSE)]
    for id, (body, _) in BAD.items():
        entries.append(make_entry(id, f"def run(problem, context):\n    {body}\n"))
    for id, (body, _) in BAD_TORCH.items():
        code = f"def run(problem, context):\n    {body}\n"
        entries.append(make_entry(id, code, added='preload = ["torch"]\n'))
    random = f"def run(problem, context):\n    return {{'y': {DRAWN}}}\n"
    entries.append(make_entry("random_but_unseeded", random, added=SEEDED_FALSE))
    entries.append(make_entry("seeds_on_import", SEEDS_ON_IMPORT))
    entries.append(make_entry("imports_a_drawer", USES_A_LIBRARY_THAT_DRAWS_ON_IMPORT))
    missing = 'requires = ["no_such_package_x"]\nextra = "lm"\n'
    entries.append(make_entry("needs_more", added=missing))
    return check_methods(entries, make_registry([task], entries))


@pytest.mark.parametrize("id", ["good", "good_unseeded", "imports_a_drawer"])
def test_a_good_entry_passes_every_check(findings: dict[str, list[Finding]], id: str) -> None:
    assert [(f.name, f.state) for f in findings[id]] == [(name, "ok") for name in METHOD_CHECKS]


@pytest.mark.parametrize("id", [*BAD, *BAD_TORCH])
def test_a_bad_entry_fails_what_it_breaks_and_only_that(
    findings: dict[str, list[Finding]], id: str
) -> None:
    expected = {**BAD, **BAD_TORCH}[id][1]
    failed = {f.name: f for f in findings[id] if f.state == "failed"}
    assert set(failed) == set(expected)
    for name, said in expected.items():
        assert said in failed[name].message
        assert "echo/short" in failed[name].message or failed[name].message.startswith("echo:")
        assert failed[name].fix


def test_code_at_the_top_of_a_module_is_held_to_the_same(
    findings: dict[str, list[Finding]],
) -> None:
    failed = [f for f in findings["seeds_on_import"] if f.state == "failed"]
    assert [f.name for f in failed] == ["global_state"]
    assert "numpy.random" in failed[0].message


def test_a_run_that_fails_leaves_the_rest_unjudged(findings: dict[str, list[Finding]]) -> None:
    states = {f.name: f.state for f in findings["raises"]}
    assert states["declaration"] == states["requirements"] == "ok"
    assert states["contract"] == "failed"
    assert {states[name] for name in METHOD_CHECKS[3:]} == {"skipped"}


def test_seeded_false_must_be_true(findings: dict[str, list[Finding]]) -> None:
    failed = [f for f in findings["random_but_unseeded"] if f.state == "failed"]
    assert [f.name for f in failed] == ["seed"]
    assert "seeded = false" in failed[0].message


def test_a_missing_requirement_skips_the_rest_and_says_what_to_install(
    findings: dict[str, list[Finding]],
) -> None:
    declared, requirements, *rest = findings["needs_more"]
    assert declared.state == "ok"
    assert (requirements.name, requirements.state) == ("requirements", "skipped")
    assert "no_such_package_x" in requirements.message
    assert requirements.fix == 'pip install "podium[lm]"'
    assert [f.name for f in rest] == list(METHOD_CHECKS[2:])
    assert {f.state for f in rest} == {"skipped"}


@pytest.mark.parametrize(
    ("score", "said"),
    [
        ("return {'error': float('nan')}", "error is NaN without a reason"),
        ("return {'error': float(np.random.random())}", "error differs when scored again"),
        ("instance.hidden['t'] += 1.0; return {'error': 0.5}", "scoring changed hidden t in place"),
        ("np.random.seed(0); return {'error': 0.5}", "the global state of numpy.random"),
    ],
)
def test_a_scorer_is_tried_on_what_a_method_really_predicts(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
    score: str,
    said: str,
) -> None:
    code = f"""
    import numpy as np
    from podium.contracts import Instance

    def build(recipe, context):
        x = context.rng("x").normal(size=6)
        return Instance(public={{"x": x}}, hidden={{"t": 2 * x}})

    def score(prediction, instance, recipe):
        {score}
    """
    entry = make_entry()
    found = check_method(entry, make_registry([make_task(code)], [entry]))
    failed = [f for f in found if f.state == "failed"]
    assert [f.name for f in failed] == ["scores"]
    assert said in failed[0].message


def observed(
    task: Task, entry: Entry, registry: Registry, toy_record: Callable[..., Record], cost: Cost
) -> list[Observed]:
    request = Request(tasks=(task.id,), tier="smoke", entries=(entry.id,), seeds=(0,))
    (spec,) = plan(registry, request)
    return [Observed(spec, msgspec.structs.replace(toy_record(), status="ok", cost=cost))]


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (Cost(wall_seconds=2.0, cpu_seconds=2.1, peak_bytes=2**28), None),
        (Cost(wall_seconds=2.0, cpu_seconds=3.9, peak_bytes=2**28), "3.90 s of CPU in 2.00 s"),
        (Cost(wall_seconds=4.5, cpu_seconds=1.0, peak_bytes=2**28), "4.5 s of wall time"),
        (Cost(wall_seconds=2.0, cpu_seconds=1.0, peak_bytes=2**31), "2048 MiB"),
    ],
)
def test_limits_are_judged_from_what_the_run_took(
    task: Task,
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
    toy_record: Callable[..., Record],
    cost: Cost,
    said: str | None,
) -> None:
    entry = make_entry()
    seen = observed(task, entry, make_registry([task], [entry]), toy_record, cost)
    (finding,) = limits(seen)
    assert finding.state == ("ok" if said is None else "failed")
    assert said is None or said in finding.message


def test_a_task_without_smoke_problems_leaves_nothing_to_run(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
) -> None:
    entry = make_entry()
    small = make_task(replaced={'["smoke"]': '["small"]'})
    declared, *rest = check_method(entry, make_registry([small], [entry]))
    assert declared.state == "ok"
    assert {f.state for f in rest} == {"skipped"}
    assert "smoke" in rest[0].message


@pytest.mark.parametrize(("random_on", "state"), [("short", "ok"), ("long", "ok"), ("x", "failed")])
def test_the_seed_must_matter_on_one_problem(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
    random_on: str,
    state: str,
) -> None:
    task = make_task(added='[[problems]]\nid = "long"\ntitle = "Long"\ntiers = ["smoke"]\n')
    code = f"""
    def run(problem, context):
        if problem.id == {random_on!r}:
            return {{"y": {DRAWN}}}
        return {{"y": 2.0 * problem.public["x"]}}
    """
    entry = make_entry(code=code)
    found = check_method(entry, make_registry([task], [entry]))
    assert [(f.name, f.state) for f in found if f.name == "seed"] == [("seed", state)]
    assert {f.state for f in found if f.name != "seed"} == {"ok"}
