"""Simulated spaces with a known match: random graphs, their noisy copies, and rotated clouds.

Every graph comes as its adjacency matrix: symmetric, 0/1, no self-loops, CSR float64 [n, n] with
sorted columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array, csr_array

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Graph = csr_array[Any, Any]


def barabasi_albert(nodes: int, edges: int, rng: np.random.Generator) -> Graph:
    """Grow a graph by preferential attachment, ``edges`` for every new node."""
    import networkx

    return adjacency(networkx.barabasi_albert_graph(nodes, edges, seed=_word(rng)), nodes)


def powerlaw_cluster(nodes: int, edges: int, triangles: float, rng: np.random.Generator) -> Graph:
    """Grow a graph by preferential attachment that closes triangles with a given probability."""
    import networkx

    graph = networkx.powerlaw_cluster_graph(nodes, edges, triangles, seed=_word(rng))
    return adjacency(graph, nodes)


def gaussian_partition(
    nodes: int,
    *,
    mean_size: float,
    shape: float,
    inside: float,
    outside: float,
    rng: np.random.Generator,
) -> Graph:
    """Draw clusters of size N(mean_size, mean_size / shape), then edges inside and between them."""
    import networkx

    graph = networkx.gaussian_random_partition_graph(
        nodes, mean_size, shape, inside, outside, seed=_word(rng)
    )
    return adjacency(graph, nodes)


def block_model(
    nodes: int, blocks: int, *, inside: float, outside: float, rng: np.random.Generator
) -> Graph:
    """Draw a graph of equal blocks; a node has ``inside`` edges in its block, ``outside`` others.

    Both are expected numbers of edges a node, so the graph stays as sparse at any size.
    """
    import networkx

    sizes = [nodes // blocks + (k < nodes % blocks) for k in range(blocks)]
    within = min(1.0, inside / (nodes / blocks))
    between = min(1.0, outside / (nodes - nodes / blocks)) if blocks > 1 else 0.0
    chance = np.full((blocks, blocks), between)
    np.fill_diagonal(chance, within)
    graph = networkx.stochastic_block_model(sizes, chance.tolist(), seed=_word(rng), sparse=True)
    return adjacency(graph, nodes)


def adjacency(graph: Any, nodes: int) -> Graph:
    """Return the adjacency matrix of a networkx graph whose nodes are 0 to nodes - 1."""
    pairs = np.array([(u, v) for u, v in graph.edges() if u != v], dtype=np.int64).reshape(-1, 2)
    return from_pairs(pairs, nodes)


def from_pairs(pairs: Ints, nodes: int) -> Graph:
    """Return the adjacency matrix of undirected edges [edges, 2]; repeated ones count once."""
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    low, high = np.divmod(np.unique(low * nodes + high), nodes)
    rows, columns = np.concatenate((low, high)), np.concatenate((high, low))
    return csr_array(coo_array((np.ones(rows.size), (rows, columns)), shape=(nodes, nodes)))


def with_noise(graph: Graph, share: float, rng: np.random.Generator) -> Graph:
    """Remove a share of the edges, and add as many between pairs that were not joined before."""
    nodes = graph.shape[0]
    entries = coo_array(graph)
    upper = entries.row < entries.col
    pairs = np.stack((entries.row[upper], entries.col[upper]), axis=1).astype(np.int64)
    count = round(share * len(pairs))
    if count == 0:
        return graph.copy()
    room = nodes * (nodes - 1) // 2 - len(pairs)
    kept = pairs[rng.permutation(len(pairs))[count:]]
    taken = {int(code) for code in pairs[:, 0] * nodes + pairs[:, 1]}
    added: list[tuple[int, int]] = []
    while len(added) < min(count, room):
        u, v = sorted(int(node) for node in rng.integers(nodes, size=2))
        if u != v and u * nodes + v not in taken:
            taken.add(u * nodes + v)
            added.append((u, v))
    return from_pairs(np.concatenate((kept, np.array(added, dtype=np.int64).reshape(-1, 2))), nodes)


def relabelled(graph: Graph, order: Ints) -> Graph:
    """Return the graph whose node j is node ``order[j]`` of ``graph``, columns sorted."""
    moved = csr_array(graph[order][:, order])
    moved.sort_indices()
    return moved


def cloud(points: int, clusters: int, dimensions: int, rng: np.random.Generator) -> Floats:
    """Draw points from a mixture of ``clusters`` anisotropic Gaussians, float64 [points, dims].

    Centres N(0, 4 I); in each cluster the axes are stretched by U(.2, 1.5) and turned at random.
    """
    centres = rng.normal(0.0, 2.0, (clusters, dimensions))
    member = rng.integers(clusters, size=points)
    spread = np.stack([rotation(dimensions, rng) for _ in range(clusters)])
    spread = spread * rng.uniform(0.2, 1.5, (clusters, 1, dimensions))
    noise = rng.standard_normal((points, dimensions))
    moved: Floats = centres[member] + np.einsum("pij,pj->pi", spread[member], noise)
    return moved


def rotation(dimensions: int, rng: np.random.Generator) -> Floats:
    """Draw a rotation uniformly: orthogonal float64 [dims, dims] with determinant 1."""
    q, r = np.linalg.qr(rng.standard_normal((dimensions, dimensions)))
    q = q * np.sign(np.diag(r))
    if np.linalg.det(q) < 0:
        q[:, 0] = -q[:, 0]
    return q


def distances(points: Floats) -> Floats:
    """Return the Euclidean distances, float64 [n, n], exactly symmetric with a zero diagonal."""
    from scipy.spatial.distance import pdist, squareform

    matrix: Floats = squareform(pdist(points))
    return matrix


def _word(rng: np.random.Generator) -> int:
    """Draw the whole number that seeds a networkx generator of its own."""
    return int(rng.integers(2**32))
