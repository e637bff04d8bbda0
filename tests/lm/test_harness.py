"""Any lm-eval model as a judge, through lm-eval's evaluator."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from podium.lm.causal import CausalJudge
from podium.lm.harness import judge
from podium.lm.levels import expected_level
from podium.lm.models import named_model
from podium.lm.prompts import judge_prompt, spelled_levels

SCALE = np.arange(1.0, 6.0)
TEXTS = ["good", "", "bad\nvery", "x" * 30, "so so"]


class Scripted:
    """A model of lm-eval's interface whose answers are functions of the prompt."""

    rank, world_size = 0, 1

    def __init__(
        self,
        write: Callable[[str], Any] = lambda _: "",
        likelihood: Callable[[str, str], Any] = lambda *_: -1.0,
    ) -> None:
        self.write, self.likelihood = write, likelihood
        self.asked: list[str] = []

    def generate_until(self, requests: list[Any]) -> list[Any]:
        self.asked += [request.args[0] for request in requests]
        return [self.write(request.args[0]) for request in requests]

    def loglikelihood(self, requests: list[Any]) -> list[Any]:
        return [(self.likelihood(*request.args), False) for request in requests]


def words_of(prompt: str) -> str:
    return prompt.partition("Text: ")[2].rpartition("\nScore (")[0]


def test_scores_are_read_from_what_the_model_writes() -> None:
    replies = {"good": "5", "": " 3/5", "bad\nvery": "Score: 1.5.", "x" * 30: "11", "so so": None}
    model = Scripted(lambda prompt: replies[words_of(prompt)])
    found = judge(model, "Rate.", TEXTS, SCALE)
    np.testing.assert_array_equal(found.scores, [5.0, 3.0, 1.5, math.nan, math.nan])
    assert found.raw.tolist() == ["5", " 3/5", "Score: 1.5.", "11", ""]
    assert found.distribution is None
    assert found.cut == 0
    assert model.asked == [judge_prompt("Rate.", text, SCALE) for text in TEXTS]


def test_a_model_that_says_nothing_has_no_score() -> None:
    for nothing in ("", None, "  "):
        found = judge(Scripted(lambda _, n=nothing: n), "Rate.", TEXTS, SCALE)  # type: ignore[misc]
        assert np.isnan(found.scores).all()


def test_the_dummy_of_lm_eval_has_no_score() -> None:
    found = judge(named_model("dummy"), "Rate.", TEXTS, SCALE)
    assert np.isnan(found.scores).all()
    assert set(found.raw.tolist()) == {"lol"}


def test_expectation_asks_for_every_level() -> None:
    table = np.log(np.random.default_rng(0).dirichlet(np.ones(5), size=len(TEXTS)))

    def likelihood(prompt: str, level: str) -> float:
        return float(table[TEXTS.index(words_of(prompt)), int(level) - 1])

    found = judge(Scripted(likelihood=likelihood), "Rate.", TEXTS, SCALE, reading="expectation")
    means, distribution = expected_level(table, SCALE)
    np.testing.assert_allclose(found.scores, means)
    assert found.distribution is not None
    np.testing.assert_allclose(found.distribution, distribution)
    np.testing.assert_allclose([json.loads(row) for row in found.raw.tolist()], table)


def test_likelihoods_that_are_none_are_no_answer() -> None:
    model = Scripted(likelihood=lambda *_: None)
    found = judge(model, "Rate.", TEXTS, SCALE, reading="expectation")
    assert np.isnan(found.scores).all()
    assert found.distribution is not None
    assert np.isnan(found.distribution).all()


def test_an_hf_model_agrees_with_the_same_model_read_by_us(tiny_model: Path) -> None:
    model = named_model(f"hf,pretrained={tiny_model},dtype=float32", batch=3)
    ours = CausalJudge(tiny_model, dtype="float32")
    prompts = [judge_prompt("Rate.", text, SCALE) for text in TEXTS]
    table = ours.log_likelihoods(prompts, spelled_levels(SCALE)).numpy()
    found = judge(model, "Rate.", TEXTS, SCALE, reading="expectation")
    np.testing.assert_allclose(found.scores, expected_level(table, SCALE)[0], atol=1e-5)
    written = judge(model, "Rate.", TEXTS, SCALE)
    assert written.raw.tolist() == ours.generate(prompts, tokens=16)


def test_a_model_with_a_chat_template_is_asked_in_a_chat(tiny_chat_model: Path) -> None:
    model = named_model(f"hf,pretrained={tiny_chat_model},dtype=float32")
    ours = CausalJudge(tiny_chat_model, dtype="float32")
    prompts = [judge_prompt("Rate.", text, SCALE) for text in TEXTS]
    assert judge(model, "Rate.", TEXTS, SCALE).raw.tolist() == ours.generate(prompts, tokens=16)


def test_a_text_longer_than_the_context_is_cut_and_counted(tiny_model: Path) -> None:
    model = named_model(f"hf,pretrained={tiny_model},dtype=float32,max_length=128")
    asked: list[str] = []
    generate = model.generate_until

    def listening(requests: list[Any], **options: Any) -> Any:
        asked.extend(request.args[0] for request in requests)
        return generate(requests, **options)

    model.generate_until = listening
    found = judge(model, "Rate.", ["short", "y" * 500], SCALE)
    assert found.cut == 1
    assert asked[0] == judge_prompt("Rate.", "short", SCALE)
    assert asked[1].startswith("Rate.")
    assert asked[1].endswith("(a number from 1 to 5):")
    assert 100 < len(asked[1]) <= 128 - 16
