"""A local model as a judge, against plain forward passes of the same model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from podium.errors import InputError
from podium.lm.causal import CausalJudge
from podium.lm.packages import package

PROMPTS = [
    f"Rate from 1 to 5.\n\nText: {text}\nScore:" for text in ("", "a", "so so", "x" * 40)
] * 5
LEVELS = ["1", "2", "3", "4", "5"]


def plain(folder: Path) -> tuple[Any, Any]:
    transformers = package("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder)).eval()
    return model, transformers.AutoTokenizer.from_pretrained(str(folder))


@torch.no_grad()
def likelihood(model: Any, prompt: list[int], continuation: list[int]) -> float:
    """Teacher forcing, one prompt at a time, nothing shared."""
    logits = model(torch.tensor([prompt + continuation])).logits[0].double()
    steps = torch.log_softmax(logits, dim=-1)[len(prompt) - 1 : -1]
    return float(steps.gather(1, torch.tensor(continuation)[:, None]).sum())


def test_log_likelihoods_are_those_of_teacher_forcing(tiny_model: Path) -> None:
    model, tokenizer = plain(tiny_model)
    found = CausalJudge(tiny_model, dtype="float32", batch=3).log_likelihoods(PROMPTS, LEVELS)
    for row, prompt in enumerate(PROMPTS[:4]):
        ids = tokenizer(prompt)["input_ids"]
        for column, level in enumerate(LEVELS):
            expected = likelihood(model, ids, tokenizer(f" {level}")["input_ids"])
            assert float(found[row, column]) == pytest.approx(expected, abs=1e-5)


def test_one_that_begins_ten_excludes_it(tiny_model: Path) -> None:
    model, tokenizer = plain(tiny_model)
    levels = [str(level) for level in range(1, 11)]
    found = CausalJudge(tiny_model, dtype="float32").log_likelihoods(PROMPTS[:1], levels)
    ids = tokenizer(PROMPTS[0])["input_ids"]
    one, ten = (likelihood(model, ids, tokenizer(f" {n}")["input_ids"]) for n in (1, 10))
    assert float(found[0, 9]) == pytest.approx(ten, abs=1e-5)
    assert float(found[0, 0]) == pytest.approx(np.log(np.exp(one) - np.exp(ten)), abs=1e-5)
    assert float(found[0].exp().sum()) <= 1.0


@pytest.mark.parametrize("levels", [LEVELS, ["-2", "-1", "0", "1", "2"]])
def test_the_batch_size_does_not_matter(tiny_model: Path, levels: list[str]) -> None:
    judges = [CausalJudge(tiny_model, dtype="float32", batch=batch) for batch in (1, 7, 64)]
    first, *rest = (judge.log_likelihoods(PROMPTS, levels) for judge in judges)
    written, *others = (judge.generate(PROMPTS, tokens=6) for judge in judges)
    for other in rest:
        assert float((other - first).abs().max()) < 1e-6 * max(1.0, float(first.abs().max()))
    assert all(other == written for other in others)


def test_greedy_text_is_that_of_transformers(tiny_model: Path) -> None:
    model, tokenizer = plain(tiny_model)
    found = CausalJudge(tiny_model, dtype="float32", batch=4).generate(PROMPTS, tokens=6)
    for prompt, text in zip(PROMPTS[:4], found[:4], strict=True):
        ids = tokenizer(prompt, return_tensors="pt")
        out = model.generate(**ids, max_new_tokens=6, do_sample=False, pad_token_id=1)
        expected = tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)
        assert text == expected.partition("\n")[0]
    assert len(set(found)) > 1


def test_the_order_of_prompts_does_not_matter(tiny_model: Path) -> None:
    judge = CausalJudge(tiny_model, dtype="float32", batch=4)
    there, back = judge.generate(PROMPTS), judge.generate(PROMPTS[::-1])
    assert there == back[::-1]


def test_one_prompt_alone_and_none(tiny_model: Path) -> None:
    judge = CausalJudge(tiny_model, dtype="float32")
    together = judge.log_likelihoods(PROMPTS, LEVELS)
    alone = judge.log_likelihoods(PROMPTS[2:3], LEVELS)
    assert float((together[2] - alone[0]).abs().max()) < 1e-5
    assert judge.generate([]) == []
    assert judge.log_likelihoods([], LEVELS).shape == (0, 5)


def test_prompts_that_share_nothing(tiny_model: Path) -> None:
    judge = CausalJudge(tiny_model, dtype="float32", batch=2)
    found = judge.log_likelihoods(["abc", "z", "0 1 2 3"], LEVELS)
    for row, prompt in enumerate(["abc", "z", "0 1 2 3"]):
        alone = judge.log_likelihoods([prompt], LEVELS)[0]
        assert float((found[row] - alone).abs().max()) < 1e-5


def test_a_chat_template_is_used(tiny_model: Path, tiny_chat_model: Path) -> None:
    chat = CausalJudge(tiny_chat_model, dtype="float32")
    bare = CausalJudge(tiny_model, dtype="float32")
    assert chat.count("hello") == len("<user>hello\n<assistant>")
    assert bare.count("hello") == 5
    found = chat.log_likelihoods(["hello"], ["1", "2"])
    model, tokenizer = plain(tiny_model)
    ids = tokenizer("<user>hello\n<assistant>")["input_ids"]
    expected = likelihood(model, ids, tokenizer("1")["input_ids"])
    assert float(found[0, 0]) == pytest.approx(expected, abs=1e-5)
    without = CausalJudge(tiny_chat_model, dtype="float32", chat=False)
    assert without.count("hello") == 5
    both = (judge.log_likelihoods(["hello"], ["1", "2"]) for judge in (without, bare))
    assert torch.equal(*both)


def test_bad_input_is_named(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no causal language model"):
        CausalJudge(tmp_path)
    with pytest.raises(InputError, match="bad batch"):
        CausalJudge(tiny_model, batch=0)
    with pytest.raises(InputError, match="cannot tell the levels apart"):
        CausalJudge(tiny_model).log_likelihoods(["a"], ["1", "1"])


def test_no_global_random_state_is_touched(tiny_model: Path) -> None:
    judge = CausalJudge(tiny_model, dtype="float32")
    before = torch.random.get_rng_state(), repr(np.random.get_state())
    judge.generate(PROMPTS[:2])
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert before[1] == repr(np.random.get_state())
