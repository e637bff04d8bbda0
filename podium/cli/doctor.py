"""``podium doctor``: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

import importlib.util
import os
import platform
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from podium.cli.output import print_columns, print_json
from podium.errors import EXIT_ENVIRONMENT, EXIT_OK, InputError, PodiumError
from podium.paths import expanded
from podium.registry.registry import Registry, load_registry
from podium.registry.requirements import is_installed

State = Literal["ok", "note", "missing"]
REQUIRED = (
    "msgspec",
    "networkx",
    "numpy",
    "pandas",
    "pooch",
    "rich",
    "scikit-learn",
    "scipy",
    "torch",
    "typer",
)
EXTRAS = {
    "peers": ("pot", "tigramite"),
    "leaderboard": ("gradio", "plotly"),
    "lm": ("lm-eval", "transformers"),
    "dask": ("distributed",),
    "slurm": ("submitit",),
}


@dataclass(frozen=True)
class Finding:
    """One thing looked at: its state, what was found, and what to do where it is missing."""

    name: str
    state: State
    found: str
    fix: str | None = None


def doctor(*, store: Path | None, as_json: bool) -> int:
    """Print what was found; return 3 if something Podium cannot do without is missing."""
    findings = [
        *_python(),
        *_packages(),
        *_hardware(),
        *_folders(store),
        *_declarations(),
    ]
    if as_json:
        print_json([asdict(f) for f in findings])
    else:
        print_columns([(f.state, f.name, f.found) for f in findings], indent=0)
        for finding in findings:
            if finding.fix is not None:
                print(f"\n{finding.name}: {finding.fix}")
    return EXIT_ENVIRONMENT if any(f.state == "missing" for f in findings) else EXIT_OK


def _python() -> list[Finding]:
    from podium import __version__

    return [
        Finding("podium", "ok", __version__),
        Finding("python", "ok", platform.python_version()),
    ]


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> list[Finding]:
    findings = []
    for package in REQUIRED:
        version = _version(package)
        fix = None if version else "pip install podium installs it"
        findings.append(Finding(package, "ok" if version else "missing", version or "no", fix))
    for extra, packages in EXTRAS.items():
        absent = [p for p in packages if _version(p) is None]
        found = ", ".join(f"{p} {_version(p)}" for p in packages if p not in absent)
        fix = f'pip install "podium[{extra}]" installs {", ".join(absent)}' if absent else None
        findings.append(Finding(f"[{extra}]", "note" if absent else "ok", found or "no", fix))
    return findings


def _hardware() -> list[Finding]:
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    findings = [Finding("cores", "ok", str(cores)), Finding("memory", "ok", f"{memory:.1f} GiB")]
    if importlib.util.find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
            findings.append(Finding("gpu", "ok", ", ".join(names)))
        else:
            findings.append(Finding("gpu", "note", "none that torch can use; runs use the CPU"))
    return findings


def _folders(store: Path | None) -> list[Finding]:
    from podium.data.cache import cache_folder
    from podium.store.location import store_folder

    findings = []
    places: dict[str, Callable[[], Path]] = {
        "store": lambda: store_folder(store),
        "cache": cache_folder,
    }
    for name, locate in places.items():
        try:
            place = locate()
        except PodiumError as error:
            findings.append(Finding(name, "missing", f"{error.found}: {error.what}", error.fix))
            continue
        reason = _not_writable(place)
        fix = None if reason is None else f"choose another folder; {place}: {reason}"
        findings.append(Finding(name, "ok" if reason is None else "missing", str(place), fix))
    data = os.environ.get("PODIUM_DATA")
    if not data:
        findings.append(Finding("PODIUM_DATA", "note", "not set; files are fetched when needed"))
    elif _is_folder(data):
        findings.append(Finding("PODIUM_DATA", "ok", data))
    else:
        fix = "set it to a folder that exists, or unset it"
        findings.append(Finding("PODIUM_DATA", "missing", f"{data} is not a folder", fix))
    return findings


def _is_folder(name: str) -> bool:
    try:
        return expanded(name, where="PODIUM_DATA").is_dir()
    except InputError:
        return False


def _not_writable(folder: Path) -> str | None:
    """Return why no file can be made in a folder, or in the nearest parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _declarations() -> list[Finding]:
    try:
        registry = load_registry()
    except InputError as error:
        return [Finding("registry", "missing", error.what, error.found or error.fix)]
    counts = f"{len(registry.tasks)} tasks, {len(registry.entries)} entries"
    return [Finding("registry", "ok", counts), *_broken(registry), *_unmet(registry)]


def _broken(registry: Registry) -> list[Finding]:
    return [
        Finding(
            f"{b.kind} {b.name}",
            "note",
            f"broken, from {b.origin}: {b.reason}",
            b.file if b.line is None else f"{b.file}:{b.line}",
        )
        for b in registry.broken
    ]


def _unmet(registry: Registry) -> list[Finding]:
    findings = []
    for entry in registry.entries.values():
        absent = [m for m in entry.spec.file.requires if not is_installed(m)]
        if absent:
            found = f"skipped in runs: needs {', '.join(absent)}"
            extra = entry.spec.file.extra
            fix = f'pip install "podium[{extra}]"' if extra else None
            findings.append(Finding(f"entry {entry.id}", "note", found, fix))
    return findings
