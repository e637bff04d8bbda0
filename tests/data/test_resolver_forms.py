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


def own_folder(tmp_path: Path, **files: bytes) -> Path:
    folder = tmp_path / "data" / "birds"
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def digest_of(resolver: Resolver) -> str:
    resolver.folder("birds")
    [digest] = resolver.used
    assert digest.name == "birds/"
    return digest.sha256


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    folder = own_folder(tmp_path, b__2=SECOND, a=FIRST, b__1=THIRD)
    resolver = Resolver([])
    assert resolver.folder("birds") == folder
    lines = "".join(
        f"{sha(content)}  {name}\n"
        for name, content in (("a", FIRST), ("b/1", THIRD), ("b/2", SECOND))
    )
    assert digest_of(resolver) == sha(lines.encode())


def test_every_name_and_content_of_a_folder_counts(tmp_path: Path) -> None:
    folder = own_folder(tmp_path, a=FIRST, b__1=SECOND)
    before = digest_of(Resolver([]))
    (folder / ".hidden").write_bytes(THIRD)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_bytes(THIRD)
    assert digest_of(Resolver([])) == before
    (folder / "a").rename(folder / "c")
    renamed = digest_of(Resolver([]))
    (folder / "c").rename(folder / "a")
    (folder / "a").write_bytes(THIRD)
    changed = digest_of(Resolver([]))
    (folder / "a").write_bytes(FIRST)
    assert digest_of(Resolver([])) == before
    assert len({before, renamed, changed}) == 3


def test_a_folder_that_is_not_there_says_where_to_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingError, match=r"put pictures into \$PODIUM_DATA/birds") as caught:
        Resolver([]).folder("birds", "pictures")
    assert "no folder" in str(caught.value)
    (tmp_path / "data" / "birds").mkdir()
    with pytest.raises(MissingError, match="no file in"):
        Resolver([]).folder("birds")
    monkeypatch.delenv("PODIUM_DATA")
    with pytest.raises(MissingError, match="PODIUM_DATA is not set"):
        Resolver([]).folder("birds")
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match="PODIUM_DATA is not a folder"):
        Resolver([]).folder("birds")


@pytest.mark.parametrize("name", ["../birds", "/birds", "a/../../b"])
def test_a_folder_stays_inside_the_data(name: str) -> None:
    with pytest.raises(InputError, match="leaves the data folder"):
        Resolver([]).folder(name)
