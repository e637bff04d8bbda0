"""Files that come in several packings, and packages taken whole."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import msgspec
import pytest

from podium.data.resolver import Resolver
from podium.declarations.task import FileSpec
from podium.errors import InputError, MissingError

FIRST, SECOND, THIRD = b"packed by its authors", b"packed again", b"something else"


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _folders_of_this_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODIUM_OFFLINE", raising=False)
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    for name in ("data", "index"):
        (tmp_path / name).mkdir()


@pytest.mark.parametrize("content", [FIRST, SECOND])
def test_either_packing_will_do_and_is_recorded_as_it_is(content: bytes, tmp_path: Path) -> None:
    resolver = Resolver([FileSpec(name="a.gz", sha256=sha(FIRST), also=(sha(SECOND),))])
    (tmp_path / "data" / "a.gz").write_bytes(content)
    assert resolver.path("a.gz").read_bytes() == content
    assert [(d.name, d.sha256) for d in resolver.used] == [("a.gz", sha(content))]


def test_a_third_packing_will_not(tmp_path: Path) -> None:
    (tmp_path / "data" / "a.gz").write_bytes(THIRD)
    with pytest.raises(InputError) as caught:
        Resolver([FileSpec(name="a.gz", sha256=sha(FIRST), also=(sha(SECOND),))]).path("a.gz")
    for digest in (sha(FIRST), sha(SECOND), sha(THIRD)):
        assert digest in str(caught.value)


def test_the_cache_may_hold_either_packing(tmp_path: Path) -> None:
    place = tmp_path / "cache" / "files" / sha(FIRST) / "a.gz"
    place.parent.mkdir(parents=True)
    place.write_bytes(SECOND)
    spec = FileSpec(name="a.gz", sha256=sha(FIRST), also=(sha(SECOND),))
    assert Resolver([spec]).path("a.gz") == place
    with pytest.raises(MissingError, match="damaged"):
        Resolver([FileSpec(name="a.gz", sha256=sha(FIRST))]).path("a.gz")


def test_other_digests_must_be_digests() -> None:
    with pytest.raises(msgspec.ValidationError, match="also"):
        msgspec.convert({"name": "a", "sha256": sha(FIRST), "also": ["short"]}, FileSpec)


def test_a_package_can_be_taken_whole(tmp_path: Path) -> None:
    archive = tmp_path / "index" / "podium_test_data-1.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as bundle:
        bundle.writestr("lib/72x72/a.png", b"picture")
        for name, text in {
            "METADATA": "Metadata-Version: 2.1\nName: podium-test-data\nVersion: 1.0\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            "RECORD": "",
        }.items():
            bundle.writestr(f"podium_test_data-1.0.dist-info/{name}", text)
    content = archive.read_bytes()
    spec = FileSpec(
        name="emoji/pictures.whl", sha256=sha(content), package="podium-test-data==1.0", member="."
    )
    path = Resolver([spec]).path("emoji/pictures.whl")
    assert path == tmp_path / "cache" / "files" / sha(content) / "pictures.whl"
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == ["pictures.whl"]
