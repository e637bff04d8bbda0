"""The trained entries of FID-50K as declared, on the mixture."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Arrays, Prediction, Scores
from podium.errors import InputError
from podium.registry.code import load_function
from podium.registry.registry import load_registry

Run = Callable[..., Prediction]
Quick = dict[str, dict[str, Any]]
ENTRIES = (
    "distribution_reward",
    "sample_reward",
    "reward_sampling",
    "frechet_backprop",
    "rl_ema_merge",
    "fixed_ema",
    "best_checkpoint",
)
RECORDED = ("subset_rewards", "recomputed_rewards")


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_samples_what_is_asked_and_its_seed_matters(
    entry: str, run: Run, quick: Quick, public: Arrays, drawing: Callable[..., Any]
) -> None:
    first = run(entry, drawing(0), **quick[entry])
    assert first["samples"].dtype == np.uint8
    assert first["samples"].shape == (
        len(public["sample_labels"]),
        *public["train_images"][0].shape,
    )
    again = run(entry, drawing(0), **quick[entry])
    other = run(entry, drawing(1), **quick[entry])
    for name, array in first.items():
        np.testing.assert_array_equal(array, again[name])
    assert (first["samples"] != other["samples"]).any()


def test_rewards_by_swapping_are_those_of_all_features(run: Run, quick: Quick) -> None:
    found = run("distribution_reward", **{**quick["distribution_reward"], "recorded": 30})
    swapped, computed = (found[name] for name in RECORDED)
    assert len(swapped) == len(computed) == 30
    assert len(np.unique(swapped)) == 30
    np.testing.assert_allclose(swapped, computed, rtol=1e-8)


def test_shuffled_rewards_are_those_of_other_subsets(run: Run, quick: Quick) -> None:
    changes = {**quick["distribution_reward"], "updates": 1, "recorded": 12}
    shuffled = run("distribution_reward_shuffled", **changes)
    given, own = (shuffled[name] for name in RECORDED)
    assert np.abs(given - own).max() > 1e-4
    # The same rewards, in another order.
    np.testing.assert_allclose(np.sort(given), np.sort(own), rtol=1e-8)
    np.testing.assert_allclose(own, run("distribution_reward", **changes)[RECORDED[1]], rtol=1e-12)


def test_no_update_leaves_the_base(run: Run) -> None:
    untouched = run("distribution_reward", updates=0)["samples"]
    for entry, changes in (
        ("sample_reward", {"updates": 0}),
        ("reward_sampling", {"rounds": 0}),
        ("frechet_backprop", {"updates": 0}),
    ):
        np.testing.assert_array_equal(run(entry, **changes)["samples"], untouched)
    changed = run("distribution_reward", updates=1, subsets=12, reference=200, decay=0.0)
    assert (changed["samples"] != untouched).any()


def test_trained_entries_have_the_same_budget() -> None:
    given = {entry: defaults(entry) for entry in ENTRIES}
    d, m, s = (given[e] for e in ("distribution_reward", "rl_ema_merge", "reward_sampling"))
    b, c = given["frechet_backprop"], given["best_checkpoint"]
    rollouts = d["updates"] * d["subsets"] * d["size"]
    budget = rollouts + math.ceil(d["updates"] / d["refresh"]) * d["reference"]
    merge = m["updates"] * m["candidates"] * m["subsets"] * m["replacements"] * m["size"]
    others = {
        "rl_ema_merge": merge + math.ceil(m["updates"] / m["refresh"]) * m["reference"],
        "reward_sampling": s["rounds"] * (s["subsets"] * s["size"] + s["reference"]),
        # Forward and twice that backward through the whole sampler.
        "frechet_backprop": 3 * b["updates"] * b["batch"],
        "best_checkpoint": c["pictures"],
    }
    passes = 3 * d["keep"] * rollouts * d["trained_steps"] / d["steps"]
    for entry, pictures in others.items():
        # In pictures; the updates of the reference are a fifth more work.
        assert budget * 0.95 <= pictures <= budget + passes, entry


def test_the_rewards_alone_tell_the_two_policies_apart() -> None:
    distribution, sample = defaults("distribution_reward"), defaults("sample_reward")
    of_the_set = {"reference", "refresh", "recorded", "shuffled"}
    assert set(distribution) - set(sample) == of_the_set
    assert {k: v for k, v in distribution.items() if k not in of_the_set} == sample


def defaults(entry: str) -> dict[str, Any]:
    found = load_registry(plugins=False).entry(entry)
    method = load_function(found.at, found.spec.file.function)
    given = inspect.signature(method).parameters.values()
    own = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
    return {**own, **found.spec.config}


def test_the_best_checkpoint_is_found(run: Run, public: Arrays) -> None:
    # One checkpoint is the base; the others say v = 0 and leave the noise as it is.
    weights = np.zeros_like(public["checkpoint_weights"])
    weights[2] = public["base_weights"]
    changed = {**public, "checkpoint_weights": weights}
    found = run("best_checkpoint", public=changed, pictures=800)["samples"]
    np.testing.assert_array_equal(found, run("sample_reward", updates=0)["samples"])


def test_fixed_averages_are_the_merges_they_say(run: Run, public: Arrays) -> None:
    weights = np.zeros_like(public["checkpoint_weights"])
    weights[:] = public["base_weights"]
    changed = {**public, "checkpoint_weights": weights}
    base = run("sample_reward", updates=0)["samples"].astype(float)
    for entry in ("fixed_ema", "fixed_ema_short", "fixed_ema_long", "uniform_average"):
        # Weights of sum 1 of equal checkpoints: equal up to rounding of the weights.
        apart = np.abs(run(entry, public=changed)["samples"] - base)
        assert np.quantile(apart, 0.99) <= 1


def test_a_class_without_real_pictures_is_named(run: Run, public: Arrays) -> None:
    kept = public["reward_labels"] != 1
    fewer = {n: public[n][kept] for n in ("reward_images", "reward_labels")}
    with pytest.raises(InputError, match="none of class 1"):
        run("sample_reward", public={**public, **fewer}, updates=1)


@pytest.mark.parametrize(
    ("entry", "changes", "named"),
    [
        ("distribution_reward", {"reference": 1}, "reference"),
        ("distribution_reward", {"size": 300, "reference": 200}, "size"),
        ("sample_reward", {"learning_rate": -1.0}, "learning_rate"),
        ("reward_sampling", {"keep": 0.0}, "keep"),
        ("frechet_backprop", {"batch": 2, "queue": 0}, "batch"),
        ("rl_ema_merge", {"spread": 0.0}, "spread"),
        ("fixed_ema", {"decay": 1.5}, "decay"),
        ("best_checkpoint", {"pictures": 9}, "pictures"),
    ],
)
def test_settings_without_a_meaning_are_named(
    entry: str, changes: dict[str, Any], named: str, run: Run
) -> None:
    with pytest.raises(InputError, match=named):
        run(entry, **changes)


def test_the_whole_set_is_brought_nearer_and_single_rewards_collapse_it(
    run: Run, score: Callable[[Prediction], Scores]
) -> None:
    base = score(run("sample_reward", updates=0))
    whole = score(run("distribution_reward"))
    single = score(run("sample_reward"))
    assert whole["frechet"] < 0.75 * base["frechet"]
    assert whole["frechet_reward_map"] < 0.75 * base["frechet_reward_map"]
    assert whole["coverage"] > base["coverage"] - 0.1
    assert single["recall"] < 0.7 * base["recall"]  # the loss that the claims speak of
    assert single["precision"] > base["precision"]


@pytest.mark.gpu
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_runs_on_a_gpu(
    entry: str, run: Run, quick: Quick, drawing: Callable[..., Any]
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    found = run(entry, drawing(0, "cuda:0"), **quick[entry])["samples"]
    own = run(entry, drawing(0), **quick[entry])["samples"]
    # Noise is drawn on the device, so pictures differ; their distribution does not.
    assert found.mean() == pytest.approx(own.mean(), abs=10)
