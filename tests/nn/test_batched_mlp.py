from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from podium.nn.batched_mlp import Activation, MLPBank, by_lag, draw_bank
from podium.nn.penalties import Pass, Penalty, jacobian_l1, shap, unpenalised
from podium.nn.training import losses, train

MakeBank = Callable[..., MLPBank]


def rows(count: int, inputs: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, inputs, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_closed_form_jacobian_equals_automatic_differentiation(
    make_bank: MakeBank, activation: Activation
) -> None:
    bank, x = make_bank(activation=activation), rows(7, 6)

    def outputs(row: torch.Tensor) -> torch.Tensor:
        return bank.output(bank.hidden(row[None]))[:, 0]

    reference = torch.vmap(torch.func.jacrev(outputs))(x)
    closed = bank.jacobian(bank.hidden(x))
    torch.testing.assert_close(closed, reference.transpose(0, 1), atol=1e-12, rtol=0)


def test_directional_derivative_is_the_jacobian_times_the_direction(make_bank: MakeBank) -> None:
    bank, x, z = make_bank(), rows(7, 6), rows(7, 6, seed=2)
    hidden = bank.hidden(x)
    expected = (bank.jacobian(hidden) * z).sum(-1)
    torch.testing.assert_close(bank.directional(hidden, z), expected, atol=1e-12, rtol=0)


def test_output_of_one_network_written_out(make_bank: MakeBank) -> None:
    bank, x = make_bank(), rows(3, 6)
    expected = torch.tanh(x @ bank.w1[2].T + bank.b1[2].T) @ bank.w2[2].T + bank.b2[2]
    torch.testing.assert_close(bank.output(bank.hidden(x))[2], expected[:, 0])


@pytest.mark.parametrize("penalty", [unpenalised, shap, jacobian_l1])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_a_bank_trains_like_a_loop_of_separate_networks(
    make_bank: MakeBank, penalty: Penalty, dtype: torch.dtype, tolerance: float
) -> None:
    bank = make_bank(nets=3, dtype=dtype)
    x, y = rows(20, 6).to(dtype), rows(3, 20, seed=3).to(dtype)
    strength = torch.tensor([0.0, 0.01, 0.1], dtype=dtype)

    def fitted(start: MLPBank, part: slice) -> torch.Tensor:
        generator = torch.Generator()
        trained = train(
            start.subset(part),
            x,
            y[part],
            penalty=penalty,
            strength=strength[part],
            generator=generator,
            learning_rate=0.01,
            steps=60,
        )
        return losses(Pass(trained, x, trained.hidden(x), generator), y[part]).detach()

    together = fitted(bank, slice(None))
    alone = torch.cat([fitted(bank, slice(k, k + 1)) for k in range(3)])
    torch.testing.assert_close(together, alone, atol=tolerance, rtol=0)
    assert together.max() < y.square().mean(-1).max()


def test_repeated_and_subset_keep_the_order(make_bank: MakeBank) -> None:
    bank = make_bank(nets=3)
    twice = bank.repeated(2)
    assert twice.nets == 6
    for a, b in zip(twice.subset(slice(3, 6)).parameters, bank.parameters, strict=True):
        assert torch.equal(a, b)


def test_weights_by_lag_follow_the_lag_major_order() -> None:
    flat = torch.arange(6.0).reshape(1, 1, 6)
    assert by_lag(flat, 2)[0, 0].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_the_seed_matters_and_global_state_does_not(make_bank: MakeBank) -> None:
    before = torch.random.get_rng_state()
    first, again, other = make_bank(seed=0), make_bank(seed=0), make_bank(seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.equal(first.w1, again.w1)
    assert not torch.equal(first.w1, other.w1)


def test_bounds_of_the_drawn_weights() -> None:
    bank = draw_bank(50, 4, 9, generator=torch.Generator(), first_scale=0.1)
    assert 0.04 < bank.w1.abs().max() <= 0.05
    assert 0.4 < bank.b1.abs().max() <= 0.5
    assert 0.3 < bank.w2.abs().max() <= 1 / 3
    assert not bank.b2.any()
