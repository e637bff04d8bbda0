"""Views, batches, data on a device, and whole trainings of small problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Prediction, Problem
from podium.discovery.samples import Samples, read_samples
from podium.errors import InputError
from podium.metrics.discovery import accuracies
from podium.nn.discovery.augment import Views
from podium.nn.discovery.discover import MakeRefiner, discover, discover_by_kmeans
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.settings import Settings
from podium.nn.discovery.slots import SlotAttention
from podium.nn.discovery.token_mlp import TokenMLP
from podium.nn.discovery.tokens import on_device
from podium.nn.discovery.training import batches, shuffled

MakeProblem = Callable[..., Problem]
MakeSettings = Callable[..., Settings]
MODULES: dict[str, MakeRefiner | None] = {
    "none": None,
    "primitives": lambda d, g: PrimitiveField(d, 4, 2, g),
    "slots": lambda d, g: SlotAttention(d, 4, 2, g),
    "token_mlp": lambda d, g: TokenMLP(d, 16, g),
}


def old_of(problem: Problem) -> int:
    return read_samples(problem.public).old


def accuracy(prediction: Prediction, problem: Problem) -> float:
    return accuracies(prediction["clusters"], problem.public["truth"], old_of(problem)).all


# ---- views -------------------------------------------------------------------------------------


def test_a_view_without_noise_holds_tokens_of_its_sample() -> None:
    tokens = torch.arange(5 * 4 * 2, dtype=torch.float32).view(5, 4, 2)
    index = torch.tensor([3, 0])
    view, summary = Views(keep=0.75, noise=0.0, dropout=0.0).draw(
        tokens, None, index, torch.Generator().manual_seed(0)
    )
    assert view.shape == (4, 3, 2)
    assert summary is None
    for row, sample in zip(view, (3, 0, 3, 0), strict=True):
        kept = {tuple(token.tolist()) for token in row}
        assert len(kept) == 3
        assert kept <= {tuple(token.tolist()) for token in tokens[sample]}


def test_a_view_of_everything_is_the_sample() -> None:
    tokens, class_tokens = torch.randn(4, 6, 3), torch.randn(4, 3)
    before = tokens.clone(), class_tokens.clone()
    index = torch.arange(4)
    view, summary = Views(keep=1.0, noise=0.0, dropout=0.0).draw(
        tokens, class_tokens, index, torch.Generator().manual_seed(0)
    )
    torch.testing.assert_close(view.sum(1), tokens.sum(1).repeat(2, 1))
    assert summary is not None
    assert torch.equal(summary, class_tokens.repeat(2, 1))
    # Views are drawn in place on copies: the data stays.
    Views().draw(tokens, class_tokens, index, torch.Generator().manual_seed(0))
    assert torch.equal(tokens, before[0])
    assert torch.equal(class_tokens, before[1])


def test_views_differ_and_one_token_is_always_kept() -> None:
    tokens = torch.randn(8, 1, 16)
    index = torch.arange(8)
    view, _ = Views(keep=0.1).draw(tokens, None, index, torch.Generator().manual_seed(0))
    assert view.shape == (16, 1, 16)
    assert not torch.allclose(view[:8], view[8:])


def test_features_are_left_out_in_all_tokens_of_a_view_and_the_mean_stays() -> None:
    tokens = torch.ones(200, 3, 50)
    view, _ = Views(keep=1.0, noise=0.0, dropout=0.2).draw(
        tokens, None, torch.arange(200), torch.Generator().manual_seed(0)
    )
    assert torch.equal(view[:, 0], view[:, 2])
    assert set(view.flatten().tolist()) == {0.0, 1.25}
    assert float(view.mean()) == pytest.approx(1, abs=0.02)


# ---- batches and data --------------------------------------------------------------------------


def test_every_sample_comes_once_before_any_comes_twice() -> None:
    drawn = shuffled(25, 10, torch.Generator().manual_seed(0))
    assert len(drawn) == 25
    for start in (0, 10):
        assert sorted(drawn[start : start + 10].tolist()) == list(range(10))


def test_batches_are_half_labelled(toy_problem: MakeProblem, make_settings: MakeSettings) -> None:
    data = on_device(read_samples(toy_problem().public), "cpu")
    drawn = batches(data, make_settings(batch=9, steps=5), torch.Generator().manual_seed(0))
    assert drawn.shape == (5, 9)
    assert bool((drawn[:, :4] < data.labelled).all())
    assert bool((drawn[:, 4:] >= data.labelled).all())
    assert int(drawn.max()) < len(data.tokens)


def test_a_training_lasts_so_many_epochs_but_no_more_than_its_steps(
    make_settings: MakeSettings,
) -> None:
    settings = make_settings(epochs=10, steps=40, batch=9)
    assert settings.length(unlabelled=10) == 20  # 5 unlabelled samples a step
    assert settings.length(unlabelled=11) == 22
    assert settings.length(unlabelled=1) == 2
    assert settings.length(unlabelled=1000) == 40


def test_tokens_are_on_one_scale_and_distances_keep_their_ratios(
    toy_problem: MakeProblem,
) -> None:
    samples = read_samples(toy_problem(class_tokens=True).public)
    data = on_device(samples, "cpu")
    flat = data.tokens.flatten(0, 1)
    assert flat.mean(0).abs().max() < 1e-5
    assert float(flat.square().mean()) == pytest.approx(1, abs=1e-5)
    before = torch.tensor(samples.tokens).flatten(1)
    ratio = torch.pdist(data.tokens.flatten(1)) / torch.pdist(before)
    torch.testing.assert_close(ratio, ratio[0].expand_as(ratio))
    assert data.class_tokens is not None
    assert data.class_tokens.shape == (len(flat) // 5, 8)


def samples_with(problem: Problem, **changes: Any) -> Samples:
    return replace(read_samples(problem.public), **changes)


def test_samples_that_cannot_be_used_are_named(toy_problem: MakeProblem) -> None:
    problem = toy_problem()
    tokens = problem.public["unlabelled_tokens"].copy()
    tokens[3, 1, 0] = np.nan
    with pytest.raises(InputError, match=r"tokens: values that are not finite[^$]*1 that are"):
        on_device(samples_with(problem, unlabelled=tokens), "cpu")
    with pytest.raises(InputError, match="unlabelled_tokens: no unlabelled sample"):
        on_device(samples_with(problem, unlabelled=tokens[:0]), "cpu")
    nothing = {"labelled": tokens[:0], "labels": np.zeros(0, np.int64)}
    with pytest.raises(InputError, match="labelled_tokens: no labelled sample"):
        on_device(samples_with(problem, **nothing), "cpu")
    with pytest.raises(InputError, match="labels: a label outside the classes"):
        on_device(samples_with(problem, classes=1), "cpu")


def test_equal_tokens_are_no_error(toy_problem: MakeProblem) -> None:
    problem = toy_problem()
    same = {
        name: np.ones_like(getattr(read_samples(problem.public), name))
        for name in ("labelled", "unlabelled")
    }
    assert not on_device(samples_with(problem, **same), "cpu").tokens.any()


# ---- trainings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("class_tokens", [False, True])
def test_a_separable_problem_is_learnt(
    name: str,
    class_tokens: bool,
    toy_problem: MakeProblem,
    make_settings: MakeSettings,
    make_context: Any,
) -> None:
    problem, context = toy_problem(class_tokens=class_tokens), make_context()
    found = discover(problem, context, make_settings(), refiner=MODULES[name])
    assert accuracy(found, problem) > 0.9
    truth = problem.public["truth"]
    # The clusters of old classes carry the classes' own numbers.
    assert (found["clusters"] == truth)[truth < 2].mean() > 0.9
    assert found["labelled_features"].shape == (len(problem.public["labels"]), 8)
    assert found["unlabelled_features"].shape == (len(truth), 8)
    assert found["clusters"].dtype == np.int64
    assert found["unlabelled_features"].dtype == np.float32
    first, last = context.points[0][1]["loss"], context.points[-1][1]["loss"]
    assert last < first


@pytest.mark.parametrize("name", ["primitives", "token_mlp"])
def test_the_second_host_learns_too(
    name: str, toy_problem: MakeProblem, make_settings: MakeSettings, make_context: Any
) -> None:
    problem, refiner = toy_problem(), MODULES[name]
    assert refiner is not None
    found = discover_by_kmeans(
        problem, make_context(), make_settings(), refiner=refiner, restarts=3
    )
    assert accuracy(found, problem) > 0.9
    np.testing.assert_allclose(np.linalg.norm(found["unlabelled_features"], axis=1), 1, rtol=1e-5)


def test_lego_changes_the_training(
    toy_problem: MakeProblem, make_settings: MakeSettings, make_context: Any
) -> None:
    problem, context = toy_problem(), make_context()
    plain = discover(problem, make_context(), make_settings())
    lego = discover(problem, context, make_settings(), lego=True)
    # It favours the old classes, which it keeps; a new one may be taken for an old one.
    truth = problem.public["truth"]
    assert (lego["clusters"] == truth)[truth < 2].mean() > 0.9
    assert accuracy(lego, problem) > 0.75
    assert "regulariser" in context.points[0][1]
    assert not np.array_equal(plain["unlabelled_features"], lego["unlabelled_features"])


def test_the_seed_decides_everything_and_the_global_state_nothing(
    toy_problem: MakeProblem, make_settings: MakeSettings, make_context: Any
) -> None:
    problem, before = toy_problem(), torch.get_rng_state()
    results = [
        discover(problem, make_context(seed=s), make_settings(steps=5), refiner=MODULES[name])
        for s, name in ((0, "primitives"), (0, "primitives"), (1, "primitives"))
    ]
    first, same, other = (r["unlabelled_features"] for r in results)
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", ["none", "primitives"])
@pytest.mark.parametrize(
    "shape",
    [
        {"classes": 1, "old": 1},
        {"classes": 3, "old": 1},
        {"classes": 3, "old": 3},
        {"classes": 2, "old": 1, "samples": 2},
        {"tokens": 1},
    ],
)
def test_small_and_lopsided_problems_run(
    name: str,
    shape: dict[str, int],
    toy_problem: MakeProblem,
    make_settings: MakeSettings,
    make_context: Any,
) -> None:
    problem = toy_problem(**shape)
    found = discover(problem, make_context(), make_settings(steps=3), refiner=MODULES[name])
    assert np.isfinite(found["unlabelled_features"]).all()
    assert found["clusters"].min() >= 0
    assert found["clusters"].max() < problem.public["classes"][0]


def test_a_training_that_diverges_says_so(
    toy_problem: MakeProblem, make_settings: MakeSettings, make_context: Any
) -> None:
    settings = make_settings(learning_rate=1e30, steps=12)
    with pytest.raises(InputError, match="lower learning_rate"):
        discover(toy_problem(), make_context(), settings, refiner=MODULES["token_mlp"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("steps", 0),
        ("batch", 1),
        ("batch", True),
        ("width", 2.0),
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("weight_decay", -1.0),
        ("entropy_weight", float("inf")),
        ("keep", 0.0),
        ("keep", 1.5),
        ("noise", -0.1),
        ("dropout", 1.0),
    ],
)
def test_settings_without_a_meaning_are_refused(
    name: str, value: object, make_settings: MakeSettings
) -> None:
    with pytest.raises(InputError, match=f"{name}: bad value"):
        make_settings(**{name: value})


@pytest.mark.gpu
def test_a_gpu_learns_the_same_problem(
    toy_problem: MakeProblem, make_settings: MakeSettings, make_context: Any
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    problem = toy_problem()
    for lego, name in ((False, "primitives"), (True, "slots")):
        context = make_context(device="cuda:0")
        found = discover(problem, context, make_settings(), refiner=MODULES[name], lego=lego)
        assert accuracy(found, problem) > 0.9
