"""Flow matching: what it minimises, and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from podium.errors import InputError
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sampling import euler
from podium.nn.flow.sit import SiT
from podium.nn.flow.training import Trained, matching_loss, train
from podium.nn.flow.weights import from_vector, to_vector

TINY = Architecture(
    height=2, width=4, channels=1, patch=2, dimension=16, depth=1, heads=2, classes=2
)


def two_pictures(count: int = 64) -> tuple[torch.Tensor, torch.Tensor]:
    """Class 0 is dark, class 1 is bright."""
    labels = torch.arange(count) % 2
    return (labels.float() - 0.5).view(-1, 1, 1, 1).expand(-1, 1, 2, 4).contiguous(), labels


def trained(seed: int, steps: int = 40, checkpoints: int = 4) -> tuple[SiT, Trained]:
    generator = torch.Generator().manual_seed(seed)
    model = SiT(TINY, generator)
    x, labels = two_pictures()
    found = train(
        model,
        x,
        labels,
        steps=steps,
        batch=64,
        learning_rate=5e-3,
        generator=generator,
        checkpoints=checkpoints,
        warm_up=10,
    )
    return model, found


class Zero(torch.nn.Module):
    """A velocity of zero."""

    def forward(self, x: torch.Tensor, t: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        assert len(x) == len(t) == len(labels)
        return torch.zeros_like(x)


def test_loss_of_a_network_that_says_zero() -> None:
    x, labels = two_pictures(20_000)
    loss = matching_loss(Zero(), x, labels, torch.Generator().manual_seed(0))
    # E (noise - x)^2 = 1 + 1/4.
    assert float(loss) == pytest.approx(1.25, abs=0.02)


def test_it_learns_pictures_by_class() -> None:
    _, found = trained(0, steps=400)
    assert found.losses.shape == (400,)
    assert found.losses[-50:].mean() < 0.3 * found.losses[:20].mean()
    model = from_vector(TINY, found.average)
    noise = torch.randn(200, 1, 2, 4, generator=torch.Generator().manual_seed(1))
    labels = torch.arange(200) % 2
    with torch.no_grad():
        x = euler(model, noise, labels, 10)
    assert float(x[labels == 0].mean()) == pytest.approx(-0.5, abs=0.1)
    assert float(x[labels == 1].mean()) == pytest.approx(0.5, abs=0.1)


def test_checkpoints_end_where_the_training_does() -> None:
    model, found = trained(0)
    assert found.checkpoints.shape == (4, to_vector(model).size)
    assert np.array_equal(found.checkpoints[-1].numpy(), to_vector(model))
    assert len({tuple(row.tolist()) for row in found.checkpoints}) == 4
    # An average lies nearer to the last weights than the first weights do.
    distance = (found.average - found.checkpoints[-1]).norm()
    assert 0 < distance < (found.checkpoints[0] - found.checkpoints[-1]).norm()


def test_a_checkpoint_is_the_training_cut_short() -> None:
    _, whole = trained(0)
    _, short = trained(0, steps=20, checkpoints=1)
    assert torch.equal(whole.checkpoints[1], short.checkpoints[0])


def test_the_seed_decides_and_nothing_else() -> None:
    before = torch.get_rng_state()
    first, again, other = (trained(seed)[1].average for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_every_step_is_told() -> None:
    heard = []
    x, labels = two_pictures()
    generator = torch.Generator().manual_seed(0)
    train(
        SiT(TINY, generator),
        x,
        labels,
        steps=3,
        batch=8,
        learning_rate=1e-3,
        generator=generator,
        checkpoints=1,
        told=lambda step, loss: heard.append((step, loss)),
    )
    assert [step for step, _ in heard] == [1, 2, 3]


@pytest.mark.parametrize("checkpoints", [0, 41])
def test_checkpoints_that_cannot_be_kept_are_refused(checkpoints: int) -> None:
    with pytest.raises(InputError, match="number of checkpoints"):
        trained(0, checkpoints=checkpoints)
