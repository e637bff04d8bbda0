"""``podium score``: its table, its JSON, its exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from podium.cli.score import score
from podium.errors import InputError, MissingError

MAP = """
import torch
from torch import nn
from podium.features.module import ModuleFeatures

def made():
    generator = torch.Generator().manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
    for parameter in network.parameters():
        nn.init.normal_(parameter, generator=generator)
    return ModuleFeatures(network, name="mine", dimension=6, size=8, mean=[.5] * 3, std=[.2] * 3)
"""
KEYS = {
    "task", "name", "label", "features", "dimension", "samples", "reference", "metrics",
    "undefined", "kid_subsets", "unreliable", "warnings", "seed", "seconds",
}  # fmt: skip
METRICS = {"frechet", "kid", "kid_spread", "precision", "recall", "density", "coverage"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a feature map, 80 generated pictures in a zip and 70 real ones in an npz."""
    rng = np.random.default_rng(0)
    (tmp_path / "map_for_score.py").write_text(MAP)
    np.savez(tmp_path / "real.npz", rng.integers(0, 256, (70, 8, 8, 3), dtype=np.uint8))
    with zipfile.ZipFile(tmp_path / "fake.zip", "w") as made:
        for index in range(80):
            file = io.BytesIO()
            pixels = rng.integers(0, 200, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(file, "PNG")
            made.writestr(f"{index}.png", file.getvalue())
        made.writestr("notes.txt", "x")
    return tmp_path


def podium(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "podium", "score", *arguments],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PODIUM_OFFLINE": "1", "PODIUM_CACHE": str(place / "cache")},
    )


def test_the_table(place: Path) -> None:
    given = "fid_50k --samples fake.zip --reference real.npz --features map_for_score:made"
    done = podium(place, *given.split())
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    heads = [line.split()[0] for line in lines[:6]]
    assert heads == ["Fréchet", "KID", "precision", "recall", "density", "coverage"]
    assert "FID" not in done.stdout
    assert "samples: 80 pictures in fake.zip, 1 other file ignored" in lines
    assert lines[-1].startswith("name: frechet[mine-")
    assert "N=80, reference=sha256:" in lines[-1]
    assert done.stderr == ""


def test_json_and_a_warning_below_ten_pictures_a_dimension(place: Path) -> None:
    np.savez(place / "few.npz", np.random.default_rng(1).integers(0, 9, (20, 8, 8, 3), np.uint8))
    given = "fid_50k --samples few.npz --reference real.npz --features map_for_score:made"
    done = podium(place, *given.split(), "--json", "--seed", "3", "--batch", "7")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert set(found) == KEYS
    assert set(found["metrics"]) == METRICS
    assert all(isinstance(v, float) for v in found["metrics"].values())
    assert found["undefined"] == {}
    assert found["unreliable"] is True
    assert "N >= 60 in both sets would do" in found["warnings"][0]
    assert (found["seed"], found["dimension"]) == (3, 6)
    assert found["samples"]["pictures"] == found["samples"]["kept"] == 20
    assert found["reference"]["digest"].startswith("sha256:")
    assert found["kid_subsets"] == {"count": 100, "size": 20}
    shown = podium(place, *given.split())
    assert "warning: unreliable: 20 pictures for 6 dimensions" in shown.stderr
    assert "unreliable" in shown.stdout.splitlines()[0]


def test_a_metric_without_a_value_says_why(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    np.savez(place / "same.npz", np.full((70, 8, 8, 3), 9, dtype=np.uint8))
    paths: dict[str, Any] = {
        "samples": "same.npz",
        "reference": "same.npz",
        "features": "map_for_score:made",
    }
    score("fid_50k", **paths, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["metrics"]["coverage"] is None
    assert "1 different pictures" in found["undefined"]["coverage"]
    assert found["metrics"]["frechet"] == pytest.approx(0.0, abs=1e-9)
    score("fid_50k", **paths)
    assert "coverage" in (text := capsys.readouterr().out)
    assert "1 different pictures" in text


def test_bad_input_ends_in_a_message(place: Path) -> None:
    given = "fid_50k --samples none.zip --reference real.npz --features map_for_score:made"
    done = podium(place, *given.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: --samples none.zip: no pictures can be read from here")
    assert "Traceback" not in done.stderr


def test_arguments_are_named(place: Path) -> None:
    given: dict[str, Any] = {
        "samples": str(place / "fake.zip"),
        "reference": str(place / "real.npz"),
        "features": "vgg",
    }
    with pytest.raises(InputError, match=r"(?s)does not score files.*podium run gcd_accuracy"):
        score("gcd_accuracy", **given)
    with pytest.raises(InputError, match="--seed: bad seed"):
        score("fid_50k", **given, seed=-1)
    with pytest.raises(InputError, match="unknown device"):
        score("fid_50k", **given, device="tpu")
    with pytest.raises(MissingError, match=r"--device cuda:999: there is no such device"):
        score("fid_50k", **given, device="cuda:999")
    with pytest.raises(InputError, match="--features vgg: unknown feature map"):
        score("fid_50k", **given)
    with pytest.raises(InputError, match="--reference: a path cannot be an empty text"):
        score("fid_50k", **{**given, "reference": ""})


def test_inception_needs_its_file(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    monkeypatch.setenv("PODIUM_OFFLINE", "1")
    monkeypatch.setenv("PODIUM_CACHE", str(place / "cache"))
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    paths: dict[str, Any] = {
        "samples": str(place / "fake.zip"),
        "reference": str(place / "real.npz"),
    }
    with pytest.raises(MissingError, match=r"(?s)inception-2015-12-05\.pt.*f58cb9b6.*PODIUM_DATA"):
        score("fid_50k", **paths, features="inception")
    (place / "w.pt").write_bytes(b"x")
    with pytest.raises(InputError, match="does not hold the published weights"):
        score("fid_50k", **paths, features="inception", weights=place / "w.pt")
