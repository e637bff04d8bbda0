"""The entries that ask language models."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.baselines.lm import method as lm
from podium.baselines.smollm2 import method as smollm2
from podium.contracts import Problem
from podium.data.resolver import Resolver
from podium.declarations.task import FileSpec
from podium.errors import MissingError
from podium.lm.causal import CausalJudge
from podium.lm.gguf import gguf_checkpoint
from podium.lm.levels import expected_level
from podium.lm.prompts import judge_prompt, spelled_levels
from podium.registry.registry import load_registry

SCALE = np.arange(-4.0, 5.0)
TEXTS = [
    "I love this, it is wonderful!",
    "Terrible. I hated every minute of it.",
    "The meeting is at ten.",
    "",
] * 4


def items(texts: list[str]) -> Problem:
    count = len(texts)
    none = np.zeros((0, 1), dtype=np.float32)
    public: dict[str, Any] = {
        "ids": np.array([f"item-{row}" for row in range(count)]),
        "texts": np.array(texts),
        "rubric": np.array(["Rate the sentiment from -4 (negative) to 4 (positive)."]),
        "levels": SCALE,
        "train_texts": np.zeros(0, dtype=np.str_),
        "train_scores": np.zeros(0),
        "features": np.zeros((count, 1, 1), dtype=np.float32),
        "train_features": none[:, :, None],
        "lengths": np.ones(count, dtype=np.int64),
        "train_lengths": np.zeros(0, dtype=np.int64),
        "embeddings": np.zeros((count, 1), dtype=np.float32),
        "train_embeddings": none,
    }
    return Problem(task="judge_correlation", id="mine", tier="smoke", public=public)


class Surroundings:
    """A context with the files of SmolLM2."""

    device, threads, scratch, budget_left = "cpu", 1, Path("unused"), math.inf

    def __init__(self, files: tuple[FileSpec, ...] = ()) -> None:
        self.files = Resolver(files)
        self.logged: dict[str, float] = {}

    def log(self, step: int, **values: float) -> None:
        self.logged |= {"step": step, **values}

    def rng(self, name: str) -> np.random.Generator:
        raise AssertionError(name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        raise AssertionError(name, device)

    def progress(self, done: float, total: float, note: str = "") -> None: ...

    def emit(self, name: str, chunk: np.ndarray) -> None: ...


@pytest.mark.parametrize("reading", ["decoded", "expectation"])
def test_a_model_of_lm_eval(tiny_model: Path, reading: Any) -> None:
    context = Surroundings()
    found = lm.run(items(TEXTS), context, model=f"hf,pretrained={tiny_model}", reading=reading)
    assert set(found) == {"ids", "scores", "raw"} | (
        {"distribution"} if reading == "expectation" else set()
    )
    assert found["raw"].shape == found["scores"].shape == (len(TEXTS),)
    assert context.logged == {"step": 0, "texts_cut": 0}
    if reading == "expectation":
        np.testing.assert_allclose(found["distribution"].sum(axis=1), 1.0)
        assert np.isfinite(found["scores"]).all()


@pytest.fixture(scope="module")
def smol() -> tuple[FileSpec, ...]:
    """The file of SmolLM2, where it lies on this machine."""
    files = load_registry(plugins=False).entry("smollm2").spec.file.files
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PODIUM_OFFLINE", "1")
        try:
            Resolver(files).path(smollm2.FILE)
        except MissingError as missing:
            pytest.skip(f"SmolLM2 is not on this machine: {missing.what}")
    return files


def test_smollm2_tells_love_from_hate(smol: tuple[FileSpec, ...]) -> None:
    found = smollm2.run(items(TEXTS), Surroundings(smol), reading="expectation")
    np.testing.assert_allclose(found["distribution"].sum(axis=1), 1.0)
    assert found["scores"][0] > found["scores"][1]
    np.testing.assert_allclose(found["scores"][:4], found["scores"][4:8], atol=0.05)  # bfloat16
    written = smollm2.run(items(TEXTS[:8]), Surroundings(smol))
    print(written["raw"].tolist())
    assert np.isfinite(written["scores"]).mean() >= 0.5


def test_smollm2_does_not_depend_on_the_batch(smol: tuple[FileSpec, ...]) -> None:
    folder = gguf_checkpoint(Resolver(smol).path(smollm2.FILE), "smollm2-135m-instruct")
    prompts = [judge_prompt("Rate.", text, SCALE) for text in TEXTS[:7]]
    tables = [
        CausalJudge(folder, dtype="float32", batch=batch, chat=False).log_likelihoods(
            prompts, spelled_levels(SCALE)
        )
        for batch in (1, 7)
    ]
    one, seven = (expected_level(table.numpy(), SCALE)[1] for table in tables)
    # Thirty layers of single precision: a few times the 1e-6 that small models keep.
    np.testing.assert_allclose(one, seven, rtol=0, atol=5e-6)


@pytest.mark.performance
@pytest.mark.parametrize("reading", ["decoded", "expectation"])
def test_smollm2_judges_twelve_items_per_cpu_second(
    smol: tuple[FileSpec, ...], reading: str
) -> None:
    folder = gguf_checkpoint(Resolver(smol).path(smollm2.FILE), "smollm2-135m-instruct")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = CausalJudge(folder, chat=False)
        prompts = [
            judge_prompt("Rate it.", f"{text} {row}", SCALE) for row, text in enumerate(TEXTS * 6)
        ]
        start = time.process_time()
        if reading == "decoded":
            model.generate(prompts)
        else:
            model.log_likelihoods(prompts, spelled_levels(SCALE))
        rate = len(prompts) / (time.process_time() - start)
    finally:
        torch.set_num_threads(before)
    print(f"{reading}: {rate:.1f} items per CPU-second")
    assert rate >= 12
