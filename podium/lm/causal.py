"""A causal language model of transformers as a judge: batched, greedy, and read at its logits."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from podium.errors import InputError
from podium.lm.packages import offline, package

DType = Literal["float32", "bfloat16"]
Tokens = tuple[int, ...]


@dataclass
class _State:
    """A batch after some tokens: its cache, which tokens are no padding, the last logits."""

    cache: Any
    mask: Tensor
    logits: Tensor


class CausalJudge:
    """A model and its tokenizer, from a local folder.

    Prompts that begin alike, as those of one rubric do, share one forward pass over what they
    have in common. Only the last position's logits are computed. Answers do not depend on the
    batch size, up to rounding.

    Args:
        folder: where ``save_pretrained`` wrote the model and the tokenizer.
        dtype: what it computes in.
        device: a torch device.
        batch: prompts at a time.
        chat: whether prompts go through the tokenizer's chat template; None: if it has one.

    Raises:
        InputError: the folder holds no such model.
        MissingError: transformers is not installed.
    """

    def __init__(
        self,
        folder: Path,
        *,
        dtype: DType = "bfloat16",
        device: str = "cpu",
        batch: int = 8,
        chat: bool | None = None,
    ) -> None:
        if batch < 1:
            raise InputError("bad batch", where="batch", expected="1 or more", found=str(batch))
        with offline():
            transformers = package("transformers")
            try:
                self._tokenizer = transformers.AutoTokenizer.from_pretrained(
                    str(folder), local_files_only=True
                )
                model = transformers.AutoModelForCausalLM.from_pretrained(
                    str(folder), dtype=getattr(torch, dtype), local_files_only=True
                )
            except (OSError, ValueError) as error:
                raise InputError(
                    "this folder holds no causal language model",
                    where=str(folder),
                    expected="what save_pretrained writes: config.json, weights, tokenizer",
                    found=" ".join(str(error).split())[:200],
                ) from error
        self._model = model.to(device).eval()
        # The cache's name as an argument and in the output changed within transformers 5.
        arguments = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in arguments else "past_key_values"
        self._device = device
        self._batch = batch
        self._chat = bool(self._tokenizer.chat_template) if chat is None else chat
        ends = getattr(model.generation_config, "eos_token_id", None)
        ends = ends if isinstance(ends, list) else [ends]
        self._ends = {e for e in (*ends, self._tokenizer.eos_token_id) if e is not None}

    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have."""
        return int(self._model.config.max_position_embeddings)

    def count(self, prompt: str) -> int:
        """Return how many tokens a prompt has, chat template included."""
        return len(self._encode(prompt))

    @torch.inference_mode()
    def generate(self, prompts: Sequence[str], *, tokens: int = 8) -> list[str]:
        """Return what the model writes after each prompt, up to the end of the line.

        Greedy: the likeliest token each time, at most ``tokens`` of them.
        """
        answers = [""] * len(prompts)
        for rows, state in self._states(prompts):
            written: list[list[int]] = [[] for _ in rows]
            running = torch.ones(len(rows), dtype=torch.bool)
            for step in range(tokens):
                chosen = state.logits.argmax(dim=-1)
                for place, token in enumerate(chosen.tolist()):
                    if running[place] and token not in self._ends:
                        written[place].append(token)
                        running[place] = "\n" not in self._tokenizer.decode([token])
                    else:
                        running[place] = False
                if not running.any() or step == tokens - 1:
                    break
                self._extend(state, chosen[:, None])
            for row, ids in zip(rows, written, strict=True):
                text = self._tokenizer.decode(ids, skip_special_tokens=True)
                answers[row] = text.partition("\n")[0]
        return answers

    @torch.inference_mode()
    def log_likelihoods(self, prompts: Sequence[str], continuations: Sequence[str]) -> Tensor:
        r"""Return the log likelihood of each continuation after each prompt.

        Natural logarithms, float64 [prompts, continuations]. Where one continuation begins
        another, as 1 begins 10, its likelihood is that of going on with none of the longer ones.

        Raises:
            InputError: two continuations that are the same tokens, or one that has none.
        """
        spelled = [self._continuation(text) for text in continuations]
        if len(set(spelled)) < len(spelled) or not all(spelled):
            raise InputError(
                "the model's tokenizer cannot tell the levels apart",
                where="levels",
                found=", ".join(continuations),
            )
        prefixes = sorted({ids[:cut] for ids in spelled for cut in range(len(ids))}, key=len)
        result = torch.empty(len(prompts), len(spelled), dtype=torch.float64)
        for rows, state in self._states(prompts):
            after: dict[Tokens, Tensor] = {(): torch.log_softmax(state.logits.double(), dim=-1)}
            for prefix in prefixes[1:]:
                here = _State(copy.deepcopy(state.cache), state.mask, state.logits)
                self._extend(here, torch.tensor([prefix], device=self._device).repeat(len(rows), 1))
                after[prefix] = torch.log_softmax(here.logits.double(), dim=-1)
            for column, ids in enumerate(spelled):
                steps = [after[ids[:cut]][:, ids[cut]] for cut in range(len(ids))]
                value = torch.stack(steps).sum(dim=0)
                if ids in after:
                    longer = {s[len(ids)] for s in spelled if s[: len(ids)] == ids != s}
                    rest = after[ids][:, sorted(longer)].exp().sum(dim=-1)
                    value = value + torch.log1p(-rest.clamp(max=1.0))
                result[rows, column] = value.cpu()
        return result

    def _encode(self, prompt: str) -> list[int]:
        if self._chat:
            prompt = self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}], add_generation_prompt=True, tokenize=False
            )
            return list(self._tokenizer(prompt, add_special_tokens=False)["input_ids"])
        return list(self._tokenizer(prompt)["input_ids"])

    def _continuation(self, text: str) -> Tokens:
        # After a chat template the answer begins a line, else it follows "...:".
        written = text if self._chat else f" {text}"
        return tuple(self._tokenizer(written, add_special_tokens=False)["input_ids"])

    def _states(self, prompts: Sequence[str]) -> Iterator[tuple[list[int], _State]]:
        """Yield batches of rows of like length, and the model's state after their prompts."""
        encoded = [self._encode(prompt) for prompt in prompts]
        if not encoded:
            return
        shared = _common(encoded)
        cache = None
        if shared:
            start = torch.tensor([encoded[0][:shared]], device=self._device)
            out = self._model(start, use_cache=True, logits_to_keep=1)
            cache = getattr(out, self._cache_name)
        order = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
        for first in range(0, len(order), self._batch):
            rows = order[first : first + self._batch]
            yield rows, self._start([encoded[row][shared:] for row in rows], shared, cache)

    def _start(self, encoded: list[list[int]], shared: int, cache: Any) -> _State:
        """Run the model over prompts, padded on the left, after what they share."""
        size, width = len(encoded), max(map(len, encoded))
        ids = torch.zeros(size, width, dtype=torch.long)
        mask = torch.zeros(size, shared + width, dtype=torch.long)
        mask[:, :shared] = 1
        for row, tokens in enumerate(encoded):
            ids[row, width - len(tokens) :] = torch.tensor(tokens)
            mask[row, shared + width - len(tokens) :] = 1
        if cache is None:
            cache = package("transformers").DynamicCache(config=self._model.config)
        else:
            cache = copy.deepcopy(cache)
            cache.batch_repeat_interleave(size)
        state = _State(cache, mask[:, :shared].to(self._device), torch.empty(0))
        self._extend(state, ids.to(self._device), mask[:, shared:].to(self._device))
        return state

    def _extend(self, state: _State, ids: Tensor, kept: Tensor | None = None) -> None:
        """Append tokens [batch, tokens] to every row; ``kept`` is 0 for padding."""
        state.mask = torch.cat([state.mask, torch.ones_like(ids) if kept is None else kept], dim=1)
        positions = (state.mask.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self._model(
            ids,
            attention_mask=state.mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=1,
            **{self._cache_name: state.cache},
        )
        state.cache = getattr(out, self._cache_name)
        state.logits = out.logits[:, -1].float()


def _common(encoded: list[list[int]]) -> int:
    """Return how many tokens all prompts begin with, short of the shortest by one or more."""
    first, last = min(encoded), max(encoded)
    limit = min(map(len, encoded)) - 1
    same = 0
    while same < limit and first[same] == last[same]:
        same += 1
    return same
