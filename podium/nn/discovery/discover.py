"""The pipelines shared by all trained entries of category discovery."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from podium.contracts import Context, Prediction, Problem
from podium.discovery.kmeans import semi_supervised_kmeans
from podium.discovery.samples import Ints, read_samples
from podium.errors import InputError
from podium.nn.discovery.backbone import AfterBlock
from podium.nn.discovery.host import (
    ContrastiveHost,
    Encoder,
    Host,
    Normalisation,
    ParametricHost,
    Projector,
    Prototypes,
    RefinedMean,
    Summary,
)
from podium.nn.discovery.losses import LegoRegulariser
from podium.nn.discovery.refiner import TokenRefiner
from podium.nn.discovery.settings import Settings
from podium.nn.discovery.tokens import TokenData, on_device
from podium.nn.discovery.training import features_of, train

MakeRefiner = Callable[[int, torch.Generator], TokenRefiner]
"""Makes a module from the number of features of a token and a generator on the CPU."""

PROJECTED = 64
"""Dimension in which views are contrasted."""


def discover(
    problem: Problem,
    context: Context,
    settings: Settings,
    *,
    refiner: MakeRefiner | None = None,
    lego: bool = False,
) -> Prediction:
    """Train the SimGCD-style host on tokens and take each sample's nearest prototype.

    The tokens are frozen; where the problem gives the backbone's last block, it is trained too.

    Args:
        problem: labelled and unlabelled tokens.
        context: what the engine gives. The same seed draws the same batches, views and first host
            with any module.
        settings: of the training.
        refiner: makes the module between the tokens and the host; None for the host alone.
        lego: whether to add the regulariser of LegoGCD.

    Returns:
        ``clusters`` int64 [unlabelled], cluster k below ``old`` for the old class k; the encoder's
        output as ``labelled_features`` and ``unlabelled_features``.

    Raises:
        InputError: samples or settings that cannot be used, or a training that diverged.
    """
    data = on_device(read_samples(problem.public), context.device)
    size = data.tokens.shape[-1]
    module = None if refiner is None else refiner(size, context.torch_generator("module", "cpu"))
    generator = context.torch_generator("host", "cpu")
    encoder = Encoder(size, settings.width, generator) if data.block is None else Normalisation()
    host = ParametricHost(
        _after_block(data, Summary(module)),
        encoder,
        Prototypes(size, data.classes, generator),
        Projector(size, settings.width, PROJECTED, generator),
        entropy_weight=settings.entropy_weight,
        regulariser=LegoRegulariser(data.old) if lego else None,
    ).to(context.device)
    features = _trained(host, data, settings, context)
    with torch.inference_mode():
        clusters = host.prototypes(features[data.labelled :]).argmax(-1).cpu().numpy()
    return _prediction(clusters, features.cpu().numpy(), data.labelled)


def discover_by_kmeans(
    problem: Problem,
    context: Context,
    settings: Settings,
    *,
    refiner: MakeRefiner,
    restarts: int,
) -> Prediction:
    """Train a module by contrast alone and group its refined means by semi-supervised k-means.

    That host has nothing to train of its own but the backbone's last block, where it is given: on
    frozen tokens, with a module that changes nothing, this is semi-supervised k-means on the mean
    of the tokens, rows of length 1.

    Args:
        problem: labelled and unlabelled tokens.
        context: what the engine gives.
        settings: of the training.
        refiner: makes the module.
        restarts: of k-means.

    Returns:
        As ``discover``; the features are the refined means.

    Raises:
        InputError: as ``discover``.
    """
    samples = read_samples(problem.public)
    data = on_device(samples, context.device)
    size = data.tokens.shape[-1]
    module = refiner(size, context.torch_generator("module", "cpu"))
    generator = context.torch_generator("host", "cpu")
    projector = Projector(size, settings.width, PROJECTED, generator)
    host = ContrastiveHost(_after_block(data, RefinedMean(module)), projector).to(context.device)
    features = _trained(host, data, settings, context).cpu().numpy()
    found = semi_supervised_kmeans(
        features[: data.labelled],
        samples.labels,
        features[data.labelled :],
        samples.classes,
        context.rng("kmeans"),
        restarts=restarts,
    )
    return _prediction(found.clusters, features, data.labelled)


def _after_block(data: TokenData, summary: nn.Module) -> nn.Module:
    return summary if data.block is None else AfterBlock(data.block, summary)


def _trained(host: Host, data: TokenData, settings: Settings, context: Context) -> torch.Tensor:
    train(host, data, settings, context)
    features = features_of(host, data)
    if not bool(torch.isfinite(features).all()):
        raise InputError(
            "the trained network gives values that are not finite",
            where="training",
            fix="lower learning_rate",
        )
    return features


def _prediction(
    clusters: Ints, features: np.typing.NDArray[np.float32], labelled: int
) -> Prediction:
    return {
        "clusters": clusters,
        "labelled_features": features[:labelled],
        "unlabelled_features": features[labelled:],
    }
