from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from shapneurgc.measures import InfoShapley, JacobianMeasure

from podium.nn import attribution
from podium.nn.attribution import (
    first_layer_readout,
    info_shap,
    info_shap_readout,
    jacobian_readout,
    mean_absolute_jacobian,
    strongest_lag,
)
from podium.nn.batched_mlp import MLPBank

MakeBank = Callable[..., MLPBank]


class OneNetwork(torch.nn.Module):
    """A bank as the joint model [rows, inputs] to [rows, nets] that the package expects."""

    def __init__(self, bank: MLPBank) -> None:
        super().__init__()
        self.bank = bank

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.bank.output(self.bank.hidden(x)).mT


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_info_shap_of_a_linear_model_in_closed_form() -> None:
    weights = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    jacobian = weights.expand(9, 3)
    # |w_j| (|w_j| + sum |w|) / 2
    expected = torch.tensor([2.0 * 5.5, 1.0 * 4.5, 0.5 * 4.0], dtype=torch.float64) / 2
    torch.testing.assert_close(info_shap(jacobian), expected)


def test_info_shap_equals_its_double_sum() -> None:
    jacobian = normal(8, 5)
    expected = torch.zeros(5, dtype=torch.float64)
    for j in range(5):
        expected[j] = jacobian[:, j].square().mean()
        for k in range(5):
            if k != j:
                expected[j] += 0.5 * (jacobian[:, j] * jacobian[:, k]).abs().mean()
    torch.testing.assert_close(info_shap(jacobian), expected)


@pytest.mark.parametrize("readout", [info_shap_readout, jacobian_readout, first_layer_readout])
def test_a_cut_input_scores_exactly_zero(make_bank: MakeBank, readout: attribution.Readout) -> None:
    bank = make_bank(inputs=6)
    bank.w1.reshape(4, 5, 2, 3)[..., 1] = 0
    scores = readout(bank, normal(10, 6), 2)
    assert scores.shape == (4, 3)
    assert not scores[:, 1].any()
    assert (scores[:, [0, 2]] > 0).all()


def test_agreement_with_shapneurgc_on_random_networks(make_bank: MakeBank) -> None:
    for seed in range(3):
        bank, x = make_bank(seed=seed), normal(11, 6, seed=seed)
        model = OneNetwork(bank)
        ours = bank.jacobian(bank.hidden(x))
        phi = InfoShapley().compute(model, x)
        torch.testing.assert_close(info_shap(ours), phi, atol=1e-12, rtol=0)
        mean = JacobianMeasure().compute(model, x)
        torch.testing.assert_close(mean_absolute_jacobian(ours), mean, atol=1e-12, rtol=0)


def test_the_strongest_lag_counts() -> None:
    scores = torch.tensor([[1.0, 5.0, 3.0, 2.0]])
    assert strongest_lag(scores, 2).tolist() == [[3.0, 5.0]]


def test_reading_in_parts_changes_nothing(
    make_bank: MakeBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank, x = make_bank(), normal(10, 6)
    whole = info_shap_readout(bank, x, 2)
    monkeypatch.setattr(attribution, "ROWS_AT_ONCE", 3)
    torch.testing.assert_close(info_shap_readout(bank, x, 2), whole)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**31), order=st.permutations(range(3)))
def test_permuting_variables_permutes_the_scores(seed: int, order: list[int]) -> None:
    lags, variables, hidden = 2, 3, 4
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.standard_normal(shape))

    w1, x = draw(variables, hidden, lags, variables), draw(7, lags, variables)
    b1, w2 = draw(variables, hidden, 1), draw(variables, 1, hidden)
    b2 = draw(variables, 1, 1)

    def scores(p: list[int]) -> list[torch.Tensor]:
        bank = MLPBank(w1[p][..., p].flatten(2), b1[p], w2[p], b2[p])
        inputs = x[:, :, p].flatten(1)
        return [
            readout(bank, inputs, lags)
            for readout in (info_shap_readout, jacobian_readout, first_layer_readout)
        ]

    for moved, plain in zip(scores(order), scores([0, 1, 2]), strict=True):
        torch.testing.assert_close(moved, plain[order][:, order], atol=1e-10, rtol=1e-10)


@given(st.floats(-3, 3), st.floats(0, 2 * np.pi))
def test_info_shap_is_non_negative_and_grows_quadratically(scale: float, turn: float) -> None:
    jacobian = torch.tensor([[np.cos(turn), np.sin(turn)]], dtype=torch.float64)
    values = info_shap(jacobian)
    assert (values >= 0).all()
    torch.testing.assert_close(info_shap(scale * jacobian), scale**2 * values)
