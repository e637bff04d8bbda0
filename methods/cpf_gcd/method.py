"""Compositional primitive fields before the head of a host."""

from __future__ import annotations

from typing import Literal

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.discovery.discover import discover, discover_by_kmeans
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.settings import Settings, check_whole


def run(
    problem: Problem,
    context: Context,
    *,
    host: Literal["simgcd", "kmeans"] = "simgcd",
    primitives: int = 16,
    heads: int = 4,
    prior: bool = True,
    data: bool = True,
    weights: bool = True,
    restarts: int = 30,
    epochs: int = 100,
    steps: int = 800,
    batch: int = 128,
    learning_rate: float = 0.003,
    weight_decay: float = 0.01,
    entropy_weight: float = 1.0,
    width: int = 128,
    keep: float = 0.75,
    noise: float = 0.1,
    dropout: float = 0.1,
    block_rate: float = 0.01,
) -> Prediction:
    """Refine tokens by primitives found in each sample, and group what comes out.

    ``prior``, ``data``, ``weights``: see ``PrimitiveField``; ``restarts``: of k-means as the host.

    Source: Dai, Chen, Yu, Identifying Latent Concepts and Structures for Generalized Category
    Discovery, section 3.
    """
    for name, value in (("primitives", primitives), ("heads", heads), ("restarts", restarts)):
        check_whole(name, value, 1)
    settings = Settings(
        epochs=epochs,
        steps=steps,
        batch=batch,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        entropy_weight=entropy_weight,
        width=width,
        keep=keep,
        noise=noise,
        dropout=dropout,
        block_rate=block_rate,
    )

    def refiner(features: int, generator: torch.Generator) -> PrimitiveField:
        return PrimitiveField(
            features, primitives, heads, generator, prior=prior, data=data, weights=weights
        )

    if host == "kmeans":
        return discover_by_kmeans(problem, context, settings, refiner=refiner, restarts=restarts)
    return discover(problem, context, settings, refiner=refiner)
