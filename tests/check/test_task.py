"""Every check of a task catches the task it is there for, and lets a good one pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from podium.check.finding import Finding
from podium.check.task import TASK_CHECKS, check_task, check_tasks
from podium.registry.model import Entry, Task
from podium.registry.registry import Registry

BUILD = """
    x = context.rng("x").normal(size=6)
    return Instance(public={"x": x}, hidden={"truth": 2 * x})
"""
SCORE = """
    error = np.abs(prediction["y"] - instance.hidden["truth"])
    return {"error": float(np.mean(error / (1.0 + error)))}
"""


def code(build: str = BUILD, score: str = SCORE) -> str:
    head = "import time\nimport numpy as np\nfrom podium.contracts import Instance, Undefined\n"
    return (
        f"{head}\ndef build(recipe, context):\n    {build.strip()}\n"
        f"\ndef score(prediction, instance, recipe):\n    {score.strip()}\n"
    )


# what is wrong: (body of build, body of score, checks that fail and what they say)
BAD_CODE: Mapping[str, tuple[str, str, dict[str, str]]] = {
    "build returns no instance": (
        "return {'x': np.zeros(6)}",
        SCORE,
        {"build": "build returned dict, expected an Instance"},
    ),
    "build breaks its contract": (
        "return Instance(public={'x': np.zeros((6, 1)), 'z': np.zeros(2)})",
        SCORE,
        {"build": "x: 2 dimensions, expected float64 of shape [n]; 'z': unexpected"},
    ),
    "build raises": ("raise RuntimeError('no luck')", SCORE, {"build": "no luck"}),
    "build hangs": ("time.sleep(600)", SCORE, {"build": "took longer than 4 s"}),
    "build reads the clock": (
        "x = np.random.default_rng(time.time_ns()).normal(size=6)\n"
        "    return Instance(public={'x': x}, hidden={'truth': 2 * x})",
        SCORE,
        {"determinism": "public x differs under one seed"},
    ),
    "build reads numpy's state": (
        "x = np.random.normal(size=6)\n"
        "    return Instance(public={'x': x}, hidden={'truth': 2 * x})",
        SCORE,
        {
            "determinism": "hidden truth differs under one seed",
            "seed": "another seed gives the same data",
            "global_state": "numpy.random",
        },
    ),
    "build seeds numpy": (
        "np.random.seed(recipe.seed)\n    " + BUILD.strip(),
        SCORE,
        {"global_state": "numpy.random"},
    ),
    "build ignores the seed": (
        "x = np.arange(6.0)\n    return Instance(public={'x': x}, hidden={'truth': 2 * x})",
        SCORE,
        {"seed": "another seed gives the same data"},
    ),
    "the answer is public": (
        "x = context.rng('x').normal(size=6)\n"
        "    return Instance(public={'x': x}, hidden={'truth': x.reshape(2, 3)})",
        "return {'error': 0.5}",
        {"hidden": "hidden truth has the values of public x"},
    ),
    "the answer is public under its name": (
        "x = context.rng('x').normal(size=6)\n"
        "    return Instance(public={'x': x}, hidden={'x': 2 * x})",
        "return {'error': 0.5}",
        {"hidden": "hidden x is public under its own name"},
    ),
    "score out of range": (
        BUILD,
        "return {'error': float(np.abs(prediction['y'] - instance.hidden['truth']).sum())}",
        {"scorer": "outside its range [0, 1]"},
    ),
    "score is NaN for a constant": (
        BUILD,
        "s = prediction['y'].std()\n"
        "    return {'error': float(min(1.0, np.divide(0.5, s))) if s > 0 else float('nan')}",
        {"scorer": "zeros prediction: metric error is NaN without a reason"},
    ),
    "score has a reason but an empty one": (
        BUILD,
        "return {'error': Undefined(' ')}",
        {"scorer": "Undefined with an empty reason"},
    ),
    "score lacks a metric and has another": (
        BUILD,
        "return {'fault': 0.5}",
        {"scorer": "metric error is missing"},
    ),
    "score raises": (
        BUILD,
        "assert prediction['y'].std() > 0, 'constant'\n    return {'error': 0.5}",
        {"scorer": "constant prediction: score raised AssertionError: constant"},
    ),
    "score draws": (
        BUILD,
        "return {'error': float(np.random.random())}",
        {"scorer_determinism": "error differs", "global_state": "numpy.random"},
    ),
    "score reads the clock": (
        BUILD,
        "return {'error': float(np.random.default_rng(time.time_ns()).random())}",
        {"scorer_determinism": "error differs"},
    ),
    "score sorts the prediction": (
        BUILD,
        "prediction['y'].sort(); prediction['y'][0] -= 1.0\n    return {'error': 0.5}",
        {"scorer_inputs": "prediction y was changed in place"},
    ),
    "score changes the answer": (
        BUILD,
        "instance.hidden['truth'] *= 2.0\n    return {'error': 0.5}",
        {"scorer_inputs": "hidden truth was changed in place"},
    ),
}

Checker = Callable[..., list[Finding]]


@pytest.fixture(scope="module")
def check(make_entry: Callable[..., Entry], make_registry: Callable[..., Registry]) -> Checker:
    control = make_entry("knows_nothing", kind="control")

    def run(task: Task, entries: tuple[Entry, ...] = (control,)) -> list[Finding]:
        return check_task(task, make_registry([task], entries), jobs=1)

    return run


@pytest.fixture(scope="module")
def bad(
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    make_registry: Callable[..., Registry],
) -> dict[str, list[Finding]]:
    """Check the tasks of ``BAD_CODE`` at once: a server starts once."""
    ids = {case: f"echo_{number}" for number, case in enumerate(BAD_CODE)}
    tasks = [
        make_task(code(*BAD_CODE[case][:2]), replaced={'id = "echo"': f'id = "{id}"'})
        for case, id in ids.items()
    ]
    names = ", ".join(f'"{id}"' for id in ids.values())
    control = make_entry("knows_nothing", kind="control", tasks=f"[{names}]")
    found = check_tasks(tasks, make_registry(tasks, [control]))
    return {case: found[id] for case, id in ids.items()}


def failures(findings: list[Finding]) -> dict[str, Finding]:
    return {f.name: f for f in findings if f.state == "failed"}


def test_a_good_task_passes_every_check(check: Checker, make_task: Callable[..., Task]) -> None:
    found = check(make_task())
    assert [(f.name, f.state) for f in found] == [(name, "ok") for name in TASK_CHECKS]


@pytest.mark.parametrize("case", BAD_CODE)
def test_a_bad_task_fails_what_it_breaks_and_only_that(
    bad: dict[str, list[Finding]], case: str
) -> None:
    expected = BAD_CODE[case][2]
    failed = failures(bad[case])
    assert set(failed) == set(expected)
    for name, said in expected.items():
        assert said in failed[name].message
        assert failed[name].message.startswith("echo_")
        assert failed[name].fix


def test_code_at_the_top_of_a_module_is_held_to_the_same(
    check: Checker, make_task: Callable[..., Task]
) -> None:
    failed = failures(check(make_task("import random\nrandom.seed(0)\n" + code())))
    assert set(failed) == {"global_state"}
    assert "state of random" in failed["global_state"].message


@pytest.mark.parametrize("refused", ["True", "prediction['y'].std() == 0"])
def test_a_scorer_that_refuses_what_is_no_answer_is_no_fault(
    check: Checker, make_task: Callable[..., Task], refused: str
) -> None:
    score = (
        "from podium.contracts import InvalidPredictionError\n"
        f"    if {refused}:\n"
        "        raise InvalidPredictionError('no answer')\n"
        "    return {'error': float(np.random.random())}"
    )
    states = {f.name: f.state for f in check(make_task(code(score=score)))}
    everything = refused == "True"
    assert states["scorer"] == ("skipped" if everything else "ok")
    # Refusing all leaves the scorer untried, which must not read as a pass.
    assert states["scorer_determinism"] == ("skipped" if everything else "failed")


def test_a_problem_that_cannot_be_built_leaves_the_rest_unjudged(
    bad: dict[str, list[Finding]],
) -> None:
    states = {f.name: f.state for f in bad["build raises"]}
    after = TASK_CHECKS[TASK_CHECKS.index("build") + 1 :]
    assert {states[name] for name in after} == {"skipped"}


@pytest.mark.parametrize("card", [None, " \n"])
def test_a_task_needs_a_card(
    check: Checker, make_task: Callable[..., Task], card: str | None
) -> None:
    assert set(failures(check(make_task(card=card)))) == {"card"}


def test_a_task_needs_a_control(
    check: Checker, make_task: Callable[..., Task], make_entry: Callable[..., Entry]
) -> None:
    failed = failures(check(make_task(), (make_entry(),)))
    assert set(failed) == {"controls"}


def test_a_task_needs_a_smoke_problem(check: Checker, make_task: Callable[..., Task]) -> None:
    failed = failures(check(make_task(replaced={'["smoke"]': '["small"]'})))
    assert set(failed) == {"smoke"}


CLAIM = """
[[claims]]
id = "better"
statement = "It is better."
source = "A paper"
left = "{left}"
right = "knows_nothing"
metric = "error"
problems = ["short"]
tier = "smoke"
at_least = 0.0
"""


@pytest.mark.parametrize(("left", "known"), [("knows_more", True), ("knows_all", False)])
def test_claims_name_entries_of_the_task(
    check: Checker,
    make_task: Callable[..., Task],
    make_entry: Callable[..., Entry],
    left: str,
    known: bool,
) -> None:
    entries = tuple(make_entry(name, kind="control") for name in ("knows_nothing", "knows_more"))
    failed = failures(check(make_task(added=CLAIM.format(left=left)), entries))
    assert set(failed) == (set() if known else {"claims"})
    if not known:
        assert "better: no entry 'knows_all'" in failed["claims"].message


FILE = """
[[files]]
name = "a/data.bin"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
{more}

