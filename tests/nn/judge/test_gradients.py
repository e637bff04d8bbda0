"""Sampled gradients against the exact ones, by all reasonings of two out of three symbols."""

from __future__ import annotations

import itertools

import pytest
import torch

from podium.nn.judge.losses import Form, binary_loss, real_loss
from podium.nn.judge.network import Judge, Memory

STRINGS = torch.tensor(list(itertools.product(range(3), repeat=2)))
LEVELS = torch.arange(4, dtype=torch.float64)
SCORES, LABELS = torch.tensor([2.3], dtype=torch.float64), torch.tensor([2])


@pytest.fixture
def judge() -> Judge:
    generator = torch.Generator().manual_seed(3)
    return Judge(5, 4, 4, symbols=3, length=2, width=8, heads=2, generator=generator).double()


def read(judge: Judge) -> Memory:
    features = torch.randn(1, 4, 5, generator=torch.Generator().manual_seed(5)).double()
    return judge.read(features, torch.tensor([3]))


def gradient(judge: Judge, value: torch.Tensor) -> torch.Tensor:
    found = torch.autograd.grad(value, list(judge.parameters()), allow_unused=True)
    pairs = zip(found, judge.parameters(), strict=True)
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in pairs])


def everything(judge: Judge) -> tuple[torch.Tensor, torch.Tensor]:
    """The log-probabilities of all strings [9], and of the levels after them [9, level]."""
    written, levels = judge(read(judge), STRINGS[None])
    return written[0], levels[0]


def reward(levels: torch.Tensor, form: Form, strength: float) -> torch.Tensor:
    error = -((levels.exp() * LEVELS).sum(-1) - SCORES).square()
    label = levels[:, 2] if form == "paper" else levels[:, 2].exp()
    return error + strength * label


def mean_loss(judge: Judge, form: Form, strength: float, refinement: float) -> torch.Tensor:
    """The loss of a group of two strings, weighted by the chance of each of the 81 groups."""
    written, levels = everything(judge)
    chances = written.detach().exp()
    total = torch.zeros(()).double()
    for pair in itertools.product(range(9), repeat=2):
        loss = real_loss(
            written[None, pair],
            levels[None, pair],
            SCORES,
            LABELS,
            LEVELS,
            form=form,
            strength=strength,
            refinement=refinement,
            normalise=False,
        )
        total = total + chances[list(pair)].prod() * loss
    return total


def test_all_strings_have_the_whole_probability(judge: Judge) -> None:
    written, levels = everything(judge)
    torch.testing.assert_close(written.exp().sum(), torch.tensor(1.0).double())
    torch.testing.assert_close(levels.exp().sum(-1), torch.ones(9).double())
    assert written.exp().max() > 1.2 * written.exp().min()
    assert (levels[0] - levels[1]).abs().max() > 1e-3


@pytest.mark.parametrize("form", ["paper", "released"])
@pytest.mark.parametrize("strength", [0.0, 0.7])
def test_the_two_terms_are_the_exact_gradient(judge: Judge, form: Form, strength: float) -> None:
    written, levels = everything(judge)
    exact = gradient(judge, -(written.exp() * reward(levels, form, strength)).sum())
    estimate = gradient(judge, mean_loss(judge, form, strength, refinement=1.0))
    assert exact.norm() > 0.01
    torch.testing.assert_close(estimate, exact, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", ["paper", "released"])
@pytest.mark.parametrize("refinement", [0.0, 0.01])
def test_each_term_is_its_own_part(judge: Judge, form: Form, refinement: float) -> None:
    written, levels = everything(judge)
    explored = gradient(judge, -(written.exp() * reward(levels, form, 0.7).detach()).sum())
    written, levels = everything(judge)
    refined = gradient(judge, -(written.exp().detach() * reward(levels, form, 0.7)).sum())
    assert min(explored.norm(), refined.norm()) > 1e-3
    estimate = gradient(judge, mean_loss(judge, form, 0.7, refinement))
    torch.testing.assert_close(estimate, explored + refinement * refined, rtol=1e-10, atol=1e-12)


def test_binary_rewards_have_the_exact_gradient_too(judge: Judge) -> None:
    written, levels = everything(judge)
    exact = gradient(judge, -(written.exp() * levels[:, 2].exp()).sum())
    written, levels = everything(judge)
    # An action is a string and a level: 36 of them, and all groups of two.
    actions = list(itertools.product(range(9), range(4)))
    chances = (written[:, None] + levels).detach().exp()
    total = torch.zeros(()).double()
    for (i, k), (j, m) in itertools.product(actions, repeat=2):
        drawn = torch.tensor([[k, m]])
        loss = binary_loss(
            written[None, (i, j)], levels[None, (i, j)], drawn, LABELS, normalise=False
        )
        total = total + chances[i, k] * chances[j, m] * loss
    assert exact.norm() > 1e-3
    torch.testing.assert_close(gradient(judge, total), exact, rtol=1e-10, atol=1e-12)
