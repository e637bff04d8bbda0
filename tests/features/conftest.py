"""The published weights, where they can be had."""

from __future__ import annotations

from pathlib import Path

import pytest

import podium.benchmarks.gcd_accuracy
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import MissingError

TASK = Path(podium.benchmarks.gcd_accuracy.__path__[0]) / "task.toml"


@pytest.fixture(scope="session")
def mobilenet_weights() -> Path:
    files = toml.load(TASK, TaskSpec).files
    try:
        return Resolver(files).path("mobilenet_v2/mobilenet_v2-b0353104.pth")
    except MissingError as missing:
        pytest.skip(f"no ImageNet weights of MobileNetV2 here: {missing}")
