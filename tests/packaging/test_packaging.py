"""The package: one copy of every module, and a wheel that holds the tree."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTENT = ("benchmarks", "methods", "baselines", "leaderboard")
KEPT = {".py", ".toml", ".md", ".json", ".jsonl", ".tmpl", ".typed", ".css"}


def test_content_folders_are_links_to_the_top_level() -> None:
    for name in CONTENT:
        link = ROOT / "podium" / name
        assert link.is_symlink(), f"podium/{name} must link to ../{name}"
        assert link.readlink() == Path("..") / name


def test_no_second_copy_of_a_content_folder_is_imported() -> None:
    code = (
        "import sys, podium.registry.registry as r\n"
        "from podium.registry.code import load_module\n"
        "g = r.load_registry(plugins=False)\n"
        "[load_module(t.at, t.spec.module) for t in g.tasks.values()]\n"
        f"print(sorted(set({CONTENT!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a clean clone of what is committed."""
    place = tmp_path_factory.mktemp("wheel")
    clone = place / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", str(place), "."],
        cwd=clone,
        check=True,
        capture_output=True,
    )
    (built,) = place.glob("*.whl")
    return built


def test_wheel_holds_every_committed_file_under_its_module_name(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "podium", *CONTENT],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    expected = set()
    for name in listed:
        path = Path(name)
        if path.suffix not in KEPT:
            continue
        top = path.parts[0]
        expected.add(name if top == "podium" else f"podium/{name}")
    with zipfile.ZipFile(wheel) as archive:
        found = {n for n in archive.namelist() if ".dist-info/" not in n}
    assert expected - found == set(), "committed but not in the wheel"
    assert found - expected <= {"podium/_build.py"}, "in the wheel but not committed"


def test_installed_wheel_lists_and_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    """The wheel alone (no checkout on the path) finds its tasks and carries out a run.

    Its folder has a name that is no text in the plain locale of the environment.
    """
    target = tmp_path / "Büro 📦"
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    done = subprocess.run(
        [sys.executable, "-m", "podium", "run", "granger_recovery", "--tier", "smoke",
         "--entries", "random_scores", "--seeds", "1", "--store", str(tmp_path / "store")],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(target), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "random_scores" in done.stdout
    where = subprocess.run(
        [sys.executable, "-c", "import podium; print(podium.__file__)"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(target))
