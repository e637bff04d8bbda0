"""Folders of files that are made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from podium.data.derived import derived_folder
from podium.errors import InputError

Make = Callable[[Path], None]


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "source.bin"
    file.write_bytes(b"abc")
    return file


def counting(calls: list[Path], text: str = "made") -> Make:
    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "a.txt").write_text(text)
        (folder / "b.bin").write_bytes(bytes(10))

    return make


def test_it_is_made_once(source: Path) -> None:
    calls: list[Path] = []
    first = derived_folder("thing", counting(calls), sources=[source], parameters={})
    second = derived_folder("thing", counting(calls), sources=[source], parameters={})
    assert first == second
    assert len(calls) == 1
    assert (first / "a.txt").read_text() == "made"
    assert not calls[0].exists()
    assert [p.name for p in first.parent.iterdir() if p.name.startswith(".")] == []


def test_other_files_or_parameters_are_another_folder(source: Path) -> None:
    calls: list[Path] = []
    one = derived_folder("thing", counting(calls), sources=[source], parameters={"layout": 1})
    two = derived_folder("thing", counting(calls), sources=[source], parameters={"layout": 2})
    source.write_bytes(b"another")
    three = derived_folder("thing", counting(calls), sources=[source], parameters={"layout": 2})
    assert len({one, two, three}) == len(calls) == 3


@pytest.mark.parametrize("damage", ["changed", "gone", "no list"])
def test_a_damaged_folder_is_made_anew(
    source: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[Path] = []
    folder = derived_folder("thing", counting(calls), sources=[source], parameters={})
    if damage == "changed":
        (folder / "a.txt").write_text("something else")
    elif damage == "gone":
        (folder / "b.bin").unlink()
    else:
        (folder / "contents.json").write_text("[1]")
    again = derived_folder("thing", counting(calls), sources=[source], parameters={})
    assert again == folder
    assert len(calls) == 2
    assert (folder / "a.txt").read_text() == "made"
    assert "damaged" in capsys.readouterr().out


def test_a_maker_that_fails_leaves_nothing(source: Path) -> None:
    def fails(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        derived_folder("thing", fails, sources=[source], parameters={})
    calls: list[Path] = []
    folder = derived_folder("thing", counting(calls), sources=[source], parameters={})
    assert not (folder / "half").exists()


def test_a_bad_name_is_refused(source: Path) -> None:
    with pytest.raises(InputError, match="bad name"):
        derived_folder("../x", counting([]), sources=[source], parameters={})
