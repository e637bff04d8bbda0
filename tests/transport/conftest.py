"""Small spaces with a known match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

Graphs = tuple[csr_array[Any, Any], csr_array[Any, Any], np.ndarray[Any, Any]]


@pytest.fixture(scope="session")
def graph_pair() -> Callable[..., Graphs]:
    """Make a graph, its permuted copy with some edges rewired, and the image of each node."""

    def make(nodes: int = 150, noise: float = 0.0, seed: int = 0, family: str = "plc") -> Graphs:
        from podium.benchmarks.gw_alignment import generate

        rng = np.random.default_rng([seed, nodes])
        if family == "plc":
            graph = generate.powerlaw_cluster(nodes, 3, 0.3, rng)
        elif family == "ba":
            graph = generate.barabasi_albert(nodes, 3, rng)
        else:
            graph = generate.block_model(nodes, 5, inside=12.0, outside=1.6, rng=rng)
        order = rng.permutation(nodes)
        copy = generate.relabelled(generate.with_noise(graph, noise, rng), order)
        return graph, copy, np.argsort(order)

    return make


@pytest.fixture(scope="session")
def cloud_pair() -> Callable[..., tuple[Any, Any, Any]]:
    """Make the distances of a cloud, those of its turned and permuted copy, and the match."""

    def make(points: int = 120, noise: float = 0.0, seed: int = 0) -> tuple[Any, Any, Any]:
        from podium.benchmarks.gw_alignment import generate

        rng = np.random.default_rng([seed, points])
        cloud = generate.cloud(points, 4, 3, rng)
        order = rng.permutation(points)
        moved = (cloud @ generate.rotation(3, rng) + noise * rng.normal(size=cloud.shape))[order]
        return generate.distances(cloud), generate.distances(moved), np.argsort(order)

    return make
