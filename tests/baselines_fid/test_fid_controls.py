"""The controls of FID-50K: what each hands in, on a problem made without training."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.baselines.base_generator import method as base_generator
from podium.baselines.nearest_copy import method as nearest_copy
from podium.baselines.pixel_gaussian import method as pixel_gaussian
from podium.baselines.real_images import method as real_images
from podium.contracts import Array, Problem
from podium.generation.classifier import ClassifierSize, PictureClassifier
from podium.generation.samples import STEPS
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sit import SiT
from podium.nn.flow.weights import to_vector
from podium.seeding import generator

SAMPLES = 60
CLASSES = 3


def plain_problem() -> Problem:
    """Class k is of grey 80 k with a little noise; the generator is not trained."""
    rng = np.random.default_rng(0)

    def split(count: int) -> tuple[Array, Array]:
        labels = np.arange(count, dtype=np.int64) % CLASSES
        levels = 80 * labels[:, None, None, None] + rng.integers(0, 20, (count, 4, 4, 1))
        return levels.astype(np.uint8), labels

    train, reward = split(30), split(12)
    size = Architecture(4, 4, 1, 2, 8, 1, 2, CLASSES)
    model = SiT(size, torch.Generator().manual_seed(0))
    # The last layer starts at 0: a network without any training predicts grey whatever the noise.
    torch.nn.init.normal_(model.leave.weight, generator=torch.Generator().manual_seed(1))
    weights = to_vector(model)
    classifier = ClassifierSize(4, 4, 1, CLASSES, 5)
    public: dict[str, Array] = {
        "train_images": train[0],
        "train_labels": train[1],
        "reward_images": reward[0],
        "reward_labels": reward[1],
        "sample_labels": rng.permutation(np.arange(SAMPLES, dtype=np.int64) % CLASSES),
        "architecture": size.to_array(),
        "base_weights": weights,
        "checkpoint_weights": weights[None],
        "classifier_architecture": classifier.to_array(),
        "classifier_weights": to_vector(
            PictureClassifier(classifier, torch.Generator().manual_seed(0))
        ),
    }
    for array in public.values():
        array.flags.writeable = False
    return Problem(task="fid_50k", id="plain", tier="smoke", public=public)


class DrawingContext:
    """A context of one seed."""

    device = "cpu"
    threads = 1
    scratch = Path()
    budget_left = float("inf")

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        start = int(self.rng(name).integers(2**62))
        return torch.Generator(device or self.device).manual_seed(start)

    def log(self, step: int, **values: float) -> None:
        raise AssertionError(f"nothing is learnt at {step}: {values}")

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"{name}: {len(chunk)} pictures fit into memory")


METHODS: dict[str, Any] = {
    "base_generator": base_generator.run,
    "nearest_copy": nearest_copy.run,
    "pixel_gaussian": pixel_gaussian.run,
    "real_images": real_images.run,
}


@pytest.fixture(scope="module")
def problem() -> Problem:
    return plain_problem()


def samples_of(name: str, problem: Problem, seed: int = 0, **config: Any) -> Array:
    samples: Array = METHODS[name](problem, DrawingContext(seed), **config)["samples"]
    return samples


def where_in(samples: Array, images: Array) -> list[list[int]]:
    """Rows of ``images`` that each sample is a copy of."""
    flat = images.reshape(len(images), -1)
    return [np.flatnonzero((flat == s.ravel()).all(axis=1)).tolist() for s in samples]


@pytest.mark.parametrize("name", METHODS)
def test_as_many_pictures_as_asked_for_and_the_seed_decides(name: str, problem: Problem) -> None:
    first, again, other = (samples_of(name, problem, seed) for seed in (0, 0, 1))
    assert first.dtype == np.uint8
    assert first.shape == (SAMPLES, 4, 4, 1)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_real_pictures_are_of_the_reward_split_and_of_the_class(problem: Problem) -> None:
    rows = where_in(samples_of("real_images", problem), problem.public["reward_images"])
    assert all(len(found) == 1 for found in rows)
    chosen = np.array([found[0] for found in rows])
    labels = problem.public["reward_labels"]
    assert np.array_equal(labels[chosen], problem.public["sample_labels"])
    # Twenty of each class are asked for, and there are four: each comes five times.
    assert np.bincount(chosen).tolist() == [5] * 12


def test_copies_are_training_pictures_of_the_class(problem: Problem) -> None:
    train = problem.public["train_images"]
    rows = where_in(samples_of("nearest_copy", problem, steps=2), train)
    chosen = np.array([found[0] for found in rows])
    assert np.array_equal(problem.public["train_labels"][chosen], problem.public["sample_labels"])
    # The nearest to samples of the base generator, from the same noise.
    base = samples_of("base_generator", problem, steps=2)
    distances = np.square(
        base.reshape(SAMPLES, 1, -1).astype(float) - train.reshape(1, 30, -1).astype(float)
    ).sum(axis=2)
    allowed = problem.public["sample_labels"][:, None] == problem.public["train_labels"]
    assert np.array_equal(np.where(allowed, distances, np.inf).argmin(axis=1), chosen)


def test_pixels_have_the_moments_of_their_class(problem: Problem) -> None:
    many = dict(problem.public)
    many["sample_labels"] = np.arange(9000, dtype=np.int64) % CLASSES
    samples = samples_of("pixel_gaussian", Problem("fid_50k", "plain", "smoke", many))
    for label in (1, 2):  # the pixels of class 0 are cut at black
        real = many["train_images"][many["train_labels"] == label]
        drawn = samples[many["sample_labels"] == label]
        assert drawn.mean(axis=0) == pytest.approx(real.mean(axis=0), abs=1.0)
        assert drawn.std(axis=0) == pytest.approx(real.std(axis=0), abs=1.0)
        corner = np.corrcoef(drawn[:, 0, 0, 0], drawn[:, 0, 1, 0])[0, 1]
        assert abs(corner) < 0.1


def test_samplers_of_the_base_differ(problem: Problem) -> None:
    ode = samples_of("base_generator", problem)
    assert not np.array_equal(ode, samples_of("base_generator", problem, sampler="sde"))


@pytest.mark.parametrize("name", ["base_generator", "nearest_copy"])
def test_the_base_is_sampled_as_everywhere(name: str) -> None:
    assert inspect.signature(METHODS[name]).parameters["steps"].default == STEPS
