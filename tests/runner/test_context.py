from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random.mtrand import get_bit_generator

from podium.contracts import Recipe
from podium.errors import InputError
from podium.plan.spec import RunSpec
from podium.runner.context import CURVE_POINTS, RunBuildContext, RunContext

MakeSpec = Callable[..., RunSpec]


def context_of(spec: RunSpec, folder: Path) -> RunContext:
    emitted = folder / "emitted"
    emitted.mkdir(exist_ok=True)
    return RunContext(spec, folder, emitted)


def test_generators_follow_seed_and_name_only(make_spec: MakeSpec, tmp_path: Path) -> None:
    def draw(name: str, **changes: object) -> float:
        return float(context_of(make_spec(**changes), tmp_path).rng(name).random())

    assert draw("a", seed=0) == draw("a", seed=0)
    assert draw("a", seed=0, entry="other") == draw("a", seed=0)
    different = {draw("a", seed=0), draw("b", seed=0), draw("a", seed=1), draw("a", problem="b")}
    assert len(different) == 4


def test_data_do_not_depend_on_the_entry_and_differ_from_the_methods_draws(
    make_spec: MakeSpec, tmp_path: Path
) -> None:
    recipe = Recipe(task="tiny", problem="a", tier="smoke", params={}, seed=0)
    drawn = RunBuildContext(recipe, ()).rng("x").random()
    assert drawn == RunBuildContext(recipe, ()).rng("x").random()
    assert drawn != context_of(make_spec(), tmp_path).rng("x").random()


def test_torch_generators_follow_seed_and_name(make_spec: MakeSpec, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def draw(seed: int, name: str) -> float:
        generator = context_of(make_spec(seed=seed), tmp_path).torch_generator(name)
        return float(torch.rand(1, generator=generator))

    before = torch.random.get_rng_state()
    assert draw(0, "a") == draw(0, "a")
    assert len({draw(0, "a"), draw(1, "a"), draw(0, "b")}) == 3
    assert torch.equal(before, torch.random.get_rng_state())


def test_no_global_state_is_touched(make_spec: MakeSpec, tmp_path: Path) -> None:
    def states() -> tuple[object, str]:
        return random.getstate(), repr(get_bit_generator().state)

    before = states()
    context_of(make_spec(), tmp_path).rng("a").random(10)
    assert before == states()


def test_the_budget_runs_down_from_the_start_of_the_clock(
    make_spec: MakeSpec, tmp_path: Path
) -> None:
    assert context_of(make_spec(), tmp_path).budget_left == math.inf
    context = context_of(make_spec(time_limit=0.05), tmp_path)
    assert context.budget_left == math.inf
    context.start_clock()
    first = context.budget_left
    assert 0 < first <= 0.05
    time.sleep(0.06)
    assert context.budget_left == 0


def test_curves_hold_null_where_there_is_no_number(make_spec: MakeSpec, tmp_path: Path) -> None:
    context = context_of(make_spec(), tmp_path)
    assert context.curves() == {}
    context.log(0, loss=1.0)
    context.log(5, loss=math.nan, gap=2.0)
    context.log(9, gap=math.inf)
    assert context.curves() == {
        "step": [0.0, 5.0, 9.0],
        "loss": [1.0, None, None],
        "gap": [None, 2.0, None],
    }


def test_long_curves_are_thinned_with_both_ends_kept(make_spec: MakeSpec, tmp_path: Path) -> None:
    context = context_of(make_spec(), tmp_path)
    for step in range(10 * CURVE_POINTS):
        context.log(step, loss=float(step))
    curves = context.curves()
    assert len(curves["step"]) == CURVE_POINTS
    assert (curves["step"][0], curves["step"][-1]) == (0.0, 10 * CURVE_POINTS - 1.0)
    assert curves["loss"] == curves["step"]


def test_chunks_add_up_to_one_array(make_spec: MakeSpec, tmp_path: Path) -> None:
    context = context_of(make_spec(), tmp_path)
    whole = np.arange(24, dtype="float32").reshape(8, 3)
    for chunk in (whole[:3], whole[3:3], whole[3:].T.copy().T):
        context.emit("y", chunk)
    context.emit("empty", np.zeros((0, 2)))
    arrays = context.emitted()
    np.testing.assert_array_equal(arrays["y"], whole)
    assert arrays["y"].dtype == np.float32
    assert isinstance(arrays["y"], np.memmap)
    assert arrays["empty"].shape == (0, 2)


@pytest.mark.parametrize(
    "chunk",
    [np.zeros((2, 4)), np.zeros((2, 3), dtype="float32"), np.float64(1), [1.0], np.array(["a"])],
)
def test_a_chunk_unlike_the_others_is_refused(
    make_spec: MakeSpec, tmp_path: Path, chunk: Any
) -> None:
    context = context_of(make_spec(), tmp_path)
    context.emit("y", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"emit\('y'\)"):
        context.emit("y", chunk)
