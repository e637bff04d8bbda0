from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from podium.cli import claims as claims_module
from podium.cli import selection
from podium.cli.claims import claims
from podium.cli.compare import compare
from podium.cli.show import show
from podium.cli.tables import failure_lines, number, result_table, seconds, shortened
from podium.declarations.task import TaskSpec
from podium.errors import InputError
from podium.plan.spec import Location
from podium.registry.model import Task
from podium.registry.registry import Registry
from podium.store import reading
from podium.store.record import Record
from podium.store.store import Store

Make = Callable[..., Record]
MakeTask = Callable[..., TaskSpec]
Capture = pytest.CaptureFixture[str]
CLAIMS = [
    {
        "id": "size",
        "statement": "Ours is better by .1.",
        "source": "a paper, section 5",
        "left": "ours",
        "right": "theirs",
        "metric": "auroc",
        "problems": ["p1"],
        "at_least": 0.1,
        "min_seeds": 3,
    },
    {
        "id": "ranking",
        "statement": "Ours, theirs, random.",
        "source": "a paper",
        "metric": "auroc",
        "problems": ["p1", "p2"],
        "order": ["ours", "theirs", "random"],
        "min_seeds": 3,
        "gate": False,
    },
]


@pytest.fixture
def store(
    toy_task: MakeTask, toy_record: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A store of three entries, one of which failed once, beside one bundled entry."""
    task = toy_task(claims=CLAIMS)
    at = Location(package=None, folder=str(tmp_path))
    registry = Registry(
        tasks={"toy": Task(spec=task, at=at, origin="podium")}, entries={}, suites={}, broken=()
    )
    for module in (selection, claims_module):
        monkeypatch.setattr(module, "load_registry", lambda *_: registry)
    noise = np.random.default_rng(0).normal(scale=0.01, size=(4, 2, 3))

    def runs(row: int, entry: str, mean: float, **changes: Any) -> list[Record]:
        return [
            toy_record(entry, p, s, float(mean + noise[row, i, s]), key=f"{entry}{p}{s}", **changes)
            for i, p in enumerate(("p1", "p2"))
            for s in range(3)
        ]

    bundled = runs(0, "theirs", 0.6)
    monkeypatch.setattr(reading, "read_bundled", lambda _task=None: bundled)
    monkeypatch.delenv("PODIUM_STORE", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    kept = Store(tmp_path / "results")
    for record in [
        *runs(1, "ours", 0.9, kind="reference"),
        *runs(2, "random", 0.5, kind="control"),
        *runs(3, "shaky", 0.95)[:5],
        toy_record(
            "shaky",
            "p2",
            2,
            key="x",
            status="failed",
            reason="ValueError: singular matrix",
            traceback="Traceback\n  File method.py\nValueError: singular matrix",
        ),
        toy_record("old", task_version=1, key="y"),
    ]:
        kept.write(record)
    return kept.root


def printed(capsys: Capture) -> Any:
    return json.loads(capsys.readouterr().out)


def test_show_ranks_local_entries_among_the_bundled(store: Path, capsys: Capture) -> None:
    show("toy", store=store)
    out = capsys.readouterr().out
    body = [
        line.split() for line in out.splitlines() if re.match(r" *(\d+|-) +[a-z]+ +[\d.-]+ ", line)
    ]
    assert [(cells[0], cells[1]) for cells in body] == [
        ("1", "ours"),
        ("2", "theirs"),
        ("3", "random"),
        ("-", "shaky"),
    ]
    assert f"Records: 18 local ({store}), 6 bundled with Podium; 1 of another version" in out
    assert "shaky on p2, seed 2: failed: ValueError: singular matrix" in out
    assert "show toy --entries shaky --failures" in out


def test_show_json_has_the_documented_shape(store: Path, capsys: Capture) -> None:
    show("toy", store=store, as_json=True)
    found = printed(capsys)
    assert (found["task"], found["version"], found["tier"]) == ("toy", 2, "small")
    assert (found["metric"], found["direction"], found["level"]) == ("auroc", "higher", 0.95)
    assert found["problems"] == ["p1", "p2"]
    counts = {"local": 18, "bundled": 6, "other_versions": 1, "local_without_score": 0}
    assert found["records"] == counts
    first, last = found["rows"][0], found["rows"][-1]
    assert (first["rank"], first["entry"], first["kind"]) == (1, "ours", "reference")
    low, high = first["interval"]
    assert low < first["score"] < high
    assert first["problems"]["p1"]["ok"] == 3
    assert (last["rank"], last["score"], last["interval"]) == (None, None, None)
    assert (last["ok"], last["expected"], last["seeds"]) == (5, 6, [0, 1, 2])
    assert found["failures"][0]["status"] == "failed"


def test_show_one_entry_and_its_failures(store: Path, capsys: Capture) -> None:
    show("toy", store=store, entries=["shaky"], failures=True)
    out = capsys.readouterr().out
    assert "ValueError: singular matrix" in out
    assert "    Traceback" in out
    show("toy", store=store, entries=["ours"], failures=True)
    assert "every run gave a score" in capsys.readouterr().out


def test_filtered_rows_keep_their_rank_among_all(store: Path, capsys: Capture) -> None:
    show("toy", store=store, entries=["random"], as_json=True)
    assert [(r["rank"], r["entry"]) for r in printed(capsys)["rows"]] == [(3, "random")]


def test_show_one_problem_only_and_one_source(store: Path, capsys: Capture) -> None:
    show("toy", store=store, problems=["p1"], as_json=True)
    found = printed(capsys)
    assert found["problems"] == ["p1"]
    assert found["rows"][0]["entry"] == "shaky"  # it failed on p2 alone
    show("toy", store=store, only="bundled", as_json=True)
    assert [r["entry"] for r in printed(capsys)["rows"]] == ["theirs"]


def test_show_says_where_there_is_nothing(store: Path, capsys: Capture) -> None:
    show("toy", tier="smoke", store=store)
    out = capsys.readouterr().out
    assert "no records of tier smoke" in out
    assert "podium run toy --tier smoke" in out
    assert "--tier small shows what there is" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "tay"}, "unknown task 'tay'.*did you mean 'toy'"),
        ({"tier": "smal"}, "unknown tier 'smal'.*did you mean 'small'"),
        ({"metric": "aurok"}, "unknown metric of toy 'aurok'.*did you mean 'auroc'"),
        ({"problems": ["p9"]}, "unknown problem of toy, tier small 'p9'.*did you mean"),
        ({"entries": ["our"]}, "unknown entry of toy 'our'.*did you mean 'ours'"),
        ({"only": "remote"}, "--only: unknown source.*local or bundled"),
        ({"store": Path("/nowhere/at/all")}, "no store here"),
    ],
)
def test_bad_names_are_met_with_near_ones(
    store: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match="(?s)" + message):
        show(**{"task": "toy", "store": store, **options})


def test_compare_pairs_runs(store: Path, capsys: Capture) -> None:
    compare("toy", "ours", "theirs", store=store)
    out = capsys.readouterr().out
    assert "ours against theirs by AUROC" in out
    rows = {
        line.split()[0]: line.split() for line in out.splitlines() if line[:3] in ("p1 ", "all")
    }
    assert rows["p1"][-1] == "3/0/0"
    assert rows["all"][-1] == "6/0/0"
    compare("toy", "ours", "theirs", store=store, as_json=True)
    found = printed(capsys)
    assert (found["left"], found["right"], found["compare"]) == ("ours", "theirs", "difference")
    assert found["overall"]["estimate"] == pytest.approx(0.3, abs=0.03)
    assert found["overall"]["pairs"] == 6
    assert (found["overall"]["wins"], found["overall"]["losses"]) == (6, 0)
    assert [p["problem"] for p in found["problems"]] == ["p1", "p2"]
    for problem in found["problems"]:
        assert problem["estimate"] == pytest.approx(problem["left"] - problem["right"])
    assert (found["unpaired"], found["failed"]) == ([], [])


def test_compare_with_itself_is_zero(store: Path, capsys: Capture) -> None:
    compare("toy", "ours", "ours", store=store, as_json=True)
    overall = printed(capsys)["overall"]
    assert (overall["estimate"], overall["interval"], overall["ties"]) == (0.0, [0.0, 0.0], 6)


def test_compare_names_failed_runs(store: Path, capsys: Capture) -> None:
    compare("toy", "ours", "shaky", store=store, as_json=True)
    found = printed(capsys)
    assert found["overall"]["pairs"] == 5
    assert found["failed"][0]["entry"] == "shaky"
    compare("toy", "ours", "shaky", store=store, by="ratio")
    out = capsys.readouterr().out
    assert "A ratio above 1" in out
    assert "singular matrix" in out


def test_compare_without_a_common_run_says_what_to_run(store: Path) -> None:
    with pytest.raises(InputError, match=r"(?s)no run in common.*--entries ours,theirs"):
        compare("toy", "ours", "theirs", store=store, metric="loss")
    with pytest.raises(InputError, match="unknown comparison"):
        compare("toy", "ours", "theirs", store=store, by="sum")


def test_claims_json_is_a_list_of_the_promised_objects(store: Path, capsys: Capture) -> None:
    claims("toy", store=store, as_json=True)
    found = printed(capsys)
    assert [c["id"] for c in found] == ["size", "ranking"]
    for item in found:
        assert {
            "task", "id", "gate", "verdict", "estimate", "interval", "threshold", "seeds",
            "min_seeds", "problems", "tier", "shape", "compare", "metric", "direction", "entries",
            "statement", "source", "reason", "links",
        } == set(item)  # fmt: skip
        assert item["verdict"] == "reproduced"
        assert item["seeds"] == 3
    assert found[0]["threshold"] == 0.1
    assert found[0]["gate"] is True
    assert found[1]["links"][1]["right"] == "random"
    claims("toy", store=store, only="local", as_json=True)
    assert [c["verdict"] for c in printed(capsys)] == ["inconclusive", "inconclusive"]


def test_claims_table(store: Path, capsys: Capture) -> None:
    claims(store=store)
    out = capsys.readouterr().out
    assert re.search(r"size +reproduced +yes", out)
    assert "ours > theirs > random" in out
    assert "Ours is better by .1. (a paper, section 5)" in out


def test_result_table_counts_what_was_expected(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [toy_record("a", "p1", 0, 0.2, finished="2025-01-01T00:00:00Z"), toy_record("a", "p1")]
    expected = [("toy", 2, "small", "p1", "a", s) for s in range(2)]
    text = result_table(toy_task(), kept, expected)
    assert "1/2" in text
    assert "1 run not made:\n  a: 1, on p1" in text
    assert result_table(toy_task(), kept, expected[:1]).count("0.5000") == 1
    assert result_table(toy_task(), []) == "toy: no records"


def test_tables_of_two_tiers_follow_each_other(toy_task: MakeTask, toy_record: Make) -> None:
    text = result_table(toy_task(), [toy_record(), toy_record(tier="smoke")])
    assert text.index("tier smoke") < text.index("tier small")


def test_one_seed_shows_no_interval(toy_task: MakeTask, toy_record: Make) -> None:
    text = result_table(toy_task(), [toy_record("a", value=0.25)])
    assert "0.2500" in text
    assert "[" not in text
    assert "No interval: a (a single seed)." in text


def test_problem_columns_only_where_they_fit(
    toy_task: MakeTask, toy_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [toy_record("a", p, s) for p in ("p1", "p2") for s in range(2)]
    monkeypatch.setenv("COLUMNS", "200")
    assert "p1" in result_table(toy_task(), kept)
    monkeypatch.setenv("COLUMNS", "60")
    narrow = result_table(toy_task(), kept)
    assert "p1" not in narrow
    assert "--problem ID" in narrow
    assert "Left out on a narrow screen: kind, s/run, MiB" in narrow
    assert max(len(line) for line in narrow.splitlines() if "0.5000" in line) <= 60


def test_a_terminal_gets_the_same_cells(
    toy_task: MakeTask, toy_record: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = [toy_record("a [b]", "p1", s, 0.25) for s in range(2)]
    plain = result_table(toy_task(), kept).split()
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    drawn = re.sub(r"\x1b\[[0-9;]*m|[─━]", "", result_table(toy_task(), kept)).split()
    assert drawn == plain
    monkeypatch.setenv("COLUMNS", "20")
    assert "0.2500" in result_table(toy_task(), kept)


def test_a_reason_cannot_steer_the_terminal(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [toy_record("a", status="failed", reason="\x1b[2Jboo\x07")]
    text = result_table(toy_task(), kept)
    assert "boo" in text
    assert text.replace("\n", "").isprintable()


def test_long_lists_of_failures_are_cut_with_a_count(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [
        toy_record("a", "p1", s, status="failed", reason=f"{s} " + "x" * 300) for s in range(20)
    ]
    text = result_table(toy_task(), kept)
    assert "20 runs without a score" in text
    assert "and 8 more reasons" in text
    assert max(len(line) for line in text.splitlines()) < 260


def test_failures_of_one_kind_are_one_line(toy_task: MakeTask, toy_record: Make) -> None:
    kept = [toy_record("a", "p1", s, status="skipped", reason="no package") for s in range(20)]
    text = result_table(toy_task(), kept)
    assert "a, 20 runs on p1: skipped: no package" in text
    assert text.count("no package") == 1
    assert failure_lines([], "toy") == []


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0.0000"), (0.98765, "0.9877"), (123.456, "123.46"), (1e-7, "1e-07"),
     (-0.5, "-0.5000"), (123456.0, "1.23e+05")],
)  # fmt: skip
def test_numbers(value: float | None, text: str) -> None:
    assert number(value) == text


def test_durations_and_shortening() -> None:
    assert [seconds(s) for s in (None, 0.0123, 12.34, 1234.5)] == ["-", "0.012", "12.3", "1234"]
    assert shortened("a\nb") == "a"
    assert shortened("") == ""
    assert len(shortened("x" * 500)) == 200


def test_the_table_after_a_run_imports_no_heavy_package() -> None:
    code = (
        "import sys, podium.cli.tables, podium.store.reading\n"
        "heavy = {'pandas', 'scipy', 'torch', 'rich', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def keys_of(value: Any, own: frozenset[str]) -> set[str]:
    """Every key in a JSON value, apart from ids that serve as keys."""
    if isinstance(value, list):
        return {k for item in value for k in keys_of(item, own)}
    if isinstance(value, dict):
        return {k for k in value if k not in own} | {
            k for item in value.values() for k in keys_of(item, own)
        }
    return set()


def test_every_key_is_documented(store: Path, capsys: Capture) -> None:
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text("utf-8")
    documented: dict[str, set[str]] = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        verb = re.match(r"`podium (\w+)", section)
        if verb:
            documented[verb[1]] = set(re.findall(r"`(\w+)`", section))
    ids = frozenset({"p1", "p2"})
    show("toy", store=store, as_json=True)
    assert keys_of(printed(capsys), ids) <= documented["show"]
    claims("toy", store=store, as_json=True)
    assert keys_of(printed(capsys), ids) <= documented["claims"]
    compare("toy", "ours", "shaky", store=store, as_json=True)
    shared = documented["show"] & {
        "local",
        "bundled",
        "other_versions",
        "local_without_score",
    }
    assert keys_of(printed(capsys), ids) <= documented["compare"] | shared
