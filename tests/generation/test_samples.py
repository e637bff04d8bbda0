"""The samples of an entry: which, from what noise, and where they go."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.contracts import Problem
from podium.errors import InputError
from podium.generation import samples
from podium.generation.problem import read_problem
from podium.generation.samples import emit, for_sampling, generate, has_bfloat16
from podium.nn.flow.pictures import to_uint8
from podium.nn.flow.sampling import euler
from podium.nn.flow.weights import to_vector

ContextOf = Callable[[int], Any]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single precision on every machine."""
    monkeypatch.setattr(samples, "has_bfloat16", lambda: False)


@pytest.mark.usefixtures("exact")
def test_each_sample_is_the_flow_of_its_noise_and_class(
    problem: Problem, context_of: ContextOf
) -> None:
    generation = read_problem(problem)
    context = context_of(0)
    found = emit(generation, generation.base(), context, steps=4, batch=30)["samples"]
    assert found.dtype == np.uint8
    assert found.shape == (30, 4, 4, 1)
    noise = torch.randn(30, 1, 4, 4, generator=context_of(0).torch_generator("noise"))
    labels = torch.from_numpy(generation.sample_labels.copy())
    with torch.no_grad():
        expected = to_uint8(euler(generation.base(), noise, labels, 4))
    assert np.array_equal(found, expected)
    assert context.heard[-1] == (30, 30)


@pytest.mark.parametrize("sampler", ["ode", "sde"])
def test_the_seed_and_the_name_decide(
    problem: Problem, context_of: ContextOf, sampler: Any
) -> None:
    generation = read_problem(problem)

    def drawn(seed: int, name: str = "noise") -> Any:
        model = generation.base()
        return emit(
            generation, model, context_of(seed), sampler=sampler, steps=3, batch=7, name=name
        )["samples"]

    assert np.array_equal(drawn(0), drawn(0))
    assert not np.array_equal(drawn(0), drawn(1))
    assert not np.array_equal(drawn(0), drawn(0, "other noise"))


def test_many_samples_go_to_disk(
    problem: Problem, context_of: ContextOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = read_problem(problem)
    whole = emit(generation, generation.base(), context_of(0), steps=2, batch=8)["samples"]
    monkeypatch.setattr(samples, "_STREAMED", 100)
    context = context_of(0)
    assert emit(generation, generation.base(), context, steps=2, batch=8) == {}
    assert [len(chunk) for chunk in context.emitted["samples"]] == [8, 8, 8, 6]
    assert np.array_equal(np.concatenate(context.emitted["samples"]), whole)


def test_the_model_stays_as_it_was(problem: Problem, context_of: ContextOf) -> None:
    generation = read_problem(problem)
    model = generation.base()
    emit(generation, model, context_of(0), steps=2)
    assert np.array_equal(to_vector(model), generation.base_weights)
    assert all(p.requires_grad and p.dtype == torch.float32 for p in model.parameters())


def test_half_precision_only_where_the_processor_has_it(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = read_problem(problem).base()
    for has, dtype in ((True, torch.bfloat16), (False, torch.float32)):
        monkeypatch.setattr(samples, "has_bfloat16", lambda has=has: has)
        frozen = for_sampling(model)
        assert {p.dtype for p in frozen.parameters()} == {dtype}
        assert not any(p.requires_grad for p in frozen.parameters())
    listed = tmp_path / "cpuinfo"
    assert not has_bfloat16(listed)
    for flags, expected in (("fpu amx_bf16", True), ("avx512f", False), ("avx512_bf16x", False)):
        listed.write_text(f"model name : avx512_bf16\nflags\t\t: {flags}\n")
        has_bfloat16.cache_clear()
        assert has_bfloat16(listed) is expected
    has_bfloat16.cache_clear()


def test_what_cannot_be_sampled_is_refused(problem: Problem) -> None:
    model = read_problem(problem).base()
    labels, generator = torch.zeros(2, dtype=torch.long), torch.Generator()
    sampler: Any = "heun"
    with pytest.raises(InputError, match="ode or sde"):
        next(generate(model, labels, generator, sampler=sampler))
    with pytest.raises(InputError, match="1 or more"):
        next(generate(model, labels, generator, batch=0))


@pytest.mark.gpu
def test_a_gpu_samples_the_same_classes(problem: Problem, context_of: ContextOf) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    generation = read_problem(problem, "cuda")
    found = emit(generation, generation.base(), context_of(0), steps=4, batch=30)["samples"]
    near = read_problem(problem)
    expected = emit(near, near.base(), context_of(0), steps=4, batch=30)["samples"]
    assert np.abs(found.astype(int) - expected.astype(int)).mean() < 3