[[problems]]
id = "other"
title = "Other"
tiers = ["small"]
files = ["a/data.bin"]
"""


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('url = "https://example.org/data.bin"\nlicence = "MIT"', None),
        ('url = "https://example.org/data.bin"', "no licence"),
        ('licence = "MIT"', "no source"),
    ],
)
def test_files_have_a_licence_and_a_source(
    check: Checker, make_task: Callable[..., Task], more: str, said: str | None
) -> None:
    failed = failures(check(make_task(added=FILE.format(more=more))))
    assert set(failed) == (set() if said is None else {"files"})
    assert said is None or said in failed["files"].message


def test_a_file_that_is_not_here_skips_the_problem_and_says_what_to_do(
    check: Checker,
    make_task: Callable[..., Task],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    more = 'url = "https://example.org/data.bin"\nlicence = "MIT"'
    added = FILE.format(more=more).replace('"small"', '"smoke"')
    build = "context.files.path('a/data.bin') if recipe.problem == 'other' else 0\n    "
    found = check(make_task(code(build + BUILD.strip()), added=added))
    assert failures(found) == {}
    (built,) = [f for f in found if f.name == "build" and f.state == "skipped"]
    assert "a/data.bin" in built.message


def test_the_same_data_under_every_seed_is_allowed_where_files_are_read(
    check: Checker, make_task: Callable[..., Task]
) -> None:
    more = 'url = "https://example.org/data.bin"\nlicence = "MIT"'
    added = FILE.format(more=more).replace('"small"', '"smoke"')
    x = "context.rng('x').normal(size=6) if recipe.problem == 'short' else np.arange(6.0)"
    build = f"x = {x}\n    return Instance(public={{'x': x}}, hidden={{'truth': 2 * x}})"
    assert failures(check(make_task(code(build), added=added))) == {}
