"""What an entry or a task can do wrong, and what the record says of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from podium.contracts import Prediction
from podium.declarations.task import ArraySpec, ArraysSpec, MetricSpec, TaskSpec
from podium.plan.spec import RunSpec
from podium.runner.execute import execute
from podium.store.record import Provenance, Record

MakeSpec = Callable[..., RunSpec]
MakeTask = Callable[..., TaskSpec]
Go = Callable[..., tuple[Record, Prediction | None]]


@pytest.fixture
def go(make_spec: MakeSpec, make_task: MakeTask, origin: Provenance) -> Go:
    def run(method: str | None = None, **changes: Any) -> tuple[Record, Prediction | None]:
        spec = make_spec(**changes) if method is None else make_spec(method, **changes)
        return execute(spec, make_task(), provenance=origin)[:2]

    return run


def test_a_sound_run_is_scored_and_measured(go: Go) -> None:
    record, prediction = go(config={"factor": 3.0}, params={"n": 4})
    assert (record.status, record.reason, record.traceback) == ("ok", None, None)
    assert prediction is not None
    assert prediction["y"].shape == (4,)
    assert record.metrics["error"].value == pytest.approx(np.mean((prediction["y"] / 3) ** 2))
    cost = record.cost
    for value in (cost.wall_seconds, cost.build_seconds, cost.score_seconds, cost.peak_bytes):
        assert value is not None
        assert value > 0
    assert record.started < record.finished
    assert record.started.endswith("Z")
    assert record.config == {"factor": 3.0}


def test_the_data_follow_the_seed_not_the_entry(go: Go) -> None:
    def data(**changes: Any) -> list[float]:
        prediction = go(**changes)[1]
        assert prediction is not None
        return [float(v) for v in prediction["y"]]

    assert data(seed=0) == data(seed=0, entry="other")
    assert data(seed=0) != data(seed=1)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("def run(p, c): raise ValueError('bad\\nworse')", "ValueError: bad"),
        ("def run(p, c): raise SystemExit(3)", "SystemExit: 3"),
        ("def run(p, c): raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def run(p, c)", "SyntaxError: expected ':' (method.py, line 1)"),
        ("x = 1", "InputError: "),
        ("def run(p, c):\n    p.public['x'][0] = 1", "ValueError: assignment destination is"),
        ("def run(p, c):\n    p.public['x'] = 1", "TypeError: 'mappingproxy' object does not"),
        ("def run(p, c): return run(p, c)", "RecursionError: maximum recursion depth exceeded"),
        (
            "class E(Exception):\n    def __str__(self): raise RuntimeError\n"
            "def run(p, c): raise E",
            "E: (its message cannot be shown)",
        ),
        ("def run(p, c): raise ValueError('odd \\udcff')", "ValueError: odd \\udcff"),
    ],
)
def test_whatever_an_entry_raises_is_a_failed_run(go: Go, method: str, reason: str) -> None:
    record, prediction = go(method)
    assert record.status == "failed"
    assert record.reason is not None
    assert record.reason.startswith(reason)
    assert "\n" not in record.reason
    assert record.traceback
    assert record.metrics == {}
    assert prediction is None
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_the_traceback_begins_in_the_entry_and_names_no_home(go: Go, tmp_path: Path) -> None:
    record, _ = go("def run(p, c):\n    print('last words')\n    helper()\ndef helper(): 1 / 0")
    assert record.traceback is not None
    assert "method.py" in record.traceback.splitlines()[1]
    assert "line 4, in helper" in record.traceback
    assert "last words" in record.traceback
    assert str(tmp_path) not in record.traceback
    assert "execute.py" not in record.traceback


def test_memory_that_is_not_there_has_a_status_of_its_own(go: Go) -> None:
    record, _ = go("import numpy as np\ndef run(p, c): np.zeros(10**17)")
    assert record.status == "out_of_memory"
    record, _ = go(
        "class OutOfMemoryError(RuntimeError): pass\n"
        "OutOfMemoryError.__module__ = 'torch.cuda'\n"
        "def run(p, c): raise OutOfMemoryError('CUDA out of memory')"
    )
    assert record.status == "out_of_memory"


@pytest.mark.parametrize(
    ("returned", "parts"),
    [
        ("None", ["the method returned None (did you forget return?), expected named arrays: y"]),
        ("[1]", ["the method returned list"]),
        ("{}", ["y: missing, expected float64 of shape [n]"]),
        ("{'y': x * float('nan')}", ["y: 5 values are not finite, the first (nan) at [0]"]),
        ("{'y': x.astype('float32')}", ["y: dtype float32, expected float64"]),
        ("{'y': x[:2], 'z': x}", ["y: length 2 along axis 0, expected n = 5", "'z': unexpected"]),
        ("{'y': list(x)}", ["y: list, expected a numpy.ndarray"]),
    ],
)
def test_a_prediction_that_breaks_the_contract_is_invalid(
    go: Go, returned: str, parts: list[str]
) -> None:
    record, prediction = go(f"def run(p, c):\n    x = p.public['x']\n    return {returned}")
    assert record.status == "invalid"
    assert record.reason is not None
    for part in parts:
        assert part in record.reason
    assert prediction is None
    assert record.metrics == {}


def test_emitted_rows_are_part_of_the_prediction(go: Go) -> None:
    method = """
    def run(p, c):
        for value in p.public["x"]:
            c.emit("y", 2 * value.reshape(1))
    """
    record, prediction = go(method)
    assert record.status == "ok"
    assert record.metrics["error"].value == 0
    assert prediction is not None
    assert len(prediction["y"]) == 5  # still readable after its file is gone

    twice = "def run(p, c):\n    x = p.public['x']\n    c.emit('y', x)\n    return {'y': x}"
    record, _ = go(twice)
    assert (record.status, record.reason) == ("invalid", "y: both returned and emitted")


def scorer(body: str, public: str = "{'x': np.zeros(5)}") -> str:
    return (
        "import numpy as np\nfrom podium.contracts import Instance, Undefined\n"
        f"def build(recipe, context): return Instance(public={public})\n"
        f"def score(prediction, instance, recipe): {body}\n"
    )


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        (scorer("return {}"), "metric error is missing"),
        (scorer("return {'error': 1.0, 'b': 2.0}"), "metric 'b' is not declared"),
        (scorer("return {'error': -1.0}"), "metric error is -1, outside its range [0, inf]"),
        (scorer("return {'error': '1'}"), "metric error is str, expected a number"),
        (scorer("return {'error': True}"), "metric error is bool, expected a number"),
        (scorer("return None"), "it returned NoneType, expected a mapping"),
        (scorer("1 / 0"), "score() of task 'tiny' failed: ZeroDivisionError"),
        (scorer("prediction['y'][0] = 1"), "score() of task 'tiny' failed: ValueError"),
        (scorer("", "{}").replace(": \n", ": pass\n"), "build() of task 'tiny' broke its contract"),
        (scorer("pass", "{'x': np.ones(3) * np.nan}"), "x: 3 values are not finite"),
        ("def build(r, c): return 1\ndef score(p, i, r): pass", "it returned int, expected an"),
        ("def build(r, c): 1 / 0\ndef score(p, i, r): pass", "build() of task 'tiny' failed: Zero"),
        ("def build(r, c): pass", "InputError: "),
    ],
)
def test_a_fault_of_the_task_is_named_as_its_own(go: Go, task: str, reason: str) -> None:
    record, _ = go(task=task)
    assert record.status == "failed"
    assert record.reason is not None
    assert reason in record.reason


def test_a_prediction_that_the_scorer_refuses_is_invalid(go: Go) -> None:
    body = "raise InvalidPredictionError('the plan carries no mass')"
    task = "from podium.contracts import InvalidPredictionError\n" + scorer(body)
    record, _ = go(task=task)
    assert (record.status, record.reason) == ("invalid", "the plan carries no mass")
    assert record.metrics == {}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return {'error': Undefined('one class only')}", "one class only"),
        ("return {'error': float('nan')}", "the scorer returned NaN and gave no reason"),
        ("return {'error': np.float64('inf')}", "the score is inf"),
    ],
)
def test_a_score_without_a_value_says_why(go: Go, body: str, reason: str) -> None:
    record, _ = go(task=scorer(body))
    assert record.status == "ok"
    assert (record.metrics["error"].value, record.metrics["error"].reason) == (None, reason)


def test_rounding_past_a_bound_is_set_to_the_bound(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance
) -> None:
    metric = MetricSpec(name="error", title="E", direction="higher", range=(0.0, 1.0), primary=True)
    spec = make_spec(task=scorer("return {'error': 1 + 1e-12}"))
    record, *_ = execute(spec, make_task(metrics=(metric,)), provenance=origin)
    assert record.metrics["error"].value == 1.0


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        (
            {"requires": ("no_such_package",), "extra": "peers"},
            ["no_such_package is not installed", 'pip install "podium[peers]"'],
        ),
        ({"requires": ("no.such", "numpy")}, ["no.such is not installed", "pip install no.such"]),
        ({"device": "cuda:99"}, ["device cuda:99 is not available"]),
        ({"device": "tpu"}, ["unknown device 'tpu'"]),
    ],
)
def test_what_the_machine_lacks_skips_the_run(
    go: Go, changes: dict[str, Any], parts: list[str]
) -> None:
    record, _ = go(**changes)
    assert record.status == "skipped"
    assert record.reason is not None
    for part in parts:
        assert part in record.reason


def test_a_distribution_counts_as_installed_by_its_own_name(go: Go) -> None:
    assert go(requires=("scikit-learn", "numpy.linalg"))[0].status == "ok"


def test_nothing_is_printed_and_nothing_is_left(
    go: Go, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    record, _ = go(
        """
        import os, sys
        def run(p, c):
            print("python")
            os.write(1, b"descriptor")
            os.system("echo child")
            (c.scratch / "file").write_text("x")
            return {"y": 2 * p.public["x"]}
        """
    )
    print("after")
    assert record.status == "ok"
    assert capfd.readouterr().out == "after\n"
    assert list(scratch.iterdir()) == []
    assert sys.stdout.writable()


def test_progress_phases_and_curves_reach_the_caller(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance
) -> None:
    heard: list[Any] = []
    spec = make_spec(
        """
        def run(p, c):
            c.log(1, loss=0.5)
            c.progress(1, 2, "half")
            return {"y": p.public["x"]}
        """
    )
    record, *_ = execute(
        spec,
        make_task(),
        provenance=origin,
        attempts=2,
        progress=lambda *values: heard.append(values),
        phase=heard.append,
    )
    assert heard == ["build", "method", (1.0, 2.0, "half"), "score"]
    assert record.curves == {"step": [1.0], "loss": [0.5]}
    assert record.attempts == 2


def test_the_processor_time_of_children_counts(go: Go) -> None:
    record, _ = go(
        """
        import subprocess, sys
        def run(p, c):
            subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
            return {"y": p.public["x"]}
        """
    )
    assert record.cost.cpu_seconds is not None
    assert record.cost.cpu_seconds > 0.03


def test_two_entries_with_modules_of_one_name_do_not_meet(go: Go) -> None:
    method = (
        "from podium.contracts import Problem\n{}\ndef run(p, c): return {{'y': V * p.public['x']}}"
    )
    first, _ = go(method.format("V = 2"))
    second, _ = go(method.format("V = 3"))
    assert first.metrics["error"].value == 0
    assert second.metrics["error"].value != 0


def test_large_predictions_need_not_fit_in_memory(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance
) -> None:
    arrays = ArraysSpec(
        public=(ArraySpec(name="x", dtype="float64", shape=("n",)),),
        prediction=(ArraySpec(name="y", dtype="float32", shape=("rows", 1000)),),
    )
    spec = make_spec(
        """
        import numpy as np
        def run(p, c):
            chunk = np.ones((1000, 1000), dtype="float32")
            for _ in range(5):
                c.emit("y", chunk)
        """,
        task=scorer("return {'error': float(len(prediction['y']))}"),
    )
    record, prediction, _ = execute(spec, make_task(arrays=arrays), provenance=origin)
    assert (record.status, record.metrics["error"].value) == ("ok", 5000.0)
    assert prediction is not None
    assert prediction["y"].base is not None


def test_a_record_survives_json(go: Go) -> None:
    record, _ = go("def run(p, c): 1 / 0")
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_provenance_is_worked_out_where_none_is_given(
    make_spec: MakeSpec, make_task: MakeTask
) -> None:
    record, *_ = execute(make_spec(threads=3, argv=("podium", "run")), make_task())
    assert record.provenance.threads == 3
    assert record.provenance.argv == ("podium", "run")
    assert record.provenance.packages["numpy"] == np.__version__
    assert os.uname().nodename not in record.provenance.platform


def test_a_tuple_reaches_the_method_as_a_tuple(go: Go) -> None:
    """A run travels as JSON, which has no tuples."""
    record, _ = go(
        "def run(p, c, *, parts: tuple[float, ...] = (1.0,)):\n    raise ValueError(repr(parts))",
        config={"parts": [1, 2.5]},
    )
    assert record.reason == "ValueError: (1.0, 2.5)"


def test_a_missing_file_skips_the_run_and_says_where_to_put_it(
    make_spec: MakeSpec, make_task: MakeTask, origin: Provenance, tmp_path: Path
) -> None:
    spec = make_spec()
    folder = tmp_path / "needy"
    folder.mkdir()
    (folder / "task.py").write_text(
        "from podium.errors import MissingError\n"
        "def build(recipe, context):\n"
        "    raise MissingError('no file a.csv', found='long', fix='put it at here/a.csv')\n"
        "def score(prediction, instance, recipe):\n    return {}\n"
    )
    at = msgspec.structs.replace(spec.task_at, folder=str(folder))
    record, *_ = execute(msgspec.structs.replace(spec, task_at=at), make_task(), provenance=origin)
    assert record.status == "skipped"
    assert record.reason == "no file a.csv; fix: put it at here/a.csv"
    assert record.traceback is not None
    assert "found: long" in record.traceback
