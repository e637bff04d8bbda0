"""What a problem is made of once and for all seeds: the base generator and the reward's map."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from podium.benchmarks.fid_50k.params import AnyParams
from podium.benchmarks.fid_50k.splits import Split
from podium.contracts import Array
from podium.data.derived import derived_arrays
from podium.generation import classifier as classifiers
from podium.generation.classifier import ClassifierSize, PictureClassifier, train_classifier
from podium.nn.discovery import layers
from podium.nn.flow import architecture as architectures
from podium.nn.flow import pictures, sit, training, weights
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.pictures import to_float
from podium.nn.flow.sit import SiT
from podium.nn.flow.training import train
from podium.nn.flow.weights import to_vector
from podium.seeding import seed_sequence

CHECKPOINTS = 8
"""Raw weights that are kept of the base generator's training, as in the paper."""

_TOLD = 5


@dataclass(frozen=True)
class Maker:
    """What makes the fixed parts of a problem: its id, its parameters, and the device to train on.

    Its generators depend on the problem and on the name, never on the seed of a run.
    """

    task: str
    problem: str
    params: AnyParams
    device: str

    def rng(self, name: str) -> np.random.Generator:
        """Return a numpy generator."""
        return np.random.default_rng(self._sequence(name))

    def torch_generator(self, name: str) -> torch.Generator:
        """Return a torch generator on the processor, so that it draws the same anywhere."""
        state = int(self._sequence(name).generate_state(1, np.uint64)[0])
        return torch.Generator().manual_seed(state >> 1)

    def _sequence(self, name: str) -> np.random.SeedSequence:
        return seed_sequence(0, "fixed", self.task, self.problem, name)

    def parameters(self, *arrays: Array) -> dict[str, Any]:
        """Return what cached arrays depend on beside files and code, with ``arrays``' digest."""
        digest = hashlib.sha256()
        for array in arrays:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
        return {
            "problem": self.problem,
            "params": msgspec.to_builtins(self.params),
            "arrays": digest.hexdigest(),
            "versions": {name: metadata.version(name) for name in ("numpy", "pillow", "torch")},
        }


def public_assets(maker: Maker, split: Split, sources: Sequence[Path] = ()) -> dict[str, Array]:
    """Return the base generator and the reward's map, trained on the train split or cached.

    Returns:
        ``architecture``, ``base_weights``, ``checkpoint_weights``, ``classifier_architecture`` and
        ``classifier_weights`` as the task declares them.
    """

    def compute() -> dict[str, Array]:
        return {**_base(maker, split), **_classifier(maker, split)}

    return derived_arrays(
        f"{maker.task}-{maker.problem}-base",
        compute,
        sources=sources,
        code=[
            sys.modules[__name__],
            architectures,
            classifiers,
            layers,
            pictures,
            sit,
            training,
            weights,
        ],
        parameters=maker.parameters(split.images, split.labels),
    )


def _base(maker: Maker, split: Split) -> dict[str, Array]:
    params = maker.params
    _, height, width, channels = split.images.shape
    size = Architecture(
        height=height,
        width=width,
        channels=channels,
        patch=params.patch,
        dimension=params.dimension,
        depth=params.depth,
        heads=params.heads,
        classes=int(split.labels.max()) + 1,
    )
    model = SiT(size, maker.torch_generator("first weights")).to(maker.device)

    def told(step: int, loss: float) -> None:
        if params.steps >= 1000 and step % (params.steps // _TOLD) == 0:
            print(
                f"{maker.problem}: base generator, step {step} of {params.steps}, loss {loss:.3f}",
                file=sys.stderr,
                flush=True,
            )

    found = train(
        model,
        to_float(split.images, maker.device),
        torch.from_numpy(split.labels).to(maker.device),
        steps=params.steps,
        batch=params.batch,
        learning_rate=params.rate,
        decay=params.decay,
        generator=maker.torch_generator("training"),
        checkpoints=CHECKPOINTS,
        told=told,
    )
    return {
        "architecture": size.to_array(),
        "base_weights": found.average.cpu().numpy(),
        "checkpoint_weights": found.checkpoints.cpu().numpy(),
    }


def _classifier(maker: Maker, split: Split) -> dict[str, Array]:
    _, height, width, channels = split.images.shape
    size = ClassifierSize(
        height=height,
        width=width,
        channels=channels,
        classes=int(split.labels.max()) + 1,
        features=maker.params.features,
    )
    model = PictureClassifier(size, maker.torch_generator("classifier")).to(maker.device)
    train_classifier(
        model,
        to_float(split.images, maker.device),
        torch.from_numpy(split.labels).to(maker.device),
        steps=maker.params.classifier_steps,
        batch=128,
        learning_rate=2e-3,
        generator=maker.torch_generator("training of the classifier"),
    )
    return {
        "classifier_architecture": size.to_array(),
        "classifier_weights": to_vector(model),
    }
