from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from podium.nn.batched_mlp import MLPBank
from podium.nn.penalties import fast_shap, shap, unpenalised
from podium.nn.training import one_standard_error, train

MakeBank = Callable[..., MLPBank]


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def run_training(
    start: MLPBank,
    *,
    strength: float = 0.0,
    steps: int = 80,
    stop_at: int | None = None,
    penalty: Callable[..., torch.Tensor] = shap,
    check: Callable[[int, MLPBank, torch.Tensor], None] | None = None,
) -> MLPBank:
    x = normal(40, 6)
    return train(
        start,
        x,
        x[:, : start.nets].T.contiguous(),
        penalty=penalty,
        strength=torch.full((start.nets,), strength, dtype=torch.float64),
        generator=torch.Generator().manual_seed(0),
        learning_rate=0.03,
        steps=steps,
        stop_at=stop_at,
        check=check,
    )


def test_training_lowers_the_loss_and_leaves_the_start_alone(make_bank: MakeBank) -> None:
    start = make_bank()
    before = start.w1.clone()
    seen: list[float] = []
    steps: list[int] = []

    def check(step: int, _bank: MLPBank, fit: torch.Tensor) -> None:
        steps.append(step)
        seen.append(float(fit.mean()))

    run_training(start, check=check)
    assert torch.equal(start.w1, before)
    assert steps == list(range(0, 81, 10))
    assert seen[-1] < 0.1 * seen[0]


def test_strength_zero_is_no_penalty(make_bank: MakeBank) -> None:
    start = make_bank()
    weights = run_training(start).w1
    assert torch.equal(weights, run_training(start, penalty=unpenalised).w1)
    assert not torch.equal(weights, run_training(start, strength=0.1).w1)


def test_a_huge_penalty_silences_the_inputs(make_bank: MakeBank) -> None:
    x = normal(40, 6)

    def slope(strength: float) -> float:
        bank = run_training(make_bank(), strength=strength, steps=200)
        return bank.jacobian(bank.hidden(x)).abs().mean().item()

    assert slope(100.0) < 0.01 * slope(0.0)


def test_stopping_at_a_step_gives_the_weights_of_that_step(make_bank: MakeBank) -> None:
    kept: dict[int, torch.Tensor] = {}

    def check(step: int, bank: MLPBank, _fit: torch.Tensor) -> None:
        kept[step] = bank.w1.clone()

    run_training(make_bank(), penalty=fast_shap, strength=0.1, check=check)
    stopped = run_training(make_bank(), penalty=fast_shap, strength=0.1, stop_at=30)
    assert torch.equal(stopped.w1, kept[30])


def block_errors(mean: float, swing: float) -> torch.Tensor:
    """20 rows in 10 blocks of two, whose means are ``mean`` plus and minus ``swing``."""
    return (mean + swing * torch.tensor([1.0, -1.0]).repeat(5)).repeat_interleave(2)


@pytest.mark.parametrize(
    ("second", "chosen"),
    [
        # The best has block means 1 +- 0.3, standard error 0.3 * sqrt(10 / 9) / sqrt(10) = 0.1.
        (1.09, 1),
        (1.11, 0),
    ],
)
def test_one_standard_error_rule_at_its_limit(second: float, chosen: int) -> None:
    errors = torch.stack([block_errors(1.0, 0.3), block_errors(second, 0.0), block_errors(9, 0.0)])
    assert one_standard_error(errors, [0.1, 1.0, 10.0]) == chosen


def test_one_standard_error_rule_never_takes_less_than_the_best() -> None:
    errors = torch.stack([block_errors(1.05, 0.0), block_errors(1.0, 0.3)])
    assert one_standard_error(errors, [0.1, 1.0]) == 1
    assert one_standard_error(errors.flip(0), [1.0, 0.1]) == 0


def test_one_row_and_one_penalty() -> None:
    assert one_standard_error(torch.tensor([[1.0], [0.5]]), [0.1, 1.0]) == 1
    assert one_standard_error(torch.tensor([[1.0, 2.0]]), [0.0]) == 0
