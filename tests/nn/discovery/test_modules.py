"""Modules on tokens: identities at the start, shapes, symmetries, gradients, sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from podium.errors import InputError
from podium.nn.discovery.attention import HeadAttention
from podium.nn.discovery.host import RefinedMean, Summary
from podium.nn.discovery.layers import linear, mixture_layer
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.refiner import TokenRefiner
from podium.nn.discovery.slots import SlotAttention
from podium.nn.discovery.token_mlp import TokenMLP, matched_token_mlp

Make = Callable[[int, torch.Generator], TokenRefiner]
MODULES: dict[str, Make] = {
    "primitives": lambda d, g: PrimitiveField(d, 6, 2, g),
    "no_prior": lambda d, g: PrimitiveField(d, 6, 2, g, prior=False),
    "no_data": lambda d, g: PrimitiveField(d, 6, 2, g, data=False),
    "no_weights": lambda d, g: PrimitiveField(d, 6, 2, g, weights=False),
    "slots": lambda d, g: SlotAttention(d, 6, 3, g),
    "token_mlp": lambda d, g: TokenMLP(d, 24, g),
}


def random_tokens(samples: int, tokens: int, features: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(samples, tokens, features, generator=torch.Generator().manual_seed(seed))


def moved(module: TokenRefiner, seed: int = 5) -> TokenRefiner:
    """Move every parameter off its start, so that nothing is zero any more."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.3)
    return module


@pytest.mark.parametrize("name", MODULES)
def test_starts_as_the_patch_mean(
    name: str, make_generator: Callable[..., torch.Generator]
) -> None:
    module, tokens = MODULES[name](8, make_generator()), random_tokens(3, 7, 8)
    assert torch.equal(module(tokens), tokens)
    assert torch.equal(module.pooled(tokens), tokens.mean(1))
    assert torch.equal(RefinedMean(module)(tokens, None), tokens.mean(1))
    assert torch.equal(Summary(module)(tokens, None), 2 * tokens.mean(1))
    given_class = random_tokens(3, 1, 8, seed=2)[:, 0]
    assert torch.equal(Summary(module)(tokens, given_class), given_class + tokens.mean(1))
    assert torch.equal(Summary(None)(tokens, given_class), given_class)
    assert torch.equal(Summary(None)(tokens, None), tokens.mean(1))


@pytest.mark.parametrize("name", MODULES)
def test_the_pooled_way_is_the_mean_of_the_refined_tokens(
    name: str, make_generator: Callable[..., torch.Generator]
) -> None:
    module, tokens = moved(MODULES[name](8, make_generator())), random_tokens(3, 7, 8)
    assert not torch.allclose(module(tokens), tokens)
    torch.testing.assert_close(module.pooled(tokens), module(tokens).mean(1))


@pytest.mark.parametrize("count", [1, 16, 49, 197])
@pytest.mark.parametrize(("primitives", "heads"), [(1, 1), (3, 2), (12, 12), (16, 4), (40, 6)])
def test_any_number_of_tokens_primitives_and_heads(
    count: int, primitives: int, heads: int, make_generator: Callable[..., torch.Generator]
) -> None:
    module = moved(PrimitiveField(12, primitives, heads, make_generator()))
    assert isinstance(module, PrimitiveField)
    tokens = random_tokens(2, count, 12)
    assignment, found = module.assignment(tokens)
    assert assignment.shape == (2, count, primitives)
    assert found.shape == (2, primitives, 12)
    torch.testing.assert_close(assignment.sum(-1), torch.ones(2, count))
    assert module(tokens).shape == tokens.shape
    assert torch.isfinite(module(tokens)).all()


@pytest.mark.parametrize("name", MODULES)
@settings(max_examples=10, deadline=None)
@given(count=st.integers(1, 20), seed=st.integers(0, 1000))
def test_the_order_of_tokens_does_not_matter(name: str, count: int, seed: int) -> None:
    module = moved(MODULES[name](8, torch.Generator().manual_seed(seed)))
    tokens = random_tokens(2, count, 8, seed)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(module.pooled(tokens[:, order]), module.pooled(tokens))
    torch.testing.assert_close(module(tokens[:, order]), module(tokens)[:, order])


@pytest.mark.parametrize("name", MODULES)
def test_a_sample_does_not_see_the_others(
    name: str, make_generator: Callable[..., torch.Generator]
) -> None:
    module, tokens = moved(MODULES[name](8, make_generator())), random_tokens(4, 6, 8)
    torch.testing.assert_close(module(tokens)[2:3], module(tokens[2:3]))


