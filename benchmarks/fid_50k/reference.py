"""What the scorer measures against: the second map, the held-out split, and the base's distance."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from podium.benchmarks.fid_50k import second
from podium.benchmarks.fid_50k.assets import Maker
from podium.benchmarks.fid_50k.second import SecondFeatures, fit_second
from podium.benchmarks.fid_50k.splits import Splits, sample_labels
from podium.contracts import Array, Arrays
from podium.data.derived import derived_arrays
from podium.features import mobilenet_v2, resize
from podium.generation import samples as sampled
from podium.generation.samples import generate
from podium.metrics.frechet import frechet_of_features
from podium.nn.discovery import layers
from podium.nn.flow import pictures, sampling, sit
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sit import SiT
from podium.nn.flow.weights import from_vector

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


_DRAWS = 4


def hidden_reference(
    maker: Maker,
    splits: Splits,
    public: Arrays,
    *,
    weights: Path | None,
    sources: Sequence[Path] = (),
) -> dict[str, Array]:
    """Return what the scorer needs beside the held-out pictures, computed once or cached.

    Args:
        maker: the problem.
        splits: its pictures.
        public: the base generator, as ``public_assets`` returns it.
        weights: of MobileNetV2, where the second map is that.
        sources: files the pictures come from.

    Returns:
        The second map's arrays; ``train_features`` and ``held_out_features`` under it, float32
        [n, features]; ``base_frechet`` float64 [1]: the distance of the base generator's samples,
        as many as are asked for, the mean over four draws of them.
    """

    def compute() -> dict[str, Array]:
        params = maker.params
        made = fit_second(
            params.second,
            splits.train,
            features=params.features,
            steps=params.classifier_steps,
            generator=maker.torch_generator("second map"),
            weights=weights,
            device=maker.device,
        )
        features = SecondFeatures(made, maker.device)
        held_out = features(splits.held_out.images)
        asked = sample_labels(splits.train.labels, params.samples, maker.rng("base labels"))
        model = from_vector(
            Architecture.from_array(public["architecture"]), public["base_weights"], maker.device
        )
        drawn = maker.torch_generator("base samples")
        distances = [
            frechet_of_features(_features_of(model, asked, drawn, features), held_out)
            for _ in range(_DRAWS)
        ]
        return {
            **made,
            "train_features": features(splits.train.images),
            "held_out_features": held_out,
            "base_frechet": np.array([np.mean(distances)], dtype=np.float64),
        }

    return derived_arrays(
        f"{maker.task}-{maker.problem}-reference",
        compute,
        sources=[*sources, *([] if weights is None else [weights])],
        code=[
            sys.modules[__name__],
            second,
            layers,
            mobilenet_v2,
            pictures,
            resize,
            sampled,
            sampling,
            sit,
        ],
        parameters=maker.parameters(
            splits.train.images, splits.held_out.images, public["base_weights"]
        ),
    )


def _features_of(
    model: SiT, asked: Ints, generator: torch.Generator, features: SecondFeatures
) -> Floats:
    parts = [features(images) for images in generate(model, torch.from_numpy(asked), generator)]
    return np.concatenate(parts)
