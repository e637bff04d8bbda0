"""The flow transformer: shapes, what it depends on, and its weights as a vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from podium.errors import InputError
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.pictures import to_float, to_uint8
from podium.nn.flow.sit import FREQUENCIES, SiT
from podium.nn.flow.weights import from_vector, load_vector, to_vector


def inputs(count: int = 6) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, 3, 4, 8, generator=generator)
    return x, torch.rand(count, generator=generator), torch.arange(count) % 5


def test_an_architecture_survives_its_array(small: Architecture) -> None:
    values = small.to_array()
    assert values.dtype == np.int64
    assert values.shape == (8,)
    assert Architecture.from_array(values) == small
    assert (small.tokens, small.token_size, small.picture) == (8, 12, (3, 4, 8))


@pytest.mark.parametrize(
    ("change", "word"),
    [({"patch": 3}, "patches"), ({"heads": 3}, "heads"), ({"depth": 0}, "from 1 on")],
)
def test_sizes_that_make_no_network_are_refused(
    small: Architecture, change: dict[str, int], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        replace(small, **change)


def test_seven_numbers_are_no_architecture(small: Architecture) -> None:
    with pytest.raises(InputError, match=r"shape \[8\]"):
        Architecture.from_array(small.to_array()[:7])


def test_an_untrained_network_says_that_all_is_grey(small: Architecture) -> None:
    x, t, labels = inputs()
    t[0] = 0.0
    velocity = SiT(small, torch.Generator().manual_seed(0))(x, t, labels)
    assert velocity.shape == (6, 3, 4, 8)
    torch.testing.assert_close(velocity, x / t.clamp(min=0.05).view(-1, 1, 1, 1))


def test_patches_are_put_back_where_they_were(model: SiT) -> None:
    x, _, _ = inputs()
    assert torch.equal(model._picture(model._patches(x)), x)
    # The first token is the upper left patch, channel by channel.
    assert torch.equal(model._patches(x)[0, 0], x[0, :, :2, :2].flatten())
    assert torch.equal(model._patches(x)[0, 4], x[0, :, 2:, :2].flatten())


def test_everything_it_is_given_matters(model: SiT) -> None:
    x, t, labels = inputs()
    first = model(x, t, labels)
    changed = x.clone()
    changed[:, :, 0, 0] += 1
    # A pixel of one patch reaches every other patch, through attention.
    assert ((model(changed, t, labels) - first).abs().amax(dim=(0, 1)) > 1e-6).all()
    assert not torch.allclose(model(x, t * 0.9, labels), first)
    assert not torch.allclose(model(x, t, (labels + 1) % 5), first)


def test_pictures_of_a_batch_do_not_meet(model: SiT) -> None:
    x, t, labels = inputs()
    whole = model(x, t, labels)
    alone = torch.cat([model(x[k : k + 1], t[k : k + 1], labels[k : k + 1]) for k in range(6)])
    torch.testing.assert_close(whole, alone, rtol=1e-4, atol=1e-5)


def test_number_of_parameters(small: Architecture, model: SiT) -> None:
    d, size = small.dimension, small.token_size
    block = 6 * d * (d + 1) + 3 * d * (d + 1) + d * (d + 1) + (d + 1) * 2 * d + (2 * d + 1) * d
    outside = (size + 1) * d + (small.tokens + small.classes) * d
    outside += (FREQUENCIES + 1) * d + (d + 1) * d + (d + 1) * 2 * d + (d + 1) * size
    assert to_vector(model).shape == (outside + small.depth * block,)


def test_weights_survive_their_vector(small: Architecture, model: SiT) -> None:
    vector = to_vector(model)
    again = from_vector(small, vector)
    assert vector.dtype == np.float32
    assert np.array_equal(to_vector(again), vector)
    assert torch.equal(again(*inputs()), model(*inputs()))
    # The vector is a copy: training the network does not change it.
    with torch.no_grad():
        again.enter.weight.zero_()
    assert np.array_equal(to_vector(model), vector)


def test_other_weights_are_refused(model: SiT) -> None:
    with pytest.raises(InputError, match="weights of this network"):
        load_vector(model, to_vector(model)[1:])


def test_half_precision_is_near(model: SiT) -> None:
    x, t, labels = inputs()
    exact = model(x, t, labels)
    near = model.to(torch.bfloat16)(x, t, labels)
    assert near.dtype == torch.float32
    assert (near - exact).norm() < 0.03 * exact.norm()


def test_first_weights_come_from_the_generator_alone(small: Architecture) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, again, other = (
        to_vector(SiT(small, torch.Generator().manual_seed(seed))) for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not to_vector(SiT(small)).any()


def test_pictures_survive_the_scale_of_the_flow() -> None:
    images = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    x = to_float(images)
    assert x.shape == (1, 1, 16, 16)
    assert (float(x.min()), float(x.max())) == (-1.0, 1.0)
    assert np.array_equal(to_uint8(x), images)
    colours = np.random.default_rng(0).integers(0, 256, (5, 3, 4, 3), dtype=np.uint8)
    assert np.array_equal(to_uint8(to_float(colours)), colours)
    assert np.array_equal(to_uint8(to_float(colours)[:, 0:1]), colours[..., :1])


def test_numbers_beyond_the_scale_are_cut() -> None:
    assert to_uint8(torch.tensor([-9.0, 9.0]).view(1, 1, 1, 2)).tolist() == [[[[0], [255]]]]
