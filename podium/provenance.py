"""What a record says of the software and the machine it comes from."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

import podium
from podium.store.record import Provenance

LIBRARIES = ("numpy", "scipy", "torch", "pandas", "scikit-learn")
_PACKAGE = Path(podium.__file__).resolve().parent


def provenance(threads: int, argv: Sequence[str]) -> Provenance:
    """Describe this installation of Podium, its libraries and this machine.

    No library is imported for it. Absolute paths in ``argv`` are cut to their last part, and
    neither the host nor the user is named. The current folder plays no part.
    """
    commit, dirty = build_commit(_PACKAGE)
    return Provenance(
        podium=podium.__version__,
        commit=commit,
        dirty=dirty,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages=_versions(),
        processor=_processor(),
        gpu=_gpu(),
        threads=threads,
        argv=tuple(_without_folders(word) for word in argv),
    )


def build_commit(package: Path) -> tuple[str | None, bool | None]:
    """Return the commit that the podium in ``package`` was built from, and whether it was changed.

    A wheel carries the commit in ``_build.json``. A checkout is asked itself, but only if the
    repository is Podium's own: it tracks this file as ``podium/provenance.py`` from its root.
    Anything else, such as an environment inside somebody's repository, gives ``(None, None)``.
    """
    built = _recorded(package / "_build.json")
    if built is not None:
        return built
    # The variables would point git at another repository, for example inside a hook.
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"

    def git(*words: str) -> str | None:
        command = ["git", "-C", str(package.parent), *words]
        try:
            done = subprocess.run(command, env=env, capture_output=True, timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None

    if not (package.parent / ".git").exists():
        return None, None
    tracked = git("ls-files", "--full-name", "--error-unmatch", "podium/provenance.py")
    if tracked is None or tracked.strip() != "podium/provenance.py":
        return None, None
    status = git("status", "--porcelain=v2", "--branch", "--untracked-files=no")
    if status is None:
        return None, None
    lines = status.splitlines()
    commit = next((w.split()[2] for w in lines if w.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return None, None
    return commit, any(not line.startswith("#") for line in lines)


class _Build(msgspec.Struct):
    commit: str | None
    dirty: bool | None


def _recorded(file: Path) -> tuple[str | None, bool | None] | None:
    """Read what ``setup.py`` writes into a built package."""
    if not file.is_file():
        return None
    build = msgspec.json.decode(file.read_bytes(), type=_Build)
    return build.commit, build.dirty


def _versions() -> dict[str, str]:
    from importlib import metadata

    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # Podium reads boards and stores without it
    return found


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Processor") and value.strip():
                return value.strip()
    return platform.processor() or platform.machine()


def _gpu() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return str(torch.cuda.get_device_name())


def _without_folders(word: str) -> str:
    """Cut an absolute path, also behind ``--option=``, to its last part."""
    option, equals, value = word.partition("=")
    if equals and option.startswith("-"):
        return f"{option}={_without_folders(value)}"
    if word.startswith("~") or Path(word).is_absolute():
        return Path(word).name or "/"
    return word
