from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Literal

import pytest
import torch
from shapneurgc.penalties import ShapleyPenalty

from podium.errors import InputError
from podium.nn.attribution import info_shap
from podium.nn.batched_mlp import MLPBank
from podium.nn.penalties import (
    Pass,
    Penalty,
    fast_shap,
    fast_shap_of,
    hierarchical_group_lasso,
    jacobian_frobenius,
    jacobian_l1,
    shap,
    unpenalised,
)

MakeBank = Callable[..., MLPBank]
PenaltyKind = Literal["shap", "jacob_l1", "jacob_f"]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def passed(bank: MLPBank, x: torch.Tensor, seed: int = 0) -> Pass:
    return Pass(bank, x, bank.hidden(x), torch.Generator().manual_seed(seed))


def ones(bank: MLPBank) -> torch.Tensor:
    return torch.ones(bank.nets, dtype=torch.float64)


def test_shap_penalty_is_the_sum_of_info_shap(make_bank: MakeBank) -> None:
    bank, x = make_bank(), normal(9, 6)
    strength = torch.tensor([0.0, 0.5, 1.0, 2.0], dtype=torch.float64)
    phi = info_shap(bank.jacobian(bank.hidden(x))).sum(-1)
    torch.testing.assert_close(shap(passed(bank, x), strength), strength * phi)


def test_fast_shap_is_unbiased_over_all_sign_vectors() -> None:
    jacobian = torch.tensor([0.7, -1.3, 0.4], dtype=torch.float64)
    signs = [torch.tensor(z, dtype=torch.float64) for z in product((-1.0, 1.0), repeat=3)]
    strength = torch.tensor([0.8], dtype=torch.float64)
    values = [
        fast_shap_of((jacobian @ a).reshape(1, 1), (jacobian @ b).reshape(1, 1), strength)
        for a, b in product(signs, signs)
    ]
    squares = jacobian.square().sum()
    expected = 0.5 * 0.8 * (squares + squares.square())
    torch.testing.assert_close(torch.cat(values).mean(), expected)
    assert torch.cat(values).std() > 0.1


def test_fast_shap_draws_signs_from_the_generator(make_bank: MakeBank) -> None:
    bank, x = make_bank(), normal(400, 6)
    exact = bank.jacobian(bank.hidden(x)).square().sum(-1)
    expected = 0.5 * (exact + exact.square()).mean(-1)
    draws = torch.stack([fast_shap(passed(bank, x, seed), ones(bank)) for seed in range(40)])
    assert torch.equal(draws[0], fast_shap(passed(bank, x, 0), ones(bank)))
    assert not torch.equal(draws[0], draws[1])
    error = (draws.mean(0) - expected).abs() / (draws.std(0) / 40**0.5)
    assert (error < 4).all()


@pytest.mark.parametrize(
    ("ours", "kind"),
    [(shap, "shap"), (jacobian_l1, "jacob_l1"), (jacobian_frobenius, "jacob_f")],
)
def test_agreement_with_shapneurgc(make_bank: MakeBank, ours: Penalty, kind: PenaltyKind) -> None:
    bank, x = make_bank(), normal(9, 6)

    class Joint(torch.nn.Module):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return bank.output(bank.hidden(rows)).mT

    individual, interaction = ShapleyPenalty(kind, num_proj=-1)(Joint(), x)
    total = ours(passed(bank, x), ones(bank)).sum()
    torch.testing.assert_close(total, individual + interaction, atol=1e-12, rtol=1e-12)


def test_the_expectation_of_fast_shap_is_shapneurgc_s_exact_value(make_bank: MakeBank) -> None:
    bank, x = make_bank(nets=2, inputs=3, hidden=4), normal(1, 3)

    class Joint(torch.nn.Module):
        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            return bank.output(bank.hidden(rows)).mT

    individual, interaction = ShapleyPenalty("fshap", num_proj=-1)(Joint(), x)
    hidden = bank.hidden(x)
    signs = [torch.tensor([z], dtype=torch.float64) for z in product((-1.0, 1.0), repeat=3)]
    projected = [bank.directional(hidden, z) for z in signs]
    mean = torch.stack(
        [fast_shap_of(a, b, ones(bank)) for a, b in product(projected, projected)]
    ).mean(0)
    torch.testing.assert_close(mean.sum(), individual + interaction)


@pytest.mark.parametrize(
    "penalty",
    [
        shap,
        jacobian_l1,
        jacobian_frobenius,
        hierarchical_group_lasso(2, 0.01),
        # One fixed pair of signs: the generator starts anew at every call.
        fast_shap,
    ],
)
def test_gradients(make_bank: MakeBank, penalty: Penalty) -> None:
    bank, x = make_bank(nets=2, inputs=4, hidden=3).trainable(), normal(5, 4)

    def value(*parameters: torch.Tensor) -> torch.Tensor:
        w1, b1, w2, b2 = parameters
        return penalty(passed(MLPBank(w1, b1, w2, b2), x), ones(bank))

    assert torch.autograd.gradcheck(value, bank.parameters)


def test_group_lasso_written_out(make_bank: MakeBank) -> None:
    bank = make_bank(nets=1, inputs=6, hidden=5)
    weights = bank.w1[0].reshape(5, 3, 2)
    expected = sum(float(weights[:, k:, j].norm()) for j in range(2) for k in range(3))
    expected += 0.1 * float(bank.w2.square().sum())
    value = hierarchical_group_lasso(3, 0.1)(passed(bank, normal(2, 6)), ones(bank))
    assert float(value) == pytest.approx(expected, abs=1e-9)


def test_group_lasso_has_a_finite_gradient_at_zero(make_bank: MakeBank) -> None:
    bank = make_bank(nets=1).trainable()
    with torch.no_grad():
        bank.w1.zero_()
    penalty = hierarchical_group_lasso(2, 0.0)(passed(bank, normal(2, 6)), ones(bank))
    (gradient,) = torch.autograd.grad(penalty.sum(), bank.w1)
    assert not gradient.any()


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf")])
def test_a_bad_ridge_is_named(ridge: float) -> None:
    with pytest.raises(InputError, match="ridge: bad value"):
        hierarchical_group_lasso(2, ridge)


def test_no_penalty_is_zero(make_bank: MakeBank) -> None:
    bank = make_bank()
    assert not unpenalised(passed(bank, normal(3, 6)), ones(bank)).any()
