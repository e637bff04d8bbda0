"""Build and score the problems of GW alignment."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from podium.benchmarks.gw_alignment import connectomes, generate
from podium.benchmarks.gw_alignment.generate import Graph
from podium.contracts import (
    Array,
    BuildContext,
    Instance,
    InvalidPredictionError,
    Prediction,
    Recipe,
    Scores,
    Undefined,
)
from podium.errors import InputError
from podium.metrics.alignment import (
    Matrix,
    edge_correctness,
    hits_at,
    marginal_gap,
    node_correctness,
)
from podium.metrics.rounding import rounded_objective

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FEASIBLE = 0.2
"""Largest marginal gap (L1, both sides together) of a plan that is scored; its mass is 1."""

_HITS = (1, 5, 10)
_ONE_EACH = "nodes are scored by their type here, so that none has one counterpart to be ranked"


class _Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares: which targets are right for a node.

    ``node``: its one counterpart. ``type``: any node of its type.
    """

    rule: Literal["node", "type"]


class _Graph(_Params, frozen=True, kw_only=True):
    """A random graph and a copy; ``noise`` is the share of edges removed, and as many added."""

    nodes: int
    noise: float


class BarabasiAlbert(_Graph, frozen=True, kw_only=True, tag="barabasi_albert"):
    """Preferential attachment with ``edges`` a new node."""

    edges: int


class PowerlawCluster(_Graph, frozen=True, kw_only=True, tag="powerlaw_cluster"):
    """Preferential attachment that closes triangles with probability ``triangles``."""

    edges: int
    triangles: float


class GaussianPartition(_Graph, frozen=True, kw_only=True, tag="gaussian_partition"):
    """Clusters of random size; ``inside`` and ``outside`` are the chances of an edge."""

    mean_size: float
    shape: float
    inside: float
    outside: float


class BlockModel(_Graph, frozen=True, kw_only=True, tag="block_model"):
    """Equal blocks; ``inside`` and ``outside`` are expected edges a node."""

    blocks: int
    inside: float
    outside: float


class Cloud(_Params, frozen=True, kw_only=True, tag="cloud"):
    """A mixture of Gaussians and a rotated copy of it; distances over their largest."""

    points: int
    clusters: int
    dimensions: int


class Worms(_Params, frozen=True, kw_only=True, tag="worms"):
    """Two of the eight worms, on the neurons that the ``worms`` all have."""

    source: int
    target: int
    worms: list[int]


class Larva(_Params, frozen=True, kw_only=True, tag="larva"):
    """The left and the right mushroom body of a fly larva."""


AnyParams = (
    BarabasiAlbert | PowerlawCluster | GaussianPartition | BlockModel | Cloud | Worms | Larva
)


class _Pair(msgspec.Struct, frozen=True):
    """Two spaces before the target is put in a random order; equal labels match."""

    source: Floats | Graph
    target: Floats | Graph
    source_labels: Ints
    target_labels: Ints


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown or of the wrong type.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError(
            "bad parameters", where=f"{recipe.task}/{recipe.problem}", found=str(error)
        ) from error
    return params


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: public costs (dense for clouds, CSR for graphs) and uniform weights.

    The target's nodes are put in a random order in every instance, so that no order, tie rule or
    constant plan can give the match away.
    """
    pair = _pair(read_params(recipe), context)
    order = context.rng("order").permutation(len(pair.target_labels))
    target = pair.target
    if isinstance(target, np.ndarray):
        target = target[np.ix_(order, order)]
    else:
        target = generate.relabelled(target, order)
    return Instance(
        public={
            **_public("source", pair.source),
            **_public("target", target),
            "source_weights": _uniform(pair.source_labels.size),
            "target_weights": _uniform(pair.target_labels.size),
        },
        hidden={
            "source_labels": pair.source_labels,
            "target_labels": pair.target_labels[order],
        },
    )


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Check that the plan is feasible, then score it.

    Raises:
        InvalidPredictionError: not exactly one form of coupling, entries outside the matrix, or
            marginals further off than ``FEASIBLE``.
    """
    public, hidden = instance.public, instance.hidden
    a, b = public["source_weights"], public["target_weights"]
    coupling = read_coupling(prediction, a.size, b.size)
    gap = marginal_gap(coupling, a, b)
    if not gap <= FEASIBLE:
        raise InvalidPredictionError(
            f"the plan is not feasible: its marginals are off by {gap:.4g} in all, "
            f"allowed is {FEASIBLE:g} of a mass of 1 (total mass {float(coupling.sum()):.4g})"
        )
    source, target = _cost(public, "source"), _cost(public, "target")
    labels = hidden["source_labels"], hidden["target_labels"]
    by_node = read_params(recipe).rule == "node"
    edges: float = Undefined("dense costs have no edges")
    if not isinstance(source, np.ndarray) and not isinstance(target, np.ndarray):
        edges = edge_correctness(source, target, coupling)
    return {
        "node_correctness": node_correctness(coupling, *labels),
        **{
            f"hits_{k}": hits_at(coupling, *labels, k) if by_node else Undefined(_ONE_EACH)
            for k in _HITS
        },
        "objective": rounded_objective(source, target, coupling, a, b),
        "marginal_gap": gap,
        "edge_correctness": edges,
    }


