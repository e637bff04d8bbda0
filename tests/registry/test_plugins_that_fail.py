"""Installed plug-ins that fail while they are looked for, or fit nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ENTRY = 'kind = "baseline"\ntitle = "T"\nsummary = "S"\ntasks = ["{task}"]\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder on Python's path with a distribution that has odd plug-ins."""
    info = tmp_path / "site" / "odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    return info.parent


def package(site: Path, name: str, init: str = "", entry: str | bytes = "") -> None:
    folder = site / name
    folder.mkdir()
    (folder / "__init__.py").write_text(init)
    if entry:
        data = entry if isinstance(entry, bytes) else entry.encode()
        (folder / "entry.toml").write_bytes(data)


def podium(site: Path, points: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (site / "odd-1.0.dist-info" / "entry_points.txt").write_text(f"[podium.entries]\n{points}\n")
    environment = {k: v for k, v in os.environ.items() if k != "PODIUM_NO_PLUGINS"}
    return subprocess.run(
        [sys.executable, "-m", "podium", *arguments],
        cwd=site.parent,
        env={**environment, "PYTHONPATH": str(site), "PODIUM_CACHE": str(site.parent / "cache")},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_package_that_exits_or_prints_harms_nobody(site: Path) -> None:
    package(site, "quits", "import sys\nprint('bye')\nsys.exit(7)\n")
    (site / "quits" / "inner").mkdir()
    done = podium(site, "a name with spaces = quits.inner", "list", "--json")
    assert done.returncode == 0, done.stderr
    (broken,) = json.loads(done.stdout)["broken"]
    assert broken["name"] == "a name with spaces"
    assert broken["origin"] == "odd 1.0"
    assert broken["reason"] == "SystemExit: 7"
    assert (Path(broken["file"]).parent.name, broken["line"]) == ("quits", 3)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('id = "acme_net"\nkinds = 1\n', "unknown key 'kinds'"),
        (b'id = "acme_net"\ntitle = "\xff"\n', "not UTF-8"),
        ('id = "acme_net"\nid = "again"\n', "stands twice"),
    ],
)
def test_a_broken_plug_in_is_found_by_the_name_it_gives_itself(
    site: Path, content: str | bytes, said: str
) -> None:
    package(site, "acme", entry=content)
    listed = podium(site, "point = acme", "list")
    assert "entry acme_net from odd 1.0" in listed.stderr
    asked = podium(site, "point = acme", "info", "acme_net")
    assert asked.returncode == 2
    assert said in asked.stderr
    assert "entry.toml" in asked.stderr


def test_an_entry_of_a_task_that_is_not_here_is_named(site: Path) -> None:
    package(site, "acme", entry='id = "acme_net"\n' + ENTRY.format(task="grangr_recovery"))
    listed = podium(site, "point = acme", "list")
    assert listed.returncode == 0
    assert "acme_net from odd 1.0 is of no task that is here: grangr_recovery" in listed.stderr
