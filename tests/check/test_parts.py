"""Sampled predictions fit any contract; leaks, digests and scores are judged as documented."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.check.digests import differing, digests
from podium.check.samples import sample_predictions
from podium.check.scores import score_faults
from podium.check.states import read_states, touched
from podium.check.task_probe import leaks
from podium.contracts import Instance, Undefined
from podium.declarations.task import ArraySpec, DType, MetricSpec
from podium.runner.validate import array_faults


@st.composite
def array_specs(draw: st.DrawFn) -> ArraySpec:
    dtype: DType = draw(st.sampled_from(get_args(DType)))
    low = draw(st.none() | st.integers(0, 100)) if dtype not in ("bool", "str") else None
    high = None
    if dtype not in ("bool", "str"):
        high = draw(st.none() | st.integers(low or 0, 200))
    return ArraySpec(
        name=draw(st.sampled_from("abcdef")),
        dtype=dtype,
        shape=tuple(draw(st.lists(st.sampled_from(["n", "open", 2, 0]), max_size=3))),
        optional=draw(st.booleans()),
        minimum=low,
        maximum=high,
    )


@settings(deadline=None)
@given(
    specs=st.lists(array_specs(), min_size=1, max_size=4, unique_by=lambda s: s.name),
    seed=st.integers(0, 100),
)
def test_every_sample_fits_its_contract(specs: list[ArraySpec], seed: int) -> None:
    samples = sample_predictions(specs, {"n": 7}, np.random.default_rng(seed))
    assert {"random", "constant", "zeros"} <= set(samples)
    for sample in samples.values():
        assert array_faults(specs, sample, {"n": 7}) == []


def test_samples_differ_from_each_other_and_between_seeds() -> None:
    specs = [ArraySpec(name="y", dtype="float64", shape=("n",))]
    first = sample_predictions(specs, {"n": 9}, np.random.default_rng(0))
    second = sample_predictions(specs, {"n": 9}, np.random.default_rng(1))
    assert not np.array_equal(first["random"]["y"], second["random"]["y"])
    assert np.ptp(first["random"]["y"]) > 0
    assert np.ptp(first["constant"]["y"]) == 0
    assert not first["zeros"]["y"].any()
    assert first["constant"]["y"].any()


@pytest.mark.parametrize(
    ("hidden", "found"),
    [
        (np.arange(6.0), True),
        (np.arange(6).reshape(2, 3), True),
        (np.arange(6.0).reshape(2, 3, order="F"), True),
        (np.arange(6.0) + 1, False),
        (np.arange(6.0)[::-1], False),
        (np.arange(3.0), False),
        (np.zeros(6), False),
        (np.array(list("012345")), False),
    ],
)
def test_leaks_are_equal_values_in_any_shape_and_type(
    hidden: np.ndarray[tuple[int, ...], np.dtype[np.generic]], found: bool
) -> None:
    public = {"x": np.arange(6.0), "zeros": np.zeros(6), "few": np.arange(3.0)}
    assert bool(leaks(Instance(public=public, hidden={"h": hidden}))) == found


def test_digests_tell_dtype_shape_and_the_last_bit() -> None:
    x = np.array([0.0, 1.0, np.nan])
    same = digests({"x": x})
    assert differing(same, digests({"x": x.copy()})) == []
    assert differing(same, digests({"x": np.stack([x, x], axis=1)[:, 0]})) == []
    for other in (
        x.astype(np.float32),
        x.reshape(3, 1),
        np.array([-0.0, 1.0, np.nan]),
        np.array([0.0, np.nextafter(1.0, 2.0), np.nan]),
    ):
        assert differing(same, digests({"x": other})) == ["x"]
    assert differing(same, digests({"x": x, "y": x})) == ["y"]


def test_reading_the_global_states_changes_none_and_a_draw_shows() -> None:
    before = read_states()
    assert touched(before, read_states()) == []
    assert touched(before, {**before, "random": "other"}) == ["random"]
    without = {name: state for name, state in before.items() if name != "torch"}
    assert touched(without, {**without, "torch": "loaded since"}) == []


METRIC = MetricSpec(name="m", title="M", direction="higher", range=(0.0, 1.0), primary=True)


@pytest.mark.parametrize(
    ("scores", "faults"),
    [
        ({"m": 0.5}, 0),
        ({"m": 1.0 + 1e-12}, 0),
        ({"m": Undefined("one class only")}, 0),
        ({"m": Undefined("")}, 1),
        ({"m": math.nan}, 1),
        ({"m": np.float32("nan")}, 1),
        ({"m": math.inf}, 1),
        ({"m": -0.1}, 1),
        ({}, 1),
        (None, 1),
    ],
)
def test_scores_are_in_range_or_say_why_not(scores: object, faults: int) -> None:
    assert len(score_faults([METRIC], scores)) == faults
