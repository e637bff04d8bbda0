"""The simulated spaces of GW alignment: sizes, noise, seeds, and exact distances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.benchmarks.gw_alignment import generate
from podium.benchmarks.gw_alignment.generate import Graph

Draw = Callable[[np.random.Generator], Graph]
FAMILIES: dict[str, Draw] = {
    "barabasi": lambda rng: generate.barabasi_albert(120, 3, rng),
    "powerlaw": lambda rng: generate.powerlaw_cluster(120, 3, 0.3, rng),
    "partition": lambda rng: generate.gaussian_partition(
        120, mean_size=40, shape=5, inside=0.3, outside=0.05, rng=rng
    ),
    "block": lambda rng: generate.block_model(120, 5, inside=8.0, outside=1.6, rng=rng),
}
by_family = pytest.mark.parametrize("draw", FAMILIES.values(), ids=FAMILIES)


@by_family
def test_adjacency_matrices(draw: Draw) -> None:
    graph = draw(np.random.default_rng(0))
    assert graph.shape == (120, 120)
    assert graph.dtype == np.float64
    assert (graph.data == 1).all()
    assert abs(graph - graph.T).nnz == 0
    assert graph.diagonal().sum() == 0
    assert graph.has_sorted_indices


@by_family
def test_the_generator_decides(draw: Draw) -> None:
    first, again, other = (draw(np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert abs(first - again).nnz == 0
    assert abs(first - other).nnz > 0


def test_numbers_of_edges() -> None:
    rng = np.random.default_rng(0)
    assert generate.barabasi_albert(500, 3, rng).nnz == 2 * 3 * 497
    block = generate.block_model(2000, 5, inside=12.0, outside=1.6, rng=rng).toarray()
    member = np.repeat(np.arange(5), 400)
    same = member[:, None] == member[None, :]
    # 2000 nodes: the standard errors are about .08 and .03 edges a node.
    assert (block * same).sum() / 2000 == pytest.approx(12.0, abs=0.3)
    assert (block * ~same).sum() / 2000 == pytest.approx(1.6, abs=0.12)


@given(st.floats(0.0, 1.0), st.integers(0, 2**32 - 1))
def test_noise_moves_the_share_it_says(share: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = generate.from_pairs(rng.integers(0, 30, (60, 2)), 30)
    graph.setdiag(0)
    graph.eliminate_zeros()
    noisy = generate.with_noise(graph, share, rng)
    edges = graph.nnz // 2
    moved = round(share * edges)
    assert noisy.nnz == graph.nnz
    assert graph.multiply(noisy).nnz // 2 == edges - moved
    assert noisy.diagonal().sum() == 0
    assert (noisy.data == 1).all()


def test_noise_on_a_complete_graph_only_removes() -> None:
    complete = generate.from_pairs(np.argwhere(np.triu(np.ones((6, 6)), 1)), 6)
    noisy = generate.with_noise(complete, 0.2, np.random.default_rng(0))
    assert noisy.nnz == 2 * 12


def test_relabelling_moves_nodes() -> None:
    graph = generate.barabasi_albert(40, 2, np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(40)
    moved = generate.relabelled(graph, order)
    np.testing.assert_array_equal(moved.toarray(), graph.toarray()[np.ix_(order, order)])
    assert moved.has_sorted_indices


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5])
def test_rotations(dimensions: int) -> None:
    turn = generate.rotation(dimensions, np.random.default_rng(0))
    np.testing.assert_allclose(turn @ turn.T, np.eye(dimensions), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)


def test_distances_survive_a_rotation() -> None:
    rng = np.random.default_rng(0)
    points = generate.cloud(50, 4, 3, rng)
    here = generate.distances(points)
    np.testing.assert_array_equal(here, here.T)
    np.testing.assert_array_equal(np.diag(here), 0)
    turned = generate.distances(points @ generate.rotation(3, rng).T)
    np.testing.assert_allclose(turned, here, atol=1e-12)
    np.testing.assert_allclose(here[3, 8], np.linalg.norm(points[3] - points[8]))
    assert not np.array_equal(points, generate.cloud(50, 4, 3, np.random.default_rng(1)))
