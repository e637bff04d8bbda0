"""A token MLP with the parameters of CPF in its place."""

from __future__ import annotations

from typing import Literal

import torch

from podium.contracts import Context, Prediction, Problem
from podium.nn.discovery.discover import discover, discover_by_kmeans
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.settings import Settings, check_whole
from podium.nn.discovery.token_mlp import TokenMLP, matched_token_mlp


def run(
    problem: Problem,
    context: Context,
    *,
    host: Literal["simgcd", "kmeans"] = "simgcd",
    primitives: int = 16,
    heads: int = 4,
    restarts: int = 30,
    epochs: int = 100,
    steps: int = 800,
    batch: int = 128,
    learning_rate: float = 0.03,
    weight_decay: float = 0.01,
    entropy_weight: float = 1.0,
    width: int = 128,
    keep: float = 0.75,
    noise: float = 0.1,
    dropout: float = 0.1,
    block_rate: float = 0.01,
) -> Prediction:
    """Refine each token by itself, with the number of parameters that ``cpf_gcd`` has."""
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

    def refiner(features: int, generator: torch.Generator) -> TokenMLP:
        size = PrimitiveField(features, primitives, heads, torch.Generator()).size
        return matched_token_mlp(features, size, generator)

    if host == "kmeans":
        return discover_by_kmeans(problem, context, settings, refiner=refiner, restarts=restarts)
    return discover(problem, context, settings, refiner=refiner)
