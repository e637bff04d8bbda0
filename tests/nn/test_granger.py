from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from podium.contracts import Problem
from podium.errors import InputError
from podium.nn.attribution import info_shap_readout
from podium.nn.granger import Settings, held_out_rows, recover
from podium.nn.penalties import Penalty, fast_shap, shap

Floats = npt.NDArray[np.float64]
MakeContext = Callable[..., Any]

SETTINGS = Settings(
    lags=2,
    hidden=8,
    penalties=(0.01, 0.1),
    learning_rate=0.03,
    steps=60,
    validation=0.3,
    restarts=1,
    first_scale=1.0,
)


def chain(seed: int = 0, steps: int = 120) -> Floats:
    """Variable 0 drives 1, 1 drives 2, nothing else."""
    noise = np.random.default_rng(seed).standard_normal((steps, 3))
    x = np.zeros((steps, 3))
    for t in range(1, steps):
        x[t] = noise[t]
        x[t, 1:] += 2 * np.tanh(x[t - 1, :2])
    return x


def problem_of(series: Floats, lengths: list[int] | None = None) -> Problem:
    sizes = np.array(lengths or [len(series)], dtype=np.int64)
    return Problem("granger_recovery", "p", "smoke", {"series": series, "lengths": sizes})


def scores_of(
    series: Floats,
    context: Any,
    lengths: list[int] | None = None,
    settings: Settings = SETTINGS,
    penalty: Penalty = shap,
) -> Floats:
    problem = problem_of(series, lengths)
    found = recover(problem, context, settings, penalty=penalty, readout=info_shap_readout)
    assert set(found) == {"scores"}
    scores: Floats = found["scores"]
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
    return scores


def test_a_chain_is_found_in_the_right_direction(make_context: MakeContext) -> None:
    scores = scores_of(chain(), make_context())
    edges = np.zeros((3, 3), dtype=bool)
    edges[1, 0] = edges[2, 1] = True
    assert scores[edges].min() > 3 * scores[~edges].max()


@pytest.mark.parametrize("penalty", [shap, fast_shap])
def test_same_seed_same_bits_other_seed_other_scores(
    make_context: MakeContext, penalty: Penalty
) -> None:
    before = torch.random.get_rng_state()
    first = scores_of(chain(), make_context(seed=0), penalty=penalty)
    assert np.array_equal(first, scores_of(chain(), make_context(seed=0), penalty=penalty))
    assert not np.array_equal(first, scores_of(chain(), make_context(seed=1), penalty=penalty))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_scale_and_offset_of_a_variable_do_not_matter(make_context: MakeContext) -> None:
    plain = scores_of(chain(), make_context())
    moved = scores_of(chain() * [1.0, 1e3, 1e-3] + [5.0, -2.0, 0.0], make_context())
    np.testing.assert_allclose(moved, plain, rtol=1e-2, atol=1e-5)


def test_a_constant_column_neither_drives_nor_is_driven(make_context: MakeContext) -> None:
    series = np.insert(chain(), 1, 0.1, axis=1)
    scores = scores_of(series, make_context())
    assert not scores[1].any()
    assert not scores[:, 1].any()
    # The others are scored as if it were not there.
    rest = [0, 2, 3]
    assert np.array_equal(scores[np.ix_(rest, rest)], scores_of(chain(), make_context()))


def test_nothing_moves(make_context: MakeContext) -> None:
    assert not scores_of(np.ones((50, 3)), make_context()).any()


def test_lags_do_not_cross_trajectories(make_context: MakeContext) -> None:
    """Swapping whole trajectories changes which rows lie side by side, but no lagged pair."""
    a, b = chain(0, 60), chain(1, 60)
    settings = replace(SETTINGS, penalties=(0.01,))
    first = scores_of(np.concatenate([a, b]), make_context(), [60, 60], settings)
    second = scores_of(np.concatenate([b, a]), make_context(), [60, 60], settings)
    np.testing.assert_allclose(first, second, rtol=1e-2, atol=1e-5)
    joined = scores_of(np.concatenate([a, b]), make_context(), [120], settings)
    assert not np.allclose(first, joined, rtol=1e-2, atol=1e-5)


def test_restarts_are_averaged(make_context: MakeContext) -> None:
    several = scores_of(chain(), make_context(), settings=replace(SETTINGS, restarts=3))
    one = scores_of(chain(), make_context())
    assert not np.array_equal(several, one)
    np.testing.assert_allclose(several[1, 0], one[1, 0], rtol=0.5)


def test_held_out_rows_are_the_last_of_each_trajectory() -> None:
    mask = held_out_rows([10, 3, 4], 0.3)
    assert mask.tolist() == [False] * 7 + [True] * 3 + [False] * 3 + [False] * 3 + [True]


def test_no_row_to_hold_out() -> None:
    with pytest.raises(InputError, match="no trajectory is long enough") as caught:
        held_out_rows([3, 2], 0.3)
    assert "at least 4 rows" in str(caught.value)


def test_a_series_with_nan_is_named(make_context: MakeContext) -> None:
    series = chain()
    series[7, 2] = np.nan
    with pytest.raises(InputError, match="time 7, variable 2"):
        scores_of(series, make_context())


def test_fewer_steps_than_lags(make_context: MakeContext) -> None:
    with pytest.raises(InputError, match="too short for the lags"):
        scores_of(chain(steps=40), make_context(), [38, 2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lags", 0),
        ("hidden", 2.5),
        ("steps", True),
        ("restarts", -1),
        ("learning_rate", 0.0),
        ("first_scale", float("nan")),
        ("validation", 1.0),
        ("penalties", ()),
        ("penalties", (0.1, -1.0)),
        ("penalties", "0.1"),
    ],
)
def test_a_bad_setting_is_named(name: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        replace(SETTINGS, **{name: value})
    assert caught.value.where == name
    assert caught.value.found is not None


def test_learning_curves_and_progress(make_context: MakeContext) -> None:
    context = make_context()
    scores_of(chain(), context)
    curve = [(step, p) for step, p in context.points if "train_loss" in p]
    assert [step for step, _ in curve] == list(range(0, 61, 10))
    assert curve[-1][1]["train_loss"] < 0.9 * curve[0][1]["train_loss"]
    (choice,) = [(step, p) for step, p in context.points if "penalty" in p]
    assert choice[1]["penalty"] in SETTINGS.penalties
    by_step = {step: p["validation_loss"] for step, p in curve}
    assert choice[1]["best_validation_loss"] == pytest.approx(by_step[choice[0]])
    assert choice[1]["best_validation_loss"] == pytest.approx(min(by_step.values()))
    assert {"grid", "final networks"} <= set(context.notes)


def test_the_time_left_changes_nothing(make_context: MakeContext) -> None:
    plenty, scarce = make_context(), make_context(budgets=[0.1] * 100)
    np.testing.assert_array_equal(scores_of(chain(), plenty), scores_of(chain(), scarce))


@pytest.mark.gpu
def test_the_device_of_the_context_is_used(make_context: MakeContext) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    torch.cuda.reset_peak_memory_stats()
    on_gpu = scores_of(chain(), make_context(device="cuda:0"))
    assert torch.cuda.max_memory_allocated() > 0
    np.testing.assert_allclose(on_gpu, scores_of(chain(), make_context()), rtol=0.05, atol=1e-4)
