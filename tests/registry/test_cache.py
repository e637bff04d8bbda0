"""The cache of declarations never shows what is no longer there."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.registry import cache
from podium.registry.registry import load_registry


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_second_reading_equals_the_first(private_cache: Path) -> None:
    first = load_registry(plugins=False)
    (file,) = private_cache.glob("declarations/*.msgpack")
    before = file.stat().st_mtime_ns
    assert load_registry(plugins=False) == first
    assert file.stat().st_mtime_ns == before


def test_damaged_and_foreign_caches_are_read_past(private_cache: Path) -> None:
    first = load_registry(plugins=False)
    (file,) = private_cache.glob("declarations/*.msgpack")
    for content in (b"", b"\x93\x01", file.read_bytes()[:-7]):
        file.write_bytes(content)
        assert load_registry(plugins=False) == first


def test_unwritable_cache_costs_nothing_but_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "file"))
    assert load_registry(plugins=False).tasks


def test_state_sees_edits_additions_and_removals(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    gone = cache.state([file])
    file.write_text("x = 1\n")
    there = cache.state([file])
    file.write_text("x = 22\n")
    edited = cache.state([file])
    assert len({gone, there, edited}) == 3
    folder = cache.state([tmp_path])
    (tmp_path / "b.toml").write_text("")
    assert cache.state([tmp_path]) != folder
