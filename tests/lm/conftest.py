"""A language model of a few thousand parameters, with a tokenizer of single characters."""

from __future__ import annotations

import os
import string
from pathlib import Path
from typing import Any

import pytest
import torch

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read once, when huggingface_hub is imported
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")

CHAT = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def save_tiny_model(folder: Path, *, chat: bool = False, context: int = 512, seed: int = 0) -> Path:
    """Write a random llama and its tokenizer; the same for the same seed."""
    from podium.lm.packages import package

    transformers = package("transformers")
    tokenizers: Any = package("tokenizers")
    characters = ["<unk>", "<end>", *string.printable]
    vocabulary = {character: number for number, character in enumerate(characters)}
    raw = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"[\s\S]"), "isolated")
    raw.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, unk_token="<unk>", eos_token="<end>", pad_token="<end>"
    )
    if chat:
        tokenizer.chat_template = CHAT
    config = transformers.LlamaConfig(
        vocab_size=len(characters),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=context,
        initializer_range=0.6,  # far from uniform
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=1,
        dtype="float32",
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.LlamaForCausalLM(config)
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model."""
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny_chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a chat template."""
    return save_tiny_model(tmp_path_factory.mktemp("chat"), chat=True)


@pytest.fixture(scope="session")
def number_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that goes on with a digit from 0 to 4, which depends on the text."""
    from podium.lm.packages import package
    from podium.lm.prompts import judge_prompt

    transformers = package("transformers")
    folder = save_tiny_model(tmp_path_factory.mktemp("numbers"), seed=3)
    model = transformers.AutoModelForCausalLM.from_pretrained(str(folder))
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    digits = [2 + string.printable.index(c) for c in "01234"]
    prompts = [judge_prompt("Rate it.", f"text {row}: {{x}} % é", [-4, 4]) for row in range(16)]
    with torch.no_grad():
        states = [
            model.model(torch.tensor([tokenizer(p)["input_ids"]])).last_hidden_state[0, -1]
            for p in prompts
        ]
        common = torch.stack(states).mean(dim=0)
        common /= common.norm()
        # What all prompts have in common decides nothing; no other character is ever likely.
        rows = model.lm_head.weight[digits].clone()
        rows -= (rows @ common)[:, None] * common
        model.lm_head.weight.zero_()
        model.lm_head.weight[:] = -100 * common
        model.lm_head.weight[digits] = rows
    model.save_pretrained(str(folder))
    return folder
