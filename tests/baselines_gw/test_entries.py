"""The solvers and controls of GW alignment that are not this suite's own."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import numpy as np
import pytest

from podium import baselines
from podium.baselines.constant_coupling import method as constant_coupling
from podium.baselines.degree_sort import method as degree_sort
from podium.baselines.pot_bapg import method as pot_bapg
from podium.baselines.pot_cg import method as pot_cg
from podium.baselines.pot_lowrank import method as pot_lowrank
from podium.baselines.pot_pgd import method as pot_pgd
from podium.baselines.pot_ppa import method as pot_ppa
from podium.baselines.pot_sampled import method as pot_sampled
from podium.baselines.pot_semirelaxed import method as pot_semirelaxed
from podium.baselines.scipy_faq import method as scipy_faq
from podium.baselines.spec_gw import method as spec_gw
from podium.contracts import Array, Instance
from podium.declarations.entry import EntryFile
from podium.errors import InputError
from podium.metrics.alignment import gw_objective, marginal_gap, node_correctness
from podium.transport import costs as spaces

MakeInstance = Callable[..., Instance]
Solve = Callable[..., Array]

CONTROLS: tuple[ModuleType, ...] = (constant_coupling, degree_sort)
STARTED: tuple[ModuleType, ...] = (
    pot_bapg,
    pot_cg,
    pot_pgd,
    pot_ppa,
    pot_semirelaxed,
    scipy_faq,
    spec_gw,
)
DRAWN: tuple[ModuleType, ...] = (pot_lowrank, pot_sampled)
EXACT: tuple[ModuleType, ...] = (
    pot_cg,
    pot_lowrank,
    pot_semirelaxed,
    scipy_faq,
    spec_gw,
    *CONTROLS,
)


def entry_id(method: ModuleType) -> str:
    return method.__name__.split(".")[-2]


def declared(method: ModuleType) -> EntryFile:
    path = Path(baselines.__file__).parent / entry_id(method) / "entry.toml"
    return msgspec.toml.decode(path.read_bytes(), type=EntryFile)


def correct(plan: Array, instance: Instance) -> float:
    hidden = instance.hidden
    return node_correctness(plan, hidden["source_labels"], hidden["target_labels"])


def gap(plan: Array, instance: Instance) -> float:
    return marginal_gap(plan, instance.public["source_weights"], instance.public["target_weights"])


@pytest.mark.parametrize("method", [*STARTED, *DRAWN, *CONTROLS], ids=entry_id)
def test_declaration(method: ModuleType) -> None:
    entry = declared(method)
    assert entry.id == entry_id(method)
    assert entry.tasks == ("gw_alignment",)
    assert entry.kind == ("control" if method in CONTROLS else "baseline")
    assert entry.seeded == (method in DRAWN)
    variants = {v.id: v.config for v in entry.variants}
    expected = {f"{entry.id}_degree": {"start": "degree"}} if method in STARTED else {}
    assert variants == expected
    if entry.id.startswith("pot_"):
        assert entry.requires == ("pot",)
        assert entry.extra == "peers"


@pytest.mark.parametrize("method", [*STARTED, *DRAWN, *CONTROLS], ids=entry_id)
@pytest.mark.parametrize("data", ["powerlaw_cluster", "cloud"])
def test_plans_are_sound(
    method: ModuleType, data: str, make_instance: MakeInstance, solve: Solve
) -> None:
    instance = make_instance() if data != "cloud" else make_instance(data="cloud")
    config = {"graph_iter": 5, "cloud_iter": 5} if method is pot_sampled else {}
    plan = solve(method, instance, **config)
    assert np.isfinite(plan).all()
    assert (plan >= 0).all()
    assert gap(plan, instance) < (1e-9 if method in EXACT else 0.2)


@pytest.mark.parametrize("method", [pot_bapg, pot_cg, pot_ppa, scipy_faq, spec_gw], ids=entry_id)
def test_a_rotated_cloud_is_matched(
    method: ModuleType, make_instance: MakeInstance, solve: Solve
) -> None:
    instance = make_instance(data="cloud")
    plan = solve(method, instance)
    assert correct(plan, instance) == 1.0
    costs = [instance.public[f"{side}_cost"] for side in ("source", "target")]
    assert gw_objective(costs[0], costs[1], plan) < 1e-4


@pytest.mark.parametrize(
    "method", [pot_bapg, pot_cg, pot_pgd, pot_ppa, pot_semirelaxed, scipy_faq], ids=entry_id
)
def test_a_permuted_graph_is_matched_from_its_degrees(
    method: ModuleType, make_instance: MakeInstance, solve: Solve
) -> None:
    """Nodes that the graph itself cannot tell apart may be exchanged."""
    instance = make_instance()
    plan = solve(method, instance, start="degree")
    assert correct(plan, instance) > 0.9


@pytest.mark.parametrize("method", STARTED, ids=entry_id)
def test_an_unknown_start_is_named(
    method: ModuleType, make_instance: MakeInstance, solve: Solve
) -> None:
    with pytest.raises(InputError, match="unknown start"):
        solve(method, make_instance(), start="truth")


@pytest.mark.parametrize("method", DRAWN, ids=entry_id)
def test_the_seed_decides(method: ModuleType, make_instance: MakeInstance, solve: Solve) -> None:
    instance = make_instance(nodes=20, triangles=0.1)
    few = {"graph_iter": 5} if method is pot_sampled else {"max_iter": 5}
    first, again, other = (solve(method, instance, seed=s, **few) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_pgd_hands_on_the_zeros_that_pot_returns(make_instance: MakeInstance, solve: Solve) -> None:
    instance = make_instance(nodes=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = solve(pot_pgd, instance, graph_epsilon=1e-4)
    assert gap(plan, instance) == pytest.approx(2.0)


@pytest.mark.parametrize("method", EXACT, ids=entry_id)
def test_spaces_of_different_sizes(method: ModuleType, unequal: Instance, solve: Solve) -> None:
    plan = solve(method, unequal)
    assert plan.shape == (30, 40)
    assert gap(plan, unequal) < 1e-9


def test_faq_matches_a_subgraph_from_its_degrees(unequal: Instance, solve: Solve) -> None:
    plan = solve(scipy_faq, unequal, start="degree")
    # A source node carries 1/30 and its match can take 1/40.
    assert (np.isclose(plan, 1 / 40).sum(axis=1) == 1).all()


def test_padding_keeps_a_plan_doubly_stochastic() -> None:
    plan = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0]]) / 6
    for given in (plan, plan.T):
        padded = scipy_faq.doubly_stochastic(given)
        assert padded.shape == (3, 3)
        np.testing.assert_allclose(padded.sum(axis=0), 1.0)
        np.testing.assert_allclose(padded.sum(axis=1), 1.0)
    np.testing.assert_allclose(scipy_faq.doubly_stochastic(plan)[:2], 2 * plan)
    np.testing.assert_allclose(scipy_faq.doubly_stochastic(np.eye(3) / 3), np.eye(3))


def test_faq_refuses_unequal_weights(make_instance: MakeInstance, solve: Solve) -> None:
    instance = make_instance()
    weights = np.arange(1.0, 151.0)
    public = {**instance.public, "source_weights": weights / weights.sum()}
    with pytest.raises(InputError, match="equal weight"):
        solve(scipy_faq, Instance(public=public, hidden=instance.hidden))


def test_controls(make_instance: MakeInstance, solve: Solve) -> None:
    instance = make_instance()
    assert correct(solve(constant_coupling, instance), instance) == pytest.approx(1 / 150)
    sorted_plan = solve(degree_sort, instance)
    assert (np.count_nonzero(sorted_plan, axis=1) == 1).all()
    source, target = spaces.costs(instance.public)
    match = sorted_plan.argmax(axis=1)
    # Without noise both have the same degrees, so every node meets one of its own degree.
    np.testing.assert_array_equal(target.degrees()[match], source.degrees())


def test_degree_sort_with_weights_is_transport_on_the_line(unequal: Instance, solve: Solve) -> None:
    from podium.transport.pot import ot

    rng = np.random.default_rng(1)
    a, b = rng.random(30), rng.random(40)
    a, b = a / a.sum(), b / b.sum()
    public = {**unequal.public, "source_weights": a, "target_weights": b}
    plan = solve(degree_sort, Instance(public=public))
    source, target = spaces.costs(public)
    theirs = ot.emd_1d(source.degrees(), target.degrees(), a, b, metric="sqeuclidean")
    cost = (source.degrees()[:, None] - target.degrees()[None, :]) ** 2
    assert (plan * cost).sum() == pytest.approx((theirs * cost).sum(), rel=1e-9)


def test_heat_kernels() -> None:
    ring = np.roll(np.eye(6), 1, axis=1)
    ring = ring + ring.T
    kernel = spec_gw.heat_kernel(spaces.dense_cost(ring), 0.0)
    np.testing.assert_allclose(kernel, np.eye(6), atol=1e-12)
    graph = spaces.sparse_cost(ring[ring > 0], np.nonzero(ring)[1], np.arange(0, 13, 2))
    late = spec_gw.heat_kernel(graph, 1e3)
    # Bipartite or not, what is left of a connected graph is sqrt(d d') / sum d.
    np.testing.assert_allclose(late, 1 / 6, atol=1e-12)
    early = spec_gw.heat_kernel(graph, 1.0)
    np.testing.assert_array_equal(early, early.T)
    np.testing.assert_allclose(early.sum(axis=1), 1.0)


def test_low_rank_factors() -> None:
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 3))
    cost = spaces.dense_cost(root @ root.T)
    for rank in (3, 12):
        left, right = pot_lowrank.factors(cost, rank, 2.0, np.random.default_rng(1))
        product = left @ right.T
        assert np.sqrt((product**2).mean()) == pytest.approx(2.0)
        np.testing.assert_allclose(
            product / product[0, 0], cost.dense() / cost.dense()[0, 0], atol=1e-8
        )
    zero = pot_lowrank.factors(spaces.dense_cost(np.zeros((4, 4))), 4, 1.0, rng)
    assert not zero[0].any()
