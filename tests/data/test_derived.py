"""Arrays kept in the cache: computed once, verified, and rebuilt where they are damaged."""

from __future__ import annotations

import io
import multiprocessing
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from podium.contracts import Array
from podium.data.derived import derived_arrays
from podium.errors import InputError, MissingError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.write_bytes(b"pictures")
    return path


@pytest.fixture
def code(tmp_path: Path) -> ModuleType:
    module = ModuleType("extractor")
    module.__file__ = str(tmp_path / "extractor.py")
    Path(module.__file__).write_text("VALUE = 1\n")
    return module


class Counted:
    """Computes, and counts how often."""

    def __init__(self, **arrays: Array) -> None:
        self.arrays: dict[str, Array] = arrays or {"x": np.arange(6.0).reshape(2, 3)}
        self.calls = 0

    def __call__(self) -> dict[str, Array]:
        self.calls += 1
        return self.arrays


def stored(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "derived").glob("*/*.npz"))


def test_computed_once(source: Path, code: ModuleType) -> None:
    compute = Counted(x=np.arange(6.0).reshape(2, 3), y=np.array([1, 2], dtype=np.int64))

    def ask() -> dict[str, Array]:
        return derived_arrays(
            "toy", compute, sources=[source], code=[code], parameters={"dimension": 3}
        )

    first, second = ask(), ask()
    assert compute.calls == 1
    for name, array in compute.arrays.items():
        for found in (first[name], second[name]):
            np.testing.assert_array_equal(found, array)
            assert found.dtype == array.dtype


@pytest.mark.parametrize("change", ["source", "code", "parameters", "name"])
def test_anything_else_is_computed_anew(change: str, source: Path, code: ModuleType) -> None:
    compute = Counted()

    def ask(name: str = "toy", **parameters: Any) -> None:
        derived_arrays(name, compute, sources=[source], code=[code], parameters=parameters)

    ask(a=1, b=2)
    ask(b=2, a=1)
    assert compute.calls == 1
    if change == "source":
        source.write_bytes(b"other pictures")
    elif change == "code":
        assert code.__file__ is not None
        Path(code.__file__).write_text("VALUE = 2\n")
    ask(
        **({"name": "other"} if change == "name" else {}),
        a=2 if change == "parameters" else 1,
        b=2,
    )
    assert compute.calls == 2


def test_the_place_of_a_source_does_not_count(
    tmp_path: Path, source: Path, code: ModuleType
) -> None:
    compute = Counted()
    copy = tmp_path / "copy"
    copy.write_bytes(source.read_bytes())
    for path in (source, copy):
        derived_arrays("toy", compute, sources=[path], code=[code], parameters={})
    assert compute.calls == 1


