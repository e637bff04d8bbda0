"""What a record says of the software and the machine it comes from."""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import podium
from podium.build_info import build_commit
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
