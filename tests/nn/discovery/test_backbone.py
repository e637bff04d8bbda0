"""The backbone's last block as a part of the host, on a small random transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Array, Problem
from podium.discovery.samples import read_samples
from podium.errors import InputError
from podium.features.vit import HEAD, LastBlock
from podium.metrics.discovery import accuracies
from podium.nn.discovery.augment import Views
from podium.nn.discovery.backbone import AfterBlock
from podium.nn.discovery.discover import MakeRefiner, discover, discover_by_kmeans
from podium.nn.discovery.host import (
    Normalisation,
    ParametricHost,
    Projector,
    Prototypes,
    RefinedMean,
    Summary,
)
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.settings import Settings
from podium.nn.discovery.slots import SlotAttention
from podium.nn.discovery.token_mlp import TokenMLP
from podium.nn.discovery.tokens import TokenData, on_device
from podium.nn.discovery.training import train

MakeSettings = Callable[..., Settings]
WIDTH = 2 * HEAD
BLOCK = ("labelled_entering_tokens", "unlabelled_entering_tokens", "block_weights", "block_heads")
MODULES: dict[str, MakeRefiner | None] = {
    "none": None,
    "primitives": lambda d, g: PrimitiveField(d, 4, 2, g),
    "slots": lambda d, g: SlotAttention(d, 4, 2, g),
    "token_mlp": lambda d, g: TokenMLP(d, 16, g),
}


def random_block() -> LastBlock:
    block, draws = LastBlock(WIDTH), torch.Generator().manual_seed(0)
    for name, parameter in block.named_parameters():
        torch.nn.init.normal_(parameter, std=0.05, generator=draws)
        if "norm" in name and name.endswith("weight"):
            parameter.data += 1
    return block


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Four classes, each with an own direction in all entering tokens, which are off centre."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 12)
    centres = rng.standard_normal((4, WIDTH))
    entering = centres[truth][:, None] + 0.3 * rng.standard_normal((48, 6, WIDTH)) + 2
    entering[:, 0] += 5
    entering = entering.astype(np.float32)
    block = random_block()
    with torch.no_grad():
        after = block(torch.tensor(entering)).numpy()
    known = (truth < 2) & (np.arange(48) % 2 == 0)
    arrays: dict[str, Array] = {
        "labels": truth[known],
        "grid": np.zeros(2, np.int64),
        "classes": np.array([4]),
        "truth": truth[~known],
        "block_weights": torch.nn.utils.parameters_to_vector(block.parameters()).detach().numpy(),
        "block_heads": np.array([2]),
    }
    for part, rows in (("labelled", known), ("unlabelled", ~known)):
        arrays[f"{part}_tokens"] = after[rows, 1:]
        arrays[f"{part}_class_tokens"] = after[rows, 0]
        arrays[f"{part}_entering_tokens"] = entering[rows]
    for array in arrays.values():
        array.flags.writeable = False
    return Problem("gcd_accuracy", "toy", "smoke", arrays)


def changed(problem: Problem, **arrays: Array | None) -> Problem:
    public = {k: v for k, v in {**problem.public, **arrays}.items() if v is not None}
    return Problem("gcd_accuracy", "toy", "smoke", public)


def data_of(problem: Problem) -> TokenData:
    return on_device(read_samples(problem.public), "cpu")


def frozen(problem: Problem) -> Problem:
    return changed(problem, **dict.fromkeys(BLOCK))


def test_tokens_that_enter_are_on_one_scale(problem: Problem) -> None:
    data = data_of(problem)
    assert data.class_tokens is not None
    for values in (data.tokens.flatten(0, 1), data.class_tokens):
        assert values.mean(0).abs().max() < 1e-5
        assert float(values.square().mean()) == pytest.approx(1, abs=1e-5)
    assert data.tokens.shape == (48, 5, WIDTH)


def test_the_block_starts_where_the_frozen_backbone_ends(problem: Problem) -> None:
    data, after = data_of(problem), data_of(frozen(problem))
    assert after.block is None
    assert data.block is not None
    assert data.class_tokens is not None
    with torch.no_grad():
        tokens, class_tokens = data.block(data.tokens, data.class_tokens)
    torch.testing.assert_close(tokens, after.tokens, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(class_tokens, after.class_tokens, atol=1e-5, rtol=1e-5)


def test_the_module_sees_the_patches_and_the_host_the_class_token(problem: Problem) -> None:
    data, after = data_of(problem), data_of(frozen(problem))
    assert data.block is not None
    refiner = TokenMLP(WIDTH, 16, torch.Generator().manual_seed(0))
    torch.nn.init.normal_(refiner.out.weight, generator=torch.Generator().manual_seed(1))
    for part in (Summary(None), Summary(refiner), RefinedMean(refiner)):
        with torch.no_grad():
            found = AfterBlock(data.block, part)(data.tokens, data.class_tokens)
            expected = part(after.tokens, after.class_tokens)
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def host_of(data: TokenData, name: str) -> ParametricHost:
    assert data.block is not None
    make, draws = MODULES[name], torch.Generator().manual_seed(1)
    module = None if make is None else make(WIDTH, draws)
    return ParametricHost(
        AfterBlock(data.block, Summary(module)),
        Normalisation(),
        Prototypes(WIDTH, 4, draws),
        Projector(WIDTH, 16, 8, draws),
        entropy_weight=1.0,
    )


@pytest.mark.parametrize("name", MODULES)
def test_every_weight_of_the_block_has_a_gradient(name: str, problem: Problem) -> None:
    data = data_of(problem)
    assert data.block is not None
    host = host_of(data, name)
    index = torch.cat([torch.arange(4), torch.arange(20, 24)])
    draws = torch.Generator().manual_seed(0)
    views = Views(keep=0.5).draw(data.tokens, data.class_tokens, index, draws)
    torch.autograd.backward(
        torch.stack(list(host.losses(*views, data.labels[:4], 0.0).values())).sum()
    )
    for called, parameter in data.block.named_parameters():
        assert parameter.grad is not None
        moved = parameter.grad.reshape(len(parameter), -1).ne(0).any(1)
        if called.endswith("qkv.bias"):  # softmax does not see an offset of the keys
            moved = torch.cat([moved[:WIDTH], moved[2 * WIDTH :]])
        assert moved.all(), called


@pytest.mark.parametrize("name", ["none", "primitives"])
def test_the_block_is_trained_at_its_own_rate(
    name: str, problem: Problem, make_settings: MakeSettings, make_context: Any
) -> None:
    def moved(**changes: float) -> tuple[float, float]:
        """The largest step of the block and of the prototypes, after one step without decay."""
        data = data_of(problem)
        assert data.block is not None
        host = host_of(data, name)
        before = [p.detach().clone() for p in data.block.parameters()]
        start = host.prototypes.weight.detach().clone()
        settings = make_settings(steps=1, weight_decay=0.0, learning_rate=0.01, **changes)
        train(host, data, settings, make_context())
        after = list(data.block.parameters())
        steps = [float((p - b).abs().max().detach()) for p, b in zip(after, before, strict=True)]
        assert min(steps) > 0
        return max(steps), float((host.prototypes.weight - start).abs().max().detach())

    # The first step of Adam is the learning rate in every number.
    assert moved() == pytest.approx((0.001, 0.01), rel=0.01)
    assert moved(block_rate=0.5) == pytest.approx((0.005, 0.01), rel=0.01)


@pytest.mark.parametrize("name", MODULES)
def test_a_separable_problem_is_learnt_with_the_block(
    name: str, problem: Problem, make_settings: MakeSettings, make_context: Any
) -> None:
    settings = make_settings(steps=40, learning_rate=0.01)
    found = discover(problem, make_context(), settings, refiner=MODULES[name])
    again = discover(problem, make_context(), settings, refiner=MODULES[name])
    assert accuracies(found["clusters"], problem.public["truth"], 2).all > 0.9
    assert found["unlabelled_features"].shape == (36, WIDTH)
    assert np.array_equal(found["unlabelled_features"], again["unlabelled_features"])
    other = discover(frozen(problem), make_context(), settings, refiner=MODULES[name])
    assert not np.array_equal(found["unlabelled_features"], other["unlabelled_features"])


def test_the_second_host_trains_the_block_too(
    problem: Problem, make_settings: MakeSettings, make_context: Any
) -> None:
    refiner = MODULES["primitives"]
    assert refiner is not None
    settings = make_settings(steps=20, learning_rate=0.01)
    found = [
        discover_by_kmeans(problem, make_context(), settings, refiner=refiner, restarts=3)
        for problem in (problem, frozen(problem))
    ]
    assert accuracies(found[0]["clusters"], problem.public["truth"], 2).all > 0.9
    assert not np.array_equal(found[0]["unlabelled_features"], found[1]["unlabelled_features"])


def test_what_does_not_fit_is_named(problem: Problem) -> None:
    weights = problem.public["block_weights"]
    with pytest.raises(InputError, match="block_weights"):
        data_of(changed(problem, block_weights=weights[:-1]))
    with pytest.raises(InputError, match="block_heads"):
        data_of(changed(problem, block_heads=np.array([3])))
    with pytest.raises(InputError, match="class token"):
        data_of(changed(problem, labelled_class_tokens=None))
    tokens = problem.public["unlabelled_entering_tokens"].copy()
    tokens[3, 1, 0] = np.inf
    with pytest.raises(InputError, match="entering tokens: values that are not finite"):
        data_of(changed(problem, unlabelled_entering_tokens=tokens))


def test_half_precision_and_equal_tokens_are_no_error(problem: Problem) -> None:
    half = {name: problem.public[name].astype(np.float16) for name in BLOCK[:2]}
    data, exact = data_of(changed(problem, **half)), data_of(problem)
    torch.testing.assert_close(data.tokens, exact.tokens, atol=5e-3, rtol=0)
    same = {name: np.full_like(problem.public[name], 0.1) for name in BLOCK[:2]}
    assert data_of(changed(problem, **same)).tokens.abs().max() < 1e-6


@pytest.mark.gpu
def test_a_gpu_trains_the_block(
    problem: Problem, make_settings: MakeSettings, make_context: Any
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    data = on_device(read_samples(problem.public), "cuda:0")
    assert data.block is not None
    assert {p.device.type for p in data.block.parameters()} == {"cuda"}
    context, settings = make_context(device="cuda:0"), make_settings(learning_rate=0.01)
    found = discover(problem, context, settings, refiner=MODULES["primitives"])
    assert accuracies(found["clusters"], problem.public["truth"], 2).all > 0.9