def flip(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def bare(array: Array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as bundle:
        for name, content in members.items():
            bundle.writestr(name, content)
    return file.getvalue()


def member(content: bytes, name: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        return bundle.read(name)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut": lambda content: content[: len(content) // 2],
    "text": lambda _: b"not an archive",
    "one bit of a value": lambda content: flip(content, 4000),
    "one bit of the header": lambda content: flip(content, content.index(b"descr") + 1),
    "a bare array": lambda _: bare(np.arange(1000.0)),
    "an empty archive": lambda _: archive(),
    "no list": lambda content: archive(**{"x.npy": member(content, "x.npy")}),
    "a missing array": lambda content: archive(
        **{"contents.json": member(content, "contents.json")}
    ),
    "an array too many": lambda content: archive(
        **{n: member(content, n) for n in ("contents.json", "x.npy")}, **{"y.npy": b""}
    ),
    "an array of another shape": lambda content: archive(
        **{"contents.json": member(content, "contents.json"), "x.npy": bare(np.arange(999.0))}
    ),
    "an array of another type": lambda content: archive(
        **{"contents.json": member(content, "contents.json"), "x.npy": bare(np.arange(1000))}
    ),
    "a list of another kind": lambda content: archive(
        **{"contents.json": b"7", "x.npy": member(content, "x.npy")}
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_computed_anew(
    kind: str, tmp_path: Path, source: Path, code: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    compute = Counted(x=np.arange(1000.0))

    def ask() -> Array:
        return derived_arrays("toy", compute, sources=[source], code=[code], parameters={})["x"]

    ask()
    [path] = stored(tmp_path)
    path.write_bytes(DAMAGE[kind](path.read_bytes()))
    np.testing.assert_array_equal(ask(), np.arange(1000.0))
    assert compute.calls == 2
    assert "damaged" in capsys.readouterr().out
    np.testing.assert_array_equal(ask(), np.arange(1000.0))
    assert compute.calls == 2


@pytest.mark.parametrize("mask", [8, 255])
def test_whatever_byte_is_damaged_the_arrays_are_right(
    mask: int, tmp_path: Path, source: Path, code: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # many small files
    compute = Counted(x=np.arange(4.0), y=np.array([[1, 2]], dtype=np.int64))

    def ask() -> dict[str, Array]:
        return derived_arrays("toy", compute, sources=[source], code=[code], parameters={})

    ask()
    [path] = stored(tmp_path)
    whole = path.read_bytes()
    for at, byte in enumerate(whole):
        path.write_bytes(whole[:at] + bytes([byte ^ mask]) + whole[at + 1 :])
        found = ask()
        assert found.keys() == compute.arrays.keys(), at
        for name, array in compute.arrays.items():
            np.testing.assert_array_equal(found[name], array, err_msg=str(at), strict=True)
    # Bytes that hold neither data nor its place, such as times, damage nothing.
    assert len(whole) // 2 < compute.calls <= len(whole) + 1


def test_a_failure_leaves_nothing_behind(tmp_path: Path, source: Path, code: ModuleType) -> None:
    def fail() -> dict[str, Array]:
        raise ValueError("no pictures")

    def ask(compute: Callable[[], dict[str, Array]]) -> dict[str, Array]:
        return derived_arrays("toy", compute, sources=[source], code=[code], parameters={})

    with pytest.raises(ValueError, match="no pictures"):
        ask(fail)
    assert not stored(tmp_path)
    assert ask(Counted())["x"].shape == (2, 3)  # and the lock is free
    folder = tmp_path / "cache" / "derived" / "toy"
    assert sorted(p.suffix for p in folder.iterdir()) == [".lock", ".npz"]


def test_what_cannot_be_kept_is_named(source: Path, code: ModuleType) -> None:
    def ask(name: str, compute: Callable[[], dict[str, Array]]) -> None:
        derived_arrays(name, compute, sources=[source], code=[code], parameters={})

    for name in ("", "../up", "a/b", "Upper"):
        with pytest.raises(InputError, match="bad name"):
            ask(name, Counted())
    with pytest.raises(InputError, match="no array"):
        ask("toy", dict)
    with pytest.raises(InputError, match="numbers"):
        ask("toy", Counted(x=np.array([object()])))


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, source: Path, code: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "file"))
    with pytest.raises(MissingError, match="PODIUM_CACHE"):
        derived_arrays("toy", Counted(), sources=[source], code=[code], parameters={})


def slow_run(source: Path, module_file: str, notes: Path) -> float:
    module = ModuleType("extractor")
    module.__file__ = module_file

    def compute() -> dict[str, Array]:
        (notes / str(os.getpid())).touch()
        time.sleep(0.5)
        return {"x": np.full(200_000, 7.0)}

    found = derived_arrays("toy", compute, sources=[source], code=[module], parameters={})
    return float(found["x"].sum())


def test_of_several_processes_one_computes(tmp_path: Path, source: Path, code: ModuleType) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    context = multiprocessing.get_context("fork")
    with context.Pool(4) as pool:
        sums = pool.starmap(slow_run, [(source, code.__file__, notes)] * 4, chunksize=1)
    assert sums == [1_400_000.0] * 4
    assert len(list(notes.iterdir())) == 1


def test_the_lock_of_a_process_that_died_is_free(
    tmp_path: Path, source: Path, code: ModuleType
) -> None:
    def die() -> dict[str, Array]:
        os._exit(3)

    child = multiprocessing.get_context("fork").Process(
        target=derived_arrays,
        args=("toy", die),
        kwargs={"sources": [source], "code": [code], "parameters": {}},
    )
    child.start()
    child.join(30)
    assert child.exitcode == 3
    assert not stored(tmp_path)
    found = derived_arrays("toy", Counted(), sources=[source], code=[code], parameters={})
    assert found["x"].shape == (2, 3)
