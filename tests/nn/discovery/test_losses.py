"""Losses against sums over pairs, and at points where their value is known."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.nn.discovery.losses import (
    LegoRegulariser,
    distillation,
    entropy_gap,
    info_nce,
    supervised_contrast,
    teacher_temperature,
)


def unit(rows: int, dimension: int, seed: int = 0) -> torch.Tensor:
    drawn = torch.randn(rows, dimension, generator=torch.Generator().manual_seed(seed)).double()
    return torch.nn.functional.normalize(drawn, dim=-1)


def slow_log_share(z: torch.Tensor, i: int, j: int, temperature: float) -> float:
    """log of the share of row j among all rows but i, as row i sees them."""
    all_but = [math.exp(float(z[i] @ z[k]) / temperature) for k in range(len(z)) if k != i]
    return float(z[i] @ z[j]) / temperature - math.log(math.fsum(all_but))


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 6), seed=st.integers(0, 100), temperature=st.sampled_from([0.07, 1.0]))
def test_info_nce_is_the_sum_over_pairs(batch: int, seed: int, temperature: float) -> None:
    z = unit(2 * batch, 5, seed)
    shares = [
        slow_log_share(z, i, (i + batch) % (2 * batch), temperature) for i in range(2 * batch)
    ]
    expected = -math.fsum(shares) / len(shares)
    assert float(info_nce(z, temperature=temperature)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(labels=st.lists(st.integers(0, 3), min_size=1, max_size=7), seed=st.integers(0, 100))
def test_supervised_contrast_is_the_sum_over_pairs(labels: list[int], seed: int) -> None:
    z, both = unit(2 * len(labels), 5, seed), labels * 2
    total = 0.0
    for i, label in enumerate(both):
        others = [j for j, other in enumerate(both) if other == label and j != i]
        total -= math.fsum(slow_log_share(z, i, j, 0.07) for j in others) / len(others)
    found = supervised_contrast(z, torch.tensor(labels))
    assert float(found) == pytest.approx(total / len(both), abs=1e-6)


def test_info_nce_of_identical_views() -> None:
    """Orthogonal samples whose views are equal: only the temperature is left."""
    batch, temperature = 6, 0.5
    z = torch.eye(batch).repeat(2, 1)
    expected = math.log(1 + (2 * batch - 2) * math.exp(-1 / temperature))
    assert float(info_nce(z, temperature=temperature)) == pytest.approx(expected, abs=1e-6)
    # All samples alike: the other view is one of 2 B - 1 equal rows.
    same = torch.ones(2 * batch, 1)
    assert float(info_nce(same)) == pytest.approx(math.log(2 * batch - 1), abs=1e-6)


def test_contrast_of_one_sample_is_zero() -> None:
    z = unit(2, 4)
    assert float(info_nce(z)) == 0
    assert float(supervised_contrast(z, torch.tensor([0]))) == pytest.approx(0, abs=1e-12)


def test_supervised_contrast_without_a_shared_class_is_info_nce() -> None:
    z = unit(8, 5)
    labels = torch.arange(4)
    torch.testing.assert_close(supervised_contrast(z, labels), info_nce(z, temperature=0.07))


def test_distillation_is_the_cross_entropy_to_the_other_view() -> None:
    cosines, teacher = unit(6, 4), 0.05
    total = 0.0
    for i in range(6):
        wanted = torch.softmax(cosines[(i + 3) % 6] / teacher, dim=0)
        total -= float((wanted * torch.log_softmax(cosines[i] / 0.1, dim=0)).sum())
    assert float(distillation(cosines, teacher)) == pytest.approx(total / 6, abs=1e-9)


def test_no_gradient_flows_through_the_teacher() -> None:
    cosines = unit(4, 3).requires_grad_()
    torch.autograd.backward(distillation(cosines, 0.05))
    fixed = cosines.detach()
    wanted = (fixed / 0.05).softmax(-1).roll(2, dims=0)
    expected = ((fixed / 0.1).softmax(-1) - wanted) / 0.1 / len(fixed)
    assert cosines.grad is not None
    torch.testing.assert_close(cosines.grad, expected)


def test_the_teacher_sharpens_and_then_stays() -> None:
    found = [teacher_temperature(t) for t in (0.0, 0.075, 0.15, 0.5, 1.0)]
    assert found == pytest.approx([0.07, 0.055, 0.04, 0.04, 0.04])


def test_entropy_gap_is_zero_for_a_uniform_mean_and_log_k_for_one_class() -> None:
    assert float(entropy_gap(torch.eye(4, dtype=torch.float64))) == pytest.approx(0, abs=1e-12)
    certain = torch.tensor([[1.0, -1.0, -1.0, -1.0]], dtype=torch.float64).repeat(5, 1)
    assert float(entropy_gap(certain)) == pytest.approx(math.log(4), abs=1e-6)


def slow_lego(cosines: torch.Tensor, unlabelled: list[bool], old: int, mean: list[float]) -> float:
    rows, batch, total = len(cosines), len(cosines) // 2, 0.0
    for row, free in zip(cosines, unlabelled, strict=True):
        student = torch.softmax(row / 0.1, dim=0)
        if free and float(student.max()) >= 0.7 and int(student.argmax()) < old:
            sharp = torch.softmax(row / 0.05, dim=0)
            shifted = torch.log_softmax(row / 0.05 + 0.4 * torch.tensor(mean).log(), dim=0)
            total -= 2.0 * float((sharp * shifted).sum()) / rows
    for b in range(batch):
        p, q = (torch.softmax(cosines[k] / 0.1, dim=0) for k in (b, b + batch))
        total += 0.65 * float((p * (p.log() - q.log())).sum()) / batch
    return total


def test_lego_is_twice_that_of_confident_old_rows_and_part_of_the_divergence() -> None:
    cosines = unit(40, 5)
    unlabelled = [k % 20 >= 6 for k in range(40)]
    regulariser = LegoRegulariser(old=3)
    first = regulariser(cosines, torch.tensor(unlabelled))
    even = [1 / 5] * 5
    assert float(first) == pytest.approx(slow_lego(cosines, unlabelled, 3, even), abs=1e-6)
    nothing_old = slow_lego(cosines, unlabelled, 0, even)
    assert float(first) > nothing_old + 1e-3
    now = cosines.softmax(-1).mean(0)
    moved = [0.999 / 5 + 0.001 * float(x) for x in now]
    again = regulariser(cosines, torch.tensor(unlabelled))
    assert float(again) == pytest.approx(slow_lego(cosines, unlabelled, 3, moved), abs=1e-6)


def test_lego_of_equal_certain_views_is_zero() -> None:
    cosines = torch.tensor([[1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]], dtype=torch.float64).repeat(2, 1)
    found = LegoRegulariser(old=1)(cosines, torch.ones(4, dtype=torch.bool))
    assert float(found) == pytest.approx(0, abs=1e-6)
