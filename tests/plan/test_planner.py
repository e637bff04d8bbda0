"""Plans: what runs, under which key, and what changes the key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from podium.cli.options import split
from podium.errors import InputError
from podium.plan import keys
from podium.plan.keys import source_digest
from podium.plan.planner import Request, plan
from podium.plan.spec import Location, RunSpec
from podium.registry.registry import Registry, load_registry

ENTRY = 'id = "{id}"\nkind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["granger_recovery"]\n'
METHOD = "def run(problem, context, *, lags: int = 1, name: str = 'x'):\n    return {}\n"


def folder(root: Path, name: str = "mine", method: str = METHOD) -> Path:
    place = root / name
    place.mkdir(parents=True, exist_ok=True)
    (place / "entry.toml").write_text(ENTRY.format(id=name))
    (place / "method.py").write_text(method)
    return place


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return load_registry([folder(tmp_path)], plugins=False)


def one(registry: Registry, **changes: object) -> RunSpec:
    request: dict[str, Any] = {
        "tasks": ("granger_recovery",),
        "problems": ("lorenz96-d10-f10",),
        "entries": ("mine",),
        "seeds": (0,),
    }
    request.update(changes)
    (spec,) = plan(registry, Request(**request))
    return spec


def test_plan_crosses_problems_seeds_and_entries(registry: Registry) -> None:
    task = registry.task("granger_recovery").spec
    specs = plan(registry, Request(tasks=("granger_recovery",), seeds=(0, 3)))
    expected = len(task.in_tier("small")) * 2 * len(registry.entries_for(task.id))
    assert len(specs) == expected
    assert len({s.key for s in specs}) == expected
    assert {s.tier for s in specs} == {"small"}


def test_quick_suite_is_three_entries_on_one_problem_of_each_task(registry: Registry) -> None:
    specs = plan(registry, Request(suite="quick"))
    assert {s.task for s in specs} == {t.id for t in registry.tasks.values() if t.at.package}
    for task in {s.task for s in specs}:
        assert len({s.entry for s in specs if s.task == task}) == 3
        assert len({s.problem for s in specs if s.task == task}) == 1


def test_key_is_stable_and_each_part_changes_it(registry: Registry, tmp_path: Path) -> None:
    base = one(registry)
    assert one(registry).key == base.key
    assert one(registry, time_limit=3.0, threads=2, argv=("x",)).key == base.key
    changed = {
        "seed": one(registry, seeds=(1,)),
        "problem": one(registry, problems=("var3-d10",)),
        "config": one(registry, assignments=("lags=2",)),
        "device": one(registry, device="cuda:0"),
    }
    source_digest.cache_clear()
    other = load_registry([folder(tmp_path / "x", method=METHOD + "# edited\n")], plugins=False)
    changed["entry source"] = one(other)
    for part, spec in changed.items():
        assert spec.key != base.key, part
        differing = {k for k in base.key_parts if base.key_parts[k] != spec.key_parts[k]}
        assert part in differing
        assert differing <= {part, "problem"}


def test_key_follows_shared_modules_that_an_entry_imports() -> None:
    """An entry's source includes the building blocks it trains, also through others."""
    from podium.plan.keys import _closure

    entry = load_registry(plugins=False).entry("info_shap")
    place = Path(entry.at.folder)
    modules = _closure(sorted(place.glob("*.py")), place)
    assert any(name.startswith("podium.nn.") for name in modules)


def test_every_package_is_part_of_the_engine_or_of_what_runs_are_made_of() -> None:
    from podium.plan.keys import ENGINE, ROOT, _closure

    made_of = {"nn", "transport", "metrics", "data", "discovery", "features"}
    made_of |= {"generation", "images", "judging", "lm", "text"}
    content = {"methods", "baselines", "benchmarks"}
    names = {path.stem for path in ROOT.iterdir() if not path.name.startswith(("_", "py."))}
    assert names == ENGINE | made_of | content
    place = Path(load_registry(plugins=False).entry("ss_kmeans").at.folder)
    modules = _closure(sorted(place.glob("*.py")), place)
    assert "podium.discovery.kmeans" in modules
    assert not any(name.startswith(("podium.contracts", "podium.errors")) for name in modules)


