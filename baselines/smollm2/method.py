"""Ask SmolLM2 for a score of each text, and read it from its words or from its logits."""

from __future__ import annotations

from typing import Literal

from podium.contracts import FilesContext, Prediction, Problem
from podium.judging.items import answers, read_items
from podium.lm.causal import CausalJudge
from podium.lm.gguf import gguf_checkpoint
from podium.lm.reading import judged

FILE = "smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def run(
    problem: Problem,
    context: FilesContext,
    *,
    reading: Literal["decoded", "expectation"] = "decoded",
    dtype: Literal["float32", "bfloat16"] = "bfloat16",
    batch: int = 8,
    chat: bool = False,
) -> Prediction:
    """Judge every text zero-shot.

    The weights are 4-bit ones, taken back to bfloat16: not the official model's.

    Args:
        problem: the items; what is for training is left alone.
        context: the device and the file of the model.
        reading: the number that the model writes, or its expectation under the probabilities of
            the written levels.
        dtype: what the model computes in.
        batch: prompts at a time.
        chat: whether it is asked in a chat. As a text to go on with, its expectation agrees better
            with scores of train texts: Pearson .17 against -.06 on 120 tweets, in almost the words
            that are used now.

    Source: the model's card; expectation: Lukasik et al., EMNLP Findings 2024, section 4.
    """
    items = read_items(problem)
    folder = gguf_checkpoint(context.files.path(FILE), "smollm2-135m-instruct")
    model = CausalJudge(folder, dtype=dtype, device=context.device, batch=batch, chat=chat)
    texts = [str(text) for text in items.texts]
    found = judged(model, items.rubric, texts, items.levels, reading=reading)
    context.log(0, texts_cut=found.cut)
    return {**answers(items, found.scores, found.distribution), "raw": found.raw}
