"""Discovery: own folders, installed plug-ins, folders by path; broken ones stay visible."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from podium.errors import InputError
from podium.registry.code import load_function, load_module
from podium.registry.registry import load_registry

ENTRY = 'id = "{id}"\nkind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["granger_recovery"]\n'
METHOD = "def run(problem, context, *, lags: int = 1):\n    return {}\n"


def plugin(root: Path, name: str, points: str, files: dict[str, str]) -> None:
    """Lay out an installed distribution: its modules and its metadata."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    info = root / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "site"
    root.mkdir()
    monkeypatch.syspath_prepend(str(root))
    importlib.invalidate_caches()
    return root


def test_own_tasks_are_found_and_nothing_of_podium_is_broken() -> None:
    registry = load_registry(plugins=False)
    assert "granger_recovery" in registry.tasks
    assert registry.broken == ()
    for task in registry.tasks.values():
        assert registry.entries_for(task.id), f"{task.id} has no entry"
        assert Path(task.at.folder).name == task.id


def test_suites_name_what_exists() -> None:
    registry = load_registry(plugins=False)
    for suite in registry.suites.values():
        for part in suite.tasks:
            task = registry.task(part.task)
            available = {p.id for p in task.spec.in_tier(suite.tier)}
            assert set(part.problems) <= available
            assert set(part.entries) <= {e.id for e in registry.entries_for(task.id)}


def test_claims_speak_of_entries_of_their_task() -> None:
    registry = load_registry(plugins=False)
    for task in registry.tasks.values():
        entries = {e.id for e in registry.entries_for(task.id)}
        for claim in task.spec.claims:
            assert set(claim.entries) <= entries, f"{task.id}: {claim.id}"


def test_plugin_entry_is_listed_with_its_origin_and_can_be_loaded(site: Path) -> None:
    plugin(
        site,
        "granger-plus",
        "[podium.entries]\nplus = gplus.plus\n",
        {
            "gplus/__init__.py": "",
            "gplus/plus/__init__.py": "raise RuntimeError('listing must not import this')",
            "gplus/plus/entry.toml": ENTRY.format(id="plus"),
            "gplus/plus/method.py": METHOD,
        },
    )
    registry = load_registry()
    assert registry.entry("plus").origin == "granger-plus 1.2"
    assert "plus" in {e.id for e in registry.entries_for("granger_recovery")}
    assert "plus" not in load_registry(plugins=False).entries


def test_switch_turns_plugins_off(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin(
        site,
        "granger-plus",
        "[podium.entries]\nplus = gplus2.plus\n",
        {
            "gplus2/__init__.py": "",
            "gplus2/plus/__init__.py": "",
            "gplus2/plus/entry.toml": ENTRY.format(id="plus"),
        },
    )
    monkeypatch.setenv("PODIUM_NO_PLUGINS", "1")
    assert "plus" not in load_registry().entries


def test_broken_plugins_are_listed_with_file_line_and_reason(site: Path) -> None:
    plugin(
        site,
        "broken-one",
        "[podium.entries]\nraises = raises_pkg.sub.entry\ngone = no_such_package.entry\n"
        "typo = typo_pkg.typo\n[podium.tasks]\nflat = flat_module\n",
        {
            "raises_pkg/__init__.py": "x = 1\n",
            "raises_pkg/sub/__init__.py": "x = 1\n\nraise RuntimeError('no licence file')\n",
            "typo_pkg/__init__.py": "",
            "typo_pkg/typo/__init__.py": "",
            "typo_pkg/typo/entry.toml": ENTRY.format(id="typo") + "colour = 1\n",
            "flat_module.py": "",
        },
    )
    registry = load_registry()
    broken = {b.name: b for b in registry.broken}
    assert set(broken) == {"raises", "gone", "typo", "flat"}
    assert broken["raises"].file.endswith("raises_pkg/sub/__init__.py")
    assert broken["raises"].line == 3
    assert broken["raises"].reason == "RuntimeError: no licence file"
    assert "no_such_package" in broken["gone"].reason
    assert (broken["typo"].file, broken["typo"].line) == (
        str(site / "typo_pkg/typo/entry.toml"),
        6,
    )
    assert "colour" in broken["typo"].reason
    assert "no package folder" in broken["flat"].reason
    assert {b.origin for b in registry.broken} == {"broken-one 1.2"}
    with pytest.raises(InputError, match=r"is broken.*colour"):
        registry.entry("typo")


def test_two_of_one_name_is_an_error_naming_both_origins(site: Path) -> None:
    taken = sorted(load_registry(plugins=False).entries)[0]
    plugin(
        site,
        "copycat",
        f"[podium.entries]\n{taken} = copycat_pkg.copy\n",
        {
            "copycat_pkg/__init__.py": "",
            "copycat_pkg/copy/__init__.py": "",
            "copycat_pkg/copy/entry.toml": ENTRY.format(id=taken),
        },
    )
    with pytest.raises(InputError) as caught:
        load_registry()
    assert taken in caught.value.what
    assert caught.value.found is not None
    assert "(podium)" in caught.value.found
    assert "(copycat 1.2)" in caught.value.found


def test_unknown_names_get_near_ones() -> None:
    registry = load_registry(plugins=False)
    with pytest.raises(InputError, match="did you mean 'granger_recovery'"):
        registry.task("granger_recovry")
    with pytest.raises(InputError, match="did you mean 'quick'"):
        registry.suite("quik")
    with pytest.raises(InputError, match="one of"):
        registry.task("zzz")


def entry_folder(root: Path, name: str, method: str = METHOD) -> Path:
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "entry.toml").write_text(ENTRY.format(id=name))
    (folder / "method.py").write_text(method)
    return folder


def test_entry_by_path_is_added_and_two_folders_do_not_share_modules(tmp_path: Path) -> None:
    one = entry_folder(tmp_path / "a", "mine_a", "from .part import VALUE\n" + METHOD)
    two = entry_folder(tmp_path / "b", "mine_b", "from .part import VALUE\n" + METHOD)
    (one / "part.py").write_text("VALUE = 'a'\n")
    (two / "part.py").write_text("VALUE = 'b'\n")
    registry = load_registry([one, two / "entry.toml"], plugins=False)
    values = [load_module(registry.entry(n).at, "method").VALUE for n in ("mine_a", "mine_b")]
    assert values == ["a", "b"]


def test_entry_by_path_that_is_not_there_or_faulty(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        load_registry([tmp_path / "gone"], plugins=False)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no such file"):
        load_registry([tmp_path / "empty"], plugins=False)


def test_loading_a_function_that_is_not_there(tmp_path: Path) -> None:
    folder = entry_folder(tmp_path, "mine", "x = 1\n")
    entry = load_registry([folder], plugins=False).entry("mine")
    with pytest.raises(InputError, match="no function 'run'"):
        load_function(entry.at, "method:run")
    with pytest.raises(InputError, match="no module 'other'"):
        load_function(entry.at, "other:run")


def test_edited_plugin_is_read_anew(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    plugin(
        site,
        "granger-plus",
        "[podium.entries]\nplus = gplus3.plus\n",
        {
            "gplus3/__init__.py": "",
            "gplus3/plus/__init__.py": "",
            "gplus3/plus/entry.toml": ENTRY.format(id="plus"),
        },
    )
    assert load_registry().entry("plus").spec.title == "T"
    file = site / "gplus3/plus/entry.toml"
    file.write_text(file.read_text().replace('title = "T"', 'title = "Other"'))
    assert load_registry().entry("plus").spec.title == "Other"
