"""Any model of lm-eval as a judge, through lm-eval's own evaluator."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from podium.judging.parsing import read_score
from podium.lm.levels import Judgement, expected_level
from podium.lm.packages import package
from podium.lm.prompts import fitted_prompts, spelled_levels

Reading = Literal["decoded", "expectation"]

TASK = "podium_judge"
"""The name under which lm-eval sees the items."""
GENERATION: dict[str, Any] = {"until": ["\n"], "max_gen_toks": 16, "do_sample": False}
"""How a judge writes its number: greedily, up to the end of the line."""


def judge_task(prompts: Sequence[str], levels: npt.ArrayLike, reading: Reading) -> Any:
    """Return an lm-eval task object that holds the items themselves: nothing is looked up.

    Args:
        prompts: one for each item, in their order.
        levels: the scale, rising.
        reading: ``decoded``: the model writes its number (``generate_until``); ``expectation``:
            the log likelihood of every level is asked for.
    """
    datasets, tasks = package("datasets"), package("lm_eval.api.task")
    rows = [{"row": row, "prompt": prompt} for row, prompt in enumerate(prompts)]
    config: dict[str, Any] = {
        "task": TASK,
        "custom_dataset": lambda **_: {"test": datasets.Dataset.from_list(rows)},
        "test_split": "test",
        "doc_to_text": _prompt_of,
        "metric_list": [{"metric": "answered", "aggregation": "mean", "higher_is_better": True}],
    }
    if reading == "decoded":
        config |= {
            "output_type": "generate_until",
            "doc_to_target": _no_target,
            "generation_kwargs": dict(GENERATION),
            "process_results": _wrote_something,
        }
    else:
        config |= {
            "output_type": "multiple_choice",
            "doc_to_target": 0,
            "doc_to_choice": spelled_levels(levels),
            "process_results": _knows_a_level,
        }
    return tasks.ConfigurableTask(config=config)


def judge(
    model: Any,
    rubric: str,
    texts: Sequence[str],
    levels: npt.ArrayLike,
    *,
    reading: Reading = "decoded",
) -> Judgement:
    """Let an lm-eval model judge texts.

    A model with a chat template, or of a chat endpoint, is asked in a chat.

    Args:
        model: an instance of ``lm_eval.api.model.LM``.
        rubric: the instruction, and what the scale means.
        texts: what is to be judged, at least one; they may be empty.
        levels: the scale, float64 [levels], rising.
        reading: see ``judge_task``.

    Returns:
        Scores, NaN where the model wrote no number of the scale, and what it wrote.

    Raises:
        MissingError: lm-eval is not installed.
    """
    scale = np.asarray(levels, dtype=np.float64)
    chat = _chats(model)
    prompts, cut = fitted_prompts(
        rubric, texts, scale, room=_room(model), count=_counter(model, chat)
    )
    task = judge_task(prompts, scale, reading)
    found = package("lm_eval.evaluator").evaluate(
        lm=model,
        task_dict={TASK: task},
        bootstrap_iters=0,
        log_samples=True,
        apply_chat_template=chat,
    )
    samples = sorted(found["samples"][TASK], key=lambda sample: int(sample["doc"]["row"]))
    replies = [sample["filtered_resps"] for sample in samples]
    if reading == "decoded":
        words = [_text(reply[0]) for reply in replies]
        low, high = float(scale[0]), float(scale[-1])
        scores = np.array([read_score(text, low, high) for text in words], dtype=np.float64)
        return Judgement(scores, None, np.array(words, dtype=np.str_), cut)
    table = np.array([[_log_likelihood(pair) for pair in reply] for reply in replies])
    means, distribution = expected_level(table, scale)
    raw = [json.dumps([v if np.isfinite(v) else None for v in row]) for row in table.tolist()]
    return Judgement(means, distribution, np.array(raw, dtype=np.str_), cut)


def _prompt_of(doc: dict[str, Any]) -> str:
    return str(doc["prompt"])


def _no_target(doc: dict[str, Any]) -> str:  # noqa: ARG001 - lm-eval calls it with the item
    return ""


def _wrote_something(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, float]:  # noqa: ARG001
    return {"answered": float(bool(_text(results[0]).strip()))}


def _knows_a_level(doc: dict[str, Any], results: Sequence[Any]) -> dict[str, float]:  # noqa: ARG001
    return {"answered": float(any(np.isfinite(_log_likelihood(pair)) for pair in results))}


def _text(reply: Any) -> str:
    """Return what a model wrote; some endpoints answer with nothing at all."""
    return "" if reply is None else str(reply).replace("\0", "")


def _log_likelihood(pair: Any) -> float:
    return float("nan") if pair is None or pair[0] is None else float(pair[0])


def _chats(model: Any) -> bool:
    """Whether the model is to be asked in a chat."""
    if type(model).__name__.lower().endswith(("chatcompletion", "chat")):
        return True
    tokenizer = vars(model).get("tokenizer")
    return bool(getattr(tokenizer, "chat_template", None))


def _room(model: Any) -> int | None:
    """Return how many tokens a prompt may have; None where the model does not say."""
    context = getattr(model, "max_length", None)
    if not isinstance(context, int) or not hasattr(model, "tok_encode"):
        return None
    return max(1, context - int(GENERATION["max_gen_toks"]) - 1)


def _counter(model: Any, chat: bool) -> Callable[[str], int]:
    def count(prompt: str) -> int:
        if chat:
            prompt = str(model.apply_chat_template([{"role": "user", "content": prompt}]))
        return len(model.tok_encode(prompt))

    return count
