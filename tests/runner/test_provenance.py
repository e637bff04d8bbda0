from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import podium
from podium.build_info import build_commit
from podium.provenance import provenance
from podium.store.record import Provenance

SOURCE = Path(podium.__file__).resolve().parent


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def repository(folder: Path, *files: str) -> str:
    """Make a repository that tracks ``files`` and return its commit."""
    git(folder, "init", "-q")
    git(folder, "add", "-f", *files)
    git(folder, "commit", "-q", "-m", "all")
    return git(folder, "rev-parse", "HEAD")


def package_in(folder: Path) -> Path:
    """Make a copy of podium as far as provenance looks at it."""
    package = folder / "podium"
    package.mkdir(parents=True)
    shutil.copy(SOURCE / "provenance.py", package)
    return package


def test_a_checkout_names_its_own_commit_and_changes(tmp_path: Path) -> None:
    package = package_in(tmp_path)
    commit = repository(tmp_path, "podium/provenance.py")
    assert build_commit(package) == (commit, False)
    (tmp_path / "untracked").touch()
    assert build_commit(package) == (commit, False)
    (package / "provenance.py").write_text("")
    assert build_commit(package) == (commit, True)


def test_an_environment_inside_another_repository_names_none(tmp_path: Path) -> None:
    package = package_in(tmp_path / "venv" / "site-packages")
    (tmp_path / "theirs").touch()
    repository(tmp_path, "theirs")
    assert build_commit(package) == (None, None)
    # Not even where that repository keeps its packages under version control.
    git(tmp_path, "add", "-f", ".")
    git(tmp_path, "commit", "-q", "-m", "vendored")
    assert build_commit(package) == (None, None)


def test_a_repository_around_that_does_not_track_podium_names_none(tmp_path: Path) -> None:
    package = package_in(tmp_path)
    (tmp_path / "theirs").touch()
    repository(tmp_path, "theirs")
    assert build_commit(package) == (None, None)


def test_a_repository_without_a_commit_names_none(tmp_path: Path) -> None:
    package = package_in(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "podium/provenance.py")
    assert build_commit(package) == (None, None)


def test_a_wheel_names_the_commit_it_was_built_from(tmp_path: Path) -> None:
    package = package_in(tmp_path)
    repository(tmp_path, "podium/provenance.py")
    (package / "_build.py").write_text("COMMIT = 'abc'\nDIRTY = True\n")
    assert build_commit(package) == ("abc", True)


def test_no_git_names_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = package_in(tmp_path)
    repository(tmp_path, "podium/provenance.py")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build_commit(package) == (None, None)


def test_neither_the_current_folder_nor_gits_variables_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = build_commit(SOURCE)
    (tmp_path / "podium").mkdir()
    (tmp_path / "podium" / "provenance.py").touch()
    theirs = repository(tmp_path, "podium/provenance.py")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert build_commit(SOURCE)[0] == expected[0] != theirs


def test_argv_keeps_no_folders() -> None:
    argv = ["/home/ann/bin/podium", "run", "--store=/data/ann/out", "--entry", "/x/mine", "~/y"]
    found = provenance(2, [*argv, "a/b", "--set", "f:k=/p/q"])
    assert found.argv[:6] == ("podium", "run", "--store=out", "--entry", "mine", "y")
    assert found.argv[6:8] == ("a/b", "--set")
    assert found.threads == 2


def test_no_library_is_imported_and_nobody_is_named() -> None:
    code = (
        "import sys, msgspec\n"
        "from podium.provenance import provenance\n"
        "found = provenance(1, ['podium'])\n"
        "heavy = {'numpy', 'scipy', 'torch', 'pandas', 'sklearn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "print(msgspec.json.encode(found).decode())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = msgspec.json.decode(done.stdout, type=Provenance)
    assert {"numpy", "scipy", "torch", "pandas", "scikit-learn"} >= set(found.packages)
    assert found.packages["numpy"]
    assert found.platform.startswith("Linux ")
    assert found.gpu is None
    assert os.uname().nodename not in done.stdout