def read_coupling(prediction: Prediction, n: int, m: int) -> Matrix:
    """Return the predicted coupling [n, m], dense or CSR; repeated sparse entries add up.

    Raises:
        InvalidPredictionError: neither or both forms, a part of the sparse form missing, or a row
            or column outside the matrix.
    """
    parts = [name for name in ("rows", "columns", "values") if name in prediction]
    dense = prediction.get("coupling")
    if dense is not None and not parts:
        return dense
    if dense is not None or len(parts) != 3:
        raise InvalidPredictionError(
            "expected either coupling, or rows, columns and values; "
            f"found {', '.join(sorted(prediction)) or 'nothing'}"
        )
    rows, columns = prediction["rows"], prediction["columns"]
    for name, places, length in (("rows", rows, n), ("columns", columns, m)):
        if places.size and not 0 <= places.min() <= places.max() < length:
            raise InvalidPredictionError(
                f"{name} must lie in [0, {length}), found {places.min()} to {places.max()}"
            )
    return csr_array((prediction["values"], (rows, columns)), shape=(n, m))


def _pair(params: AnyParams, context: BuildContext) -> _Pair:
    match params:
        case Cloud():
            points = generate.cloud(
                params.points, params.clusters, params.dimensions, context.rng("cloud")
            )
            turned = points @ generate.rotation(params.dimensions, context.rng("rotation")).T
            source, target = generate.distances(points), generate.distances(turned)
            return _matched(source / source.max(), target / target.max())
        case Worms():
            worms = [connectomes.read_worm(context.files.path(_worm_file(k))) for k in params.worms]
            pair = params.worms.index(params.source), params.worms.index(params.target)
            return _matched(*connectomes.worm_graphs(worms, pair))
        case Larva():
            sides = [
                connectomes.read_larva(
                    context.files.path(f"drosophila/{side}_adjacency.csv"),
                    context.files.path(f"drosophila/{side}_cell_labels.csv"),
                )
                for side in ("left", "right")
            ]
            (left, left_types), (right, right_types) = sides
            return _Pair(left, right, left_types, right_types)
        case _:
            graph = _graph(params, context.rng("graph"))
            return _matched(graph, generate.with_noise(graph, params.noise, context.rng("noise")))


def _graph(
    params: BarabasiAlbert | PowerlawCluster | GaussianPartition | BlockModel,
    rng: np.random.Generator,
) -> Graph:
    match params:
        case BarabasiAlbert():
            return generate.barabasi_albert(params.nodes, params.edges, rng)
        case PowerlawCluster():
            return generate.powerlaw_cluster(params.nodes, params.edges, params.triangles, rng)
        case GaussianPartition():
            return generate.gaussian_partition(
                params.nodes,
                mean_size=params.mean_size,
                shape=params.shape,
                inside=params.inside,
                outside=params.outside,
                rng=rng,
            )
        case BlockModel():
            return generate.block_model(
                params.nodes, params.blocks, inside=params.inside, outside=params.outside, rng=rng
            )


def _matched(source: Floats | Graph, target: Floats | Graph) -> _Pair:
    """Pair two spaces whose nodes correspond in order."""
    labels = np.arange(source.shape[0], dtype=np.int64)
    return _Pair(source, target, labels, labels)


def _worm_file(worm: int) -> str:
    return f"celegans/witvliet_2020_{worm}.xlsx"


def _uniform(size: int) -> Floats:
    return np.full(size, 1.0 / size)


def _public(side: str, cost: Floats | Graph) -> dict[str, Array]:
    if isinstance(cost, np.ndarray):
        return {f"{side}_cost": cost}
    return {
        f"{side}_data": cost.data.astype(np.float64),
        f"{side}_indices": cost.indices.astype(np.int64),
        f"{side}_indptr": cost.indptr.astype(np.int64),
    }


def _cost(public: Any, side: str) -> Floats | Graph:
    if f"{side}_cost" in public:
        dense: Floats = public[f"{side}_cost"]
        return dense
    size = public[f"{side}_weights"].size
    parts = tuple(public[f"{side}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_array(parts, shape=(size, size))
