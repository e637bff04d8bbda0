"""A folder's name where an entry's id is wanted, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.cli.check import check
from podium.cli.listing import info
from podium.cli.nearby import check_folders, check_names, entry_folder
from podium.cli.show import show
from podium.errors import InputError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my-gcd").mkdir()
    (tmp_path / "my-gcd" / "entry.toml").write_text('id = "my_gcd"\n')
    (tmp_path / "my-gcd" / "method.py").write_text("")
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PODIUM_NO_PLUGINS", "1")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *((name, "my-gcd") for name in ("my_gcd", "my-gcd", "my-gdc", "my-gcd/method.py")),
        *((name, None) for name in ("", "other", "x" * 5000, "my-gcd/../nowhere/x", "a\0b")),
    ],
)
def test_the_folder_that_is_meant(name: str, found: str | None) -> None:
    assert entry_folder(name) == found


def test_a_renamed_folder_is_found_by_its_id_and_quoted(tmp_path: Path) -> None:
    (tmp_path / "my-gcd").rename(tmp_path / "a b")
    assert entry_folder("my_gcd") == "'a b'"


@pytest.mark.parametrize(
    ("call", "fix"),
    [
        (lambda: check_folders([Path("my_gcd")]), "--entry my-gcd"),
        (lambda: check_folders([Path("my-gcd/method.py")]), "--entry my-gcd"),
        (lambda: check_names(["my_gcd"], ["k_means"]), "--entry my-gcd"),
        (lambda: info("my-gcd", as_json=False), "podium check my-gcd, or podium run TASK --entry"),
        (lambda: info("my_gcd", as_json=False), "podium check my-gcd, or podium run TASK --entry"),
        (lambda: check("my-gdc", as_json=False), "podium check my-gcd"),
        (
            lambda: show("gcd_accuracy", entries=["my_gcd"]),
            "podium run gcd_accuracy --entry my-gcd",
        ),
    ],
)
def test_the_fix_names_the_folder(call: Callable[[], object], fix: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.fix is not None
    assert caught.value.fix.startswith(fix)


def test_what_is_right_or_unlike_is_left_alone() -> None:
    check_folders([Path("my-gcd"), Path("my-gcd/entry.toml"), Path("nowhere")])
    check_names(["my_gcd"], ["my_gcd"])
    check_names(["nothing_like_it"], [])
    check_names(["my_gdcs"], ["my_gdcx"])  # the installed one is nearer