@pytest.mark.parametrize("name", MODULES)
def test_gradients_reach_every_parameter(
    name: str, make_generator: Callable[..., torch.Generator]
) -> None:
    module, tokens = MODULES[name](8, make_generator()), random_tokens(16, 6, 8)
    wanted = random_tokens(16, 1, 8, seed=3)[:, 0]
    optimiser = torch.optim.Adam(module.parameters(), lr=0.01)
    start = {name: p.detach().clone() for name, p in module.named_parameters()}
    for _ in range(4):
        optimiser.zero_grad()
        torch.autograd.backward((module.pooled(tokens) - wanted).square().mean())
        optimiser.step()
    for key, parameter in module.named_parameters():
        held = key in {
            "no_prior": ("alpha_prior",),
            "no_data": ("alpha_data",),
            "no_weights": ("alpha_prior", "alpha_data"),
        }.get(name, ())
        assert parameter.requires_grad is not held
        if not held:
            assert parameter.grad is not None, key
            assert parameter.grad.abs().max() > 0, key
        # The offset of keys has no effect under a softmax over tokens, but for rounding.
        if not key.endswith("key.bias"):
            assert torch.equal(parameter, start[key]) is held, key


def slow_attention(
    layer: HeadAttention, targets: torch.Tensor, sources: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One head after another: the mean attention [M, N] and what is read [M, D]."""
    each = targets.shape[-1] // layer.heads
    queries, keys, values = layer.query(targets), layer.key(sources), layer.value(sources)
    weights, reads = [], []
    for head in range(layer.heads):
        part = slice(head * each, (head + 1) * each)
        weight = torch.softmax(queries[:, part] @ keys[:, part].T / math.sqrt(each), dim=1)
        weights.append(weight)
        reads.append(weight @ values[:, part])
    return torch.stack(weights).mean(0), torch.cat(reads, dim=1)


def slow_field(module: PrimitiveField, x: torch.Tensor) -> torch.Tensor:
    """The formulas of the paper on the tokens [N, D] of one sample, one primitive after another."""
    count, size = x.shape
    summary = torch.cat([x.mean(0), x.max(0).values])
    codebook = module.base + module.shift(module.summary(summary)).reshape(-1, size)
    similar = (x @ module.compare) @ codebook.T / math.sqrt(size)
    prior = torch.stack([column.softmax(0) for column in similar.T], dim=1)
    start = prior.T @ x
    attention, read = slow_attention(module.among_tokens, start, x)
    moved_by = start + module.gamma * read
    _, mixed = slow_attention(module.among_primitives, moved_by, moved_by)
    normal = nn.functional.layer_norm(mixed, (size,))
    primitives = module.second(nn.functional.gelu(module.first(normal)))
    logits = torch.zeros(count, len(module.base))
    if module.prior:
        logits = logits + module.alpha_prior * prior.log()
    if module.data:
        data = torch.stack([attention[:, n].softmax(0) for n in range(count)])
        logits = logits + module.alpha_data * data.log()
    rebuilt = nn.functional.layer_norm(logits.softmax(1) @ primitives, (size,))
    refined: torch.Tensor = x + module.out(nn.functional.gelu(module.spread(rebuilt)))
    return refined


@pytest.mark.parametrize("name", ["primitives", "no_prior", "no_data", "no_weights"])
def test_primitives_follow_the_formulas(
    name: str, make_generator: Callable[..., torch.Generator]
) -> None:
    module, tokens = moved(MODULES[name](8, make_generator())), random_tokens(4, 9, 8)
    assert isinstance(module, PrimitiveField)
    expected = torch.stack([slow_field(module, x) for x in tokens])
    torch.testing.assert_close(module(tokens), expected, atol=2e-5, rtol=1e-4)


def test_the_weights_of_the_two_assignments_are_used(
    make_generator: Callable[..., torch.Generator],
) -> None:
    module = PrimitiveField(8, 6, 2, make_generator())
    tokens = random_tokens(2, 9, 8)
    start = module.assignment(tokens)[0]
    with torch.no_grad():
        module.alpha_prior.zero_()
        module.alpha_data.zero_()
    flat = module.assignment(tokens)[0]
    torch.testing.assert_close(flat, torch.full_like(flat, 1 / 6))
    assert not torch.allclose(start, flat)


@pytest.mark.parametrize(("prior", "data"), [(True, False), (False, True)])
def test_an_ablated_assignment_is_the_other_one(
    prior: bool, data: bool, make_generator: Callable[..., torch.Generator]
) -> None:
    module = PrimitiveField(8, 6, 2, make_generator())
    part = PrimitiveField(8, 6, 2, make_generator(), prior=prior, data=data)
    tokens = random_tokens(2, 9, 8)
    with torch.no_grad():
        module.alpha_prior.fill_(float(prior))
        module.alpha_data.fill_(float(data))
    torch.testing.assert_close(module.assignment(tokens)[0], part.assignment(tokens)[0])


def test_tokens_far_apart_stay_finite(make_generator: Callable[..., torch.Generator]) -> None:
    module = moved(PrimitiveField(8, 6, 2, make_generator()))
    tokens = 1e4 * random_tokens(3, 7, 8)
    loss = module.pooled(tokens).square().mean()
    torch.autograd.backward(loss)
    assert torch.isfinite(loss)
    for key, parameter in module.named_parameters():
        assert parameter.grad is not None, key
        assert torch.isfinite(parameter.grad).all(), key


def test_mixtures_are_normalised_without_being_made(
    make_generator: Callable[..., torch.Generator],
) -> None:
    layer = linear(8, 5, make_generator())
    weights = random_tokens(3, 7, 6).softmax(-1)
    parts = random_tokens(3, 6, 8, seed=2) + 3.0
    mixed = nn.functional.layer_norm(weights @ parts, (8,))
    torch.testing.assert_close(mixture_layer(weights, parts, layer), layer(mixed))


def test_slots_share_every_token(make_generator: Callable[..., torch.Generator]) -> None:
    module = moved(SlotAttention(8, 5, 3, make_generator()))
    assert isinstance(module, SlotAttention)
    assignment, slots = module.assignment(random_tokens(3, 7, 8))
    torch.testing.assert_close(assignment.sum(-1), torch.ones(3, 7))
    assert slots.shape == (3, 5, 8)
    assert not torch.allclose(slots[:, 0], slots[:, 1])


@settings(max_examples=30, deadline=None)
@given(features=st.integers(1, 80), size=st.integers(1, 60_000))
def test_the_token_mlp_is_at_most_one_unit_larger(features: int, size: int) -> None:
    module = matched_token_mlp(features, size, torch.Generator())
    assert module.size == sum(p.numel() for p in module.parameters())
    assert module.size >= size
    # One hidden unit less would be too small, unless there is but one.
    width = module.first.out_features
    assert width == 1 or module.size - (2 * features + 1) < size


@pytest.mark.parametrize(("features", "primitives", "heads"), [(32, 16, 4), (64, 16, 4)])
def test_the_control_has_the_parameters_of_the_module(
    features: int, primitives: int, heads: int, make_generator: Callable[..., torch.Generator]
) -> None:
    module = PrimitiveField(features, primitives, heads, make_generator())
    control = matched_token_mlp(features, module.size, make_generator())
    assert 0 <= control.size - module.size <= 2 * features


def test_the_size_is_the_paper_s(make_generator: Callable[..., torch.Generator]) -> None:
    module = PrimitiveField(768, 12, 12, make_generator())
    assert module.size == pytest.approx(7.5e6, rel=0.01)


def test_the_seed_decides_the_start(make_generator: Callable[..., torch.Generator]) -> None:
    for make in MODULES.values():
        first, same, other = (list(make(8, make_generator(s)).parameters()) for s in (0, 0, 1))
        assert all(torch.equal(a, b) for a, b in zip(first, same, strict=True))
        assert not all(torch.equal(a, b) for a, b in zip(first, other, strict=True))


def test_nothing_is_drawn_from_the_global_state(
    make_generator: Callable[..., torch.Generator],
) -> None:
    before = torch.get_rng_state()
    for make in MODULES.values():
        make(8, make_generator()).pooled(random_tokens(2, 3, 8))
    assert torch.equal(before, torch.get_rng_state())


def test_heads_that_do_not_divide_are_refused(
    make_generator: Callable[..., torch.Generator],
) -> None:
    with pytest.raises(InputError, match="divisor of 8"):
        PrimitiveField(8, 6, 3, make_generator())
    with pytest.raises(InputError, match="at least one of them on"):
        PrimitiveField(8, 6, 2, make_generator(), prior=False, data=False)
