from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from podium.errors import InputError
from podium.nn.judge.data import Asked, Scale
from podium.nn.judge.losses import (
    expectation,
    label_loss,
    leave_one_out,
    real_loss,
    regression_loss,
    standardised,
)
from podium.nn.judge.network import Judge
from podium.nn.judge.settings import JudgeSettings
from podium.nn.judge.training import distributions


def draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def judge() -> Judge:
    return Judge(5, 6, 4, symbols=3, length=2, width=8, heads=2, generator=draw(1))


@pytest.fixture
def asked() -> Asked:
    return Asked(torch.randn(70, 6, 5, generator=draw(2)), torch.arange(70) % 6 + 1)


@pytest.mark.parametrize("length", [0, 2])
@pytest.mark.parametrize("block", [1, 7, 64])
def test_how_many_are_judged_at_once_changes_nothing(
    judge: Judge, asked: Asked, block: int, length: int
) -> None:
    found = distributions(judge, asked, length, block)
    assert found.shape == (70, 4)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    np.testing.assert_allclose(found, distributions(judge, asked, length, 70), atol=1e-10)
    assert found.std(0).min() > 1e-4


def test_padding_is_never_read(judge: Judge, asked: Asked) -> None:
    features = asked.features.clone()
    padded = torch.arange(6) >= asked.lengths[:, None]
    features[padded] = 100.0
    changed = distributions(judge, Asked(features, asked.lengths), 2)
    np.testing.assert_array_equal(changed, distributions(judge, asked, 2))
    features[~padded] += 1.0
    assert np.abs(distributions(judge, Asked(features, asked.lengths), 2) - changed).max() > 1e-3


def test_what_is_written_has_the_frequencies_it_should(judge: Judge, asked: Asked) -> None:
    with torch.no_grad():
        memory = judge.read(asked.features[:1], asked.lengths[:1])
        strings = torch.tensor(list(itertools.product(range(3), repeat=2)))
        chances = judge(memory, strings[None])[0][0].exp().numpy()
    written = judge.write(memory, 20000, 2, draw(4))[0].numpy()
    shares = np.bincount(written[:, 0] * 3 + written[:, 1], minlength=9) / 20000
    np.testing.assert_allclose(shares, chances, atol=5 * np.sqrt(chances.max() / 20000))
    assert np.ptp(chances) > 0.02


def test_greedy_writing_takes_the_likeliest_symbol(judge: Judge, asked: Asked) -> None:
    with torch.no_grad():
        memory = judge.read(asked.features, asked.lengths)
        first = judge.write(memory, 1, 1)[:, 0]
        options = torch.arange(3)[None, :, None].expand(70, 3, 1)
        log_first = judge(memory, options)[0]
    torch.testing.assert_close(first[:, 0], log_first.argmax(1))


def test_a_symbol_cannot_see_those_after_it(judge: Judge, asked: Asked) -> None:
    memory = judge.read(asked.features[:1], asked.lengths[:1])
    strings = torch.tensor([[[1, 0], [1, 1], [1, 2]]])
    # The chances of what follows symbol 1 add up to that of symbol 1 alone.
    torch.testing.assert_close(
        judge(memory, strings)[0].logsumexp(1), judge(memory, strings[:, :1, :1])[0][:, 0]
    )


def test_leave_one_out_is_what_it_says() -> None:
    rewards = torch.tensor([[1.0, 4.0, 7.0]])
    torch.testing.assert_close(leave_one_out(rewards), torch.tensor([[-4.5, 0.0, 4.5]]))
    equal = torch.full((2, 5), 0.3)
    assert (standardised(leave_one_out(equal), equal, 1.0).abs() < 1e-6).all()
    cut = standardised(leave_one_out(rewards), rewards, 1.0)
    torch.testing.assert_close(cut, torch.tensor([[-1.0, 0.0, 1.0]]))


def test_losses_of_labels_by_hand() -> None:
    log_levels = torch.tensor([[[0.2, 0.5, 0.3]]]).log()
    levels = torch.tensor([0.0, 1.0, 2.0])
    assert expectation(log_levels, levels).item() == pytest.approx(1.1)
    assert label_loss(log_levels, torch.tensor([2])).item() == pytest.approx(-np.log(0.3))
    squared = regression_loss(log_levels, torch.tensor([1.5]), levels)
    assert squared.item() == pytest.approx(0.16)


def test_the_released_form_standardises_each_part_by_itself() -> None:
    log_levels = torch.tensor([[[0.6, 0.4], [0.1, 0.9], [0.3, 0.7]]]).log()
    written = torch.zeros(1, 3, requires_grad=True)
    parts = {
        strength: real_loss(
            written,
            log_levels,
            torch.tensor([0.5]),
            torch.tensor([1]),
            torch.tensor([0.0, 1.0]),
            form="released",
            strength=strength,
            refinement=0.0,
        )
        for strength in (0.0, 1.0)
    }
    of_error, of_both = (torch.autograd.grad(parts[s], written)[0] for s in (0.0, 1.0))
    label = torch.tensor([[0.4, 0.9, 0.7]])
    expected = standardised(leave_one_out(label), label, 1.0)
    torch.testing.assert_close((of_both - of_error) * -3, expected)


def test_scales_in_units_of_their_step() -> None:
    scale = Scale(np.array([-4.0, -2.0, 0.0, 2.0]))
    np.testing.assert_allclose(scale.units(np.array([-4.0, 2.0, 1.0])), [0.0, 3.0, 2.5])
    np.testing.assert_array_equal(scale.nearest(np.array([-9.0, -1.0, 1.3, 2.0])), [0, 1, 3, 3])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", -1),
        ("batch", 0),
        ("samples", 1),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("dropout", 1.0),
        ("weight_decay", -0.1),
        ("teacher_noise", True),
        ("heads", 3),
    ],
)
def test_bad_settings_are_named(name: str, value: float) -> None:
    good: dict[str, Any] = {
        "steps": 1,
        "learning_rate": 0.1,
        "dropout": 0.0,
        "weight_decay": 0.0,
        "batch": 2,
        "width": 8,
        "heads": 2,
    }
    with pytest.raises(InputError, match=name):
        JudgeSettings(**{**good, name: value})