@pytest.mark.parametrize("value", ["x" * 5000, "a\nb", "a]b[", "\x1b[2J", "x" * 41])
def test_an_awkward_value_gets_a_short_label_of_its_own(registry: Registry, value: str) -> None:
    label = one(registry, assignments=(f"name={value}",)).entry
    assert label.startswith("mine[name=")
    assert len(label) < 60
    assert label.isprintable()
    assert label.count("[") == label.count("]") == 1
    assert one(registry, assignments=(f"name={value}!",)).entry != label


def test_a_name_with_commas_in_brackets_is_one_name() -> None:
    assert split(["a,b[x=(1, 2)][y=p,q], c", "d"]) == ("a", "b[x=(1, 2)][y=p,q]", "c", "d")
    assert split(["a],b", "c[,d"]) == ("a]", "b", "c[", "d")


def test_label_names_what_was_set_and_only_what_differs(registry: Registry) -> None:
    assert one(registry, assignments=("lags=2", "name=y")).entry == "mine[lags=2][name=y]"
    assert one(registry, assignments=("lags=1",)).entry == "mine"
    assert one(registry, assignments=("mine.lags=4",)).config == {"lags": 4, "name": "x"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tasks": ("granger_recovry",)}, "did you mean 'granger_recovery'"),
        ({"entries": ("mines",)}, "did you mean 'mine'"),
        ({"problems": ("lorenz96-d10-f11",)}, "did you mean 'lorenz96-d10-f10'"),
        ({"tier": "huge"}, "unknown tier 'huge'"),
        ({"tier": "smoke"}, "not in tier 'smoke'"),
        ({"suite": "quick"}, "not both"),
        ({"tasks": ()}, "nothing to run was named"),
        ({"assignments": ("lag=2",)}, "did you mean 'lags'"),
        ({"assignments": ("lags=two",)}, "wrong type"),
        ({"assignments": ("lags",)}, "not an assignment"),
        ({"assignments": ("info_shap.lags=2",)}, "not among those to run"),
    ],
)
def test_bad_requests_say_what_is_wrong(
    registry: Registry, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        one(registry, **changes)


def test_added_entries_run_alone_unless_others_are_named(registry: Registry) -> None:
    request = Request(tasks=("granger_recovery",), added=("mine",), seeds=(0,))
    assert {s.entry for s in plan(registry, request)} == {"mine"}
    request = Request(
        tasks=("granger_recovery",), added=("mine",), entries=("var_granger",), seeds=(0,)
    )
    assert {s.entry for s in plan(registry, request)} == {"mine", "var_granger"}


def test_limits_come_from_the_task_unless_given(registry: Registry) -> None:
    limits = registry.task("granger_recovery").spec.limits["small"]
    spec = one(registry)
    assert (spec.time_limit, spec.memory_limit) == (limits.seconds, limits.memory_gib * 2**30)
    spec = one(registry, time_limit=1.5, memory_limit=7)
    assert (spec.time_limit, spec.memory_limit) == (1.5, 7)


def test_spec_survives_json(registry: Registry) -> None:
    import msgspec

    spec = one(registry)
    assert msgspec.json.decode(msgspec.json.encode(spec), type=RunSpec) == spec


def test_data_beside_the_code_are_part_of_its_source(tmp_path: Path) -> None:
    def digest() -> str:
        source_digest.cache_clear()
        keys._read.cache_clear()
        return source_digest(Location(package=None, folder=str(place)))

    place = folder(tmp_path)
    plain = digest()
    for name in ("README.md", "entry.toml", ".hidden", "__pycache__/method.pyc"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("other")
        assert digest() == plain, name
    (place / "weights").mkdir()
    (place / "weights" / "w.json").write_text("1")
    first = digest()
    (place / "weights" / "w.json").write_text("2")
    assert len({plain, first, digest()}) == 3


def test_pipes_and_loops_in_a_folder_are_no_source(tmp_path: Path) -> None:
    place = folder(tmp_path)
    (place / "loop").symlink_to(".")
    (place / "folder.py").mkdir()
    os.mkfifo(place / "pipe.py")
    assert source_digest(Location(package=None, folder=str(place)))
    (place / "gone.py").symlink_to("nowhere")
    source_digest.cache_clear()
    with pytest.raises(InputError, match="cannot be read"):
        source_digest(Location(package=None, folder=str(place)))
