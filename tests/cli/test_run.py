"""`podium run` as a person meets it: exit codes, messages, resuming, what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ENTRY = 'id = "{id}"\nkind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["granger_recovery"]\n'
RANDOM = """\
def run(problem, context, *, scale: float = 1.0):
    variables = problem.public["series"].shape[1]
    return {"scores": scale * context.rng("scores").random((variables, variables))}
"""
SMOKE = ("granger_recovery", "--tier", "smoke", "--problems", "var3-d5-smoke")


def podium(
    *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=cwd,
        env={**os.environ, "PODIUM_NO_PLUGINS": "1", **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def entry(root: Path, body: str = RANDOM, name: str = "mine") -> Path:
    folder = root / name
    folder.mkdir()
    (folder / "entry.toml").write_text(ENTRY.format(id=name), encoding="utf-8")
    (folder / "method.py").write_text(body, encoding="utf-8")
    return folder


def run_json(*arguments: str, cwd: Path) -> tuple[int, dict[str, Any]]:
    done = podium("run", *arguments, "--json", cwd=cwd)
    assert done.stdout, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, result


def test_run_ranks_and_the_same_command_resumes(tmp_path: Path) -> None:
    arguments = (*SMOKE, "--entries", "random_scores,correlation", "--seeds", "2")
    code, first = run_json(*arguments, cwd=tmp_path)
    assert (code, first["planned"], first["ran"]) == (0, 4, 4)
    assert {r["status"] for r in first["runs"]} == {"ok"}
    code, again = run_json(*arguments, cwd=tmp_path)
    assert (code, again["ran"]) == (0, 0)
    strip = [{k: v for k, v in r.items() if k != "fresh"} for r in first["runs"]]
    assert [{k: v for k, v in r.items() if k != "fresh"} for r in again["runs"]] == strip
    code, more = run_json(*arguments[:-1], "3", cwd=tmp_path)
    assert (code, more["planned"], more["ran"]) == (0, 6, 2)
    table = podium("run", *arguments, cwd=tmp_path).stdout
    assert "4 of 4 runs were finished before" in table
    rows = [line.split() for line in table.splitlines() if line.strip().startswith(("1 ", "2 "))]
    assert [row[1] for row in rows] == ["correlation", "random_scores"]
    _, forced = run_json(*arguments, "--force", cwd=tmp_path)
    assert forced["ran"] == 4


def test_a_method_by_its_folder_and_a_changed_argument(tmp_path: Path) -> None:
    folder = entry(tmp_path)
    code, plain = run_json(*SMOKE, "--entry", str(folder), "--seeds", "1", cwd=tmp_path)
    assert code == 0
    assert [r["entry"] for r in plain["runs"]] == ["mine"]
    code, changed = run_json(
        *SMOKE, "--entry", str(folder), "--seeds", "1", "--set", "scale=2.0", cwd=tmp_path
    )
    assert code == 0
    assert changed["runs"][0]["entry"] == "mine[scale=2.0]"
    # AUROC sees only the order, which a scale does not change.
    assert changed["runs"][0]["metrics"] == plain["runs"][0]["metrics"]


def test_an_edited_method_runs_again_and_explain_says_why(tmp_path: Path) -> None:
    folder = entry(tmp_path)
    arguments = (*SMOKE, "--entry", str(folder), "--seeds", "1")
    run_json(*arguments, cwd=tmp_path)
    assert "finished, skipped" in podium("run", *arguments, "--explain", cwd=tmp_path).stdout
    (folder / "method.py").write_text(RANDOM + "# edited\n", encoding="utf-8")
    explained = podium("run", *arguments, "--explain", cwd=tmp_path)
    assert "changed: entry source" in explained.stdout
    _, result = run_json(*arguments, cwd=tmp_path)
    assert result["ran"] == 1


FAULTS = {
    "import": ("import no_such_module_here\n" + RANDOM, "failed", "no_such_module_here"),
    "raises": (RANDOM + "def run(problem, context):\n    raise ValueError('no luck')\n",
               "failed", "ValueError: no luck"),
    "nothing": ("def run(problem, context):\n    return None\n", "invalid", "forget return?"),
    "empty": ("def run(problem, context):\n    return {}\n", "invalid", "scores"),
    "nan": ("def run(problem, context):\n    n = problem.public['series'].shape[1]\n"
            "    import numpy as np\n    return {'scores': np.full((n, n), np.nan)}\n",
            "invalid", "finite"),
    "shape": ("import numpy as np\ndef run(problem, context):\n"
              "    return {'scores': np.zeros((2, 3))}\n", "invalid", "variables"),
    "dtype": ("import numpy as np\ndef run(problem, context):\n"
              "    n = problem.public['series'].shape[1]\n"
              "    return {'scores': np.zeros((n, n), dtype='float32')}\n",
              "invalid", "float64"),
    "extra": ("import numpy as np\ndef run(problem, context):\n"
              "    n = problem.public['series'].shape[1]\n"
              "    return {'scores': np.zeros((n, n)), 'more': np.zeros(1)}\n",
              "invalid", "more"),
    "exit": ("import sys\ndef run(problem, context):\n    sys.exit(0)\n", "failed", "SystemExit"),
    "writes input": ("def run(problem, context):\n    problem.public['series'][0] = 0\n",
                     "failed", "read-only"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_methods_are_rows_with_a_reason(tmp_path: Path, name: str) -> None:
    body, status, words = FAULTS[name]
    # A second `def run` in a body replaces the first in Python; keep the last one only.
    if body.count("def run") == 2:
        body = body[body.rindex("def run") :]
    folder = entry(tmp_path, body)
    code, result = run_json(*SMOKE, "--entry", str(folder), "--seeds", "1", cwd=tmp_path)
    (run,) = result["runs"]
    assert code == 1
    assert run["status"] == status
    assert words in run["reason"]
    table = podium(
        "run", *SMOKE, "--entry", str(folder), "--entries", "random_scores", "--seeds", "1",
        cwd=tmp_path,
    )  # fmt: skip
    assert table.returncode == 1
    assert "random_scores" in table.stdout
    assert "Traceback" not in table.stdout + table.stderr


def test_time_and_memory_limits_end_a_run(tmp_path: Path) -> None:
    slow = entry(tmp_path, "import time\ndef run(problem, context):\n    time.sleep(60)\n", "slow")
    hungry = entry(
        tmp_path,
        "import numpy as np\ndef run(problem, context):\n"
        "    kept = []\n    while True:\n        kept.append(np.ones(1_000_000))\n",
        "hungry",
    )
    began = time.monotonic()
    code, result = run_json(
        *SMOKE, "--entry", str(slow), "--entry", str(hungry), "--seeds", "1",
        "--time-limit", "2s", "--memory-limit", "300MB", cwd=tmp_path,
    )  # fmt: skip
    assert code == 1
    statuses = {r["entry"]: r["status"] for r in result["runs"]}
    assert statuses == {"slow": "timeout", "hungry": "out_of_memory"}
    assert time.monotonic() - began < 30


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*SMOKE, "--seeds", "0"), "no seeds"),
        ((*SMOKE, "--seeds=-1"), "not seeds"),
        ((*SMOKE, "--seeds", "1.5"), "not seeds"),
        ((*SMOKE, "--seeds", "3-1"), "the range runs backward"),
        (("granger_recovry",), "did you mean 'granger_recovery'"),
        ((*SMOKE, "--entries", "var_grangr"), "did you mean 'var_granger'"),
        (("--suite", "quik"), "did you mean 'quick'"),
        ((*SMOKE, "--device", "gpu"), "cpu, cuda or cuda:N"),
        ((*SMOKE, "--time-limit", "0"), "not a duration"),
        ((*SMOKE, "--memory-limit", "2"), "not a size"),
        ((*SMOKE, "--entry", "nowhere"), "no such folder"),
        ((*SMOKE, "--jobs", "0"), "--jobs"),
        ((), "nothing to run was named"),
    ],
)
def test_bad_input_is_exit_code_2_and_one_message(
    tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    done = podium("run", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir()), "nothing is written on bad input"


def test_store_that_cannot_be_written_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = podium(
        "run", *SMOKE, "--entries", "random_scores", "--store", "file/store", cwd=tmp_path
    )
    assert done.returncode == 3
    assert "file" in done.stderr
    assert "Traceback" not in done.stderr


def test_reading_a_store_that_is_not_there_is_exit_code_2(tmp_path: Path) -> None:
    done = podium("show", "granger_recovery", "--store", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no store here" in done.stderr


def test_runs_that_the_machine_cannot_do_are_skipped_with_what_to_install(tmp_path: Path) -> None:
    folder = entry(tmp_path)
    declared = folder / "entry.toml"
    declared.write_text(declared.read_text() + 'requires = ["no_such_package"]\nextra = "peers"\n')
    arguments = (*SMOKE, "--entry", str(folder), "--seeds", "1")
    code, result = run_json(*arguments, cwd=tmp_path)
    (run,) = result["runs"]
    assert (code, run["status"]) == (3, "skipped")
    assert 'pip install "podium[peers]"' in run["reason"]
    code, result = run_json(*arguments, "--entries", "random_scores", cwd=tmp_path)
    assert code == 3, "what was asked for was not all run"


def test_ctrl_c_says_how_to_go_on(tmp_path: Path) -> None:
    body = "import time\n" + RANDOM.replace("    variables", "    time.sleep(0.4)\n    variables")
    folder = entry(tmp_path, body)
    arguments = (*SMOKE, "--entry", str(folder), "--seeds", "40", "--jobs", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "podium", "run", *arguments],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on from here" in message
    assert "Traceback" not in message
    _, result = run_json(*arguments[:-4], "--seeds", "2", cwd=tmp_path)
    assert result["ran"] < 2, "what had finished before Ctrl-C is kept"


def test_plain_locale_and_odd_folder_names(tmp_path: Path) -> None:
    place = tmp_path / "Büro 📊"
    place.mkdir()
    folder = entry(place)
    done = podium(
        "run", *SMOKE, "--entry", str(folder), "--seeds", "1",
        cwd=place, environment={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_newcomer_stands_among_bundled_rows(tmp_path: Path) -> None:
    folder = entry(tmp_path)
    arguments = ("granger_recovery", "--problems", "var3-d10", "--seeds", "3")
    code, _ = run_json(*arguments, "--entry", str(folder), cwd=tmp_path)
    assert code == 0
    done = podium("show", "granger_recovery", "--problem", "var3-d10", "--json", cwd=tmp_path)
    rows = {row["entry"] for row in json.loads(done.stdout)["rows"]}
    assert {"mine", "info_shap", "var_granger"} <= rows
    done = podium("show", "granger_recovery", "--only", "local", "--json", cwd=tmp_path)
    assert {row["entry"] for row in json.loads(done.stdout)["rows"]} == {"mine"}


def test_reproduce_agrees_with_a_fresh_record(tmp_path: Path) -> None:
    run_json(*SMOKE, "--entries", "correlation,random_scores", "--seeds", "1", cwd=tmp_path)
    done = podium(
        "reproduce", "granger_recovery", "--tier", "smoke", "--only", "local", "--json",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = json.loads(done.stdout)
    assert [o["agrees"] for o in outcomes] == [True, True]
    assert all(d == 0 for o in outcomes for d in o["differences"].values())


def test_reproduce_tells_a_changed_score(tmp_path: Path) -> None:
    run_json(*SMOKE, "--entries", "correlation", "--seeds", "1", cwd=tmp_path)
    (file,) = (tmp_path / "results" / "granger_recovery").glob("*.json")
    record = json.loads(file.read_text())
    record["metrics"]["auroc"]["value"] -= 0.3
    file.write_text(json.dumps(record))
    done = podium("reproduce", "granger_recovery", "--tier", "smoke", "--only", "local",
                  cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1
    assert "differs" in done.stdout


def test_closed_pipe_is_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m podium list | head -1",
        shell=True, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", [("run", *SMOKE, "--seeds", "1"), ("check", "correlation")])
def test_a_data_folder_that_is_none_stops_before_anything_runs(
    tmp_path: Path, verb: tuple[str, ...]
) -> None:
    done = podium(*verb, cwd=tmp_path, environment={"PODIUM_DATA": str(tmp_path / "absent")})
    assert done.returncode == 2
    assert "PODIUM_DATA is not a folder" in done.stderr
    assert not (tmp_path / "results").exists()
