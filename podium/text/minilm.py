"""all-MiniLM-L6-v2: a frozen encoder of sentences, written out in torch."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from podium.data.damage import DAMAGED_ZIP
from podium.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

WIDTH = 384
"""Components of a token, and of a sentence."""
LONGEST = 512
"""The most tokens it can read."""

_SHORTEST = 3  # [CLS], one token, [SEP]
_LAYERS = 6
_HEADS = 12
_INNER = 1536
_WORDS = 30522
_EPS = 1e-12
_BATCH = 32


@dataclass(frozen=True)
class Encoded:
    """Texts as tokens and as sentences.

    Attributes:
        tokens: float32 [tokens of all texts, 384], text after text, without padding.
        lengths: tokens of each text, int64 [texts].
        embeddings: float32 [texts, 384], the mean of a text's tokens, scaled to length 1.
    """

    tokens: Floats
    lengths: Ints
    embeddings: Floats


class MiniLM:
    """The encoder with its published weights.

    A text is cut to a number of word pieces, the first one ``[CLS]`` and the last ``[SEP]``; an
    empty text has these two. How texts are batched does not matter beyond rounding.

    Raises:
        InputError: the file is not the published archive.

    Source: Wang et al., NeurIPS 2020 (MiniLM); Reimers and Gurevych, EMNLP 2019 (mean pooling).
    """

    def __init__(self, archive: Path) -> None:
        import safetensors
        import safetensors.torch
        from tokenizers import Tokenizer

        try:
            with zipfile.ZipFile(archive) as bundle:
                weights = safetensors.torch.load(bundle.read("model.safetensors"))
                self._tokenizer: Tokenizer = Tokenizer.from_buffer(bundle.read("tokenizer.json"))
            self._network = _Encoder()
            weights.pop("embeddings.position_ids", None)
            kept = {name: w for name, w in weights.items() if not name.startswith("pooler.")}
            self._network.load_state_dict({_renamed(name): w.float() for name, w in kept.items()})
        except (*DAMAGED_ZIP, KeyError, safetensors.SafetensorError) as error:
            raise InputError(
                "not the archive of all-MiniLM-L6-v2",
                where=str(archive),
                expected="a zip file with model.safetensors and tokenizer.json",
                found=" ".join(str(error).split())[:200],
            ) from error
        self._network.eval().requires_grad_(False)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str], *, longest: int, batch: int = _BATCH) -> Encoded:
        """Encode texts.

        Args:
            texts: any texts; characters that UTF-8 cannot hold are read as "?".
            longest: the most tokens of a text, 3 to 512; what is beyond is cut.
            batch: texts that are computed at once.

        Raises:
            InputError: a bad number of tokens.
        """
        if not _SHORTEST <= longest <= LONGEST:
            raise InputError(
                "bad number of tokens",
                where="longest",
                expected=f"{_SHORTEST} to {LONGEST}",
                found=str(longest),
            )
        self._tokenizer.enable_truncation(longest)
        plain = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        pieces = [found.ids for found in self._tokenizer.encode_batch(plain)]
        lengths = np.array([len(ids) for ids in pieces], dtype=np.int64)
        ends = np.cumsum(lengths)
        tokens = np.empty((int(lengths.sum()), WIDTH), dtype=np.float32)
        embeddings = np.empty((len(pieces), WIDTH), dtype=np.float32)
        # Texts of a similar length share a batch: less padding, and the same numbers.
        order = np.argsort(lengths, kind="stable")
        for start in range(0, len(pieces), batch):
            rows = order[start : start + batch]
            for row, found in zip(rows, self._forward([pieces[row] for row in rows]), strict=True):
                tokens[ends[row] - lengths[row] : ends[row]] = found
                mean = found.mean(axis=0, dtype=np.float64)
                embeddings[row] = mean / np.linalg.norm(mean)
        return Encoded(tokens, lengths, embeddings)

    def _forward(self, pieces: list[list[int]]) -> list[Floats]:
        lengths = [len(ids) for ids in pieces]
        ids = torch.zeros((len(pieces), max(lengths)), dtype=torch.int64)
        for row, found in zip(ids, pieces, strict=True):
            row[: len(found)] = torch.tensor(found)
        real = torch.arange(ids.shape[1])[None, :] < torch.tensor(lengths)[:, None]
        with torch.inference_mode():
            states = self._network(ids, real).numpy()
        return [row[:length] for row, length in zip(states, lengths, strict=True)]


class _Encoder(nn.Module):
    """BERT of 6 layers, without its pooler."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(_WORDS, WIDTH)
        self.positions = nn.Embedding(LONGEST, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=_EPS)
        self.layers = nn.ModuleList(_Layer() for _ in range(_LAYERS))

    def forward(self, ids: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        positions = self.positions(torch.arange(ids.shape[1]))
        states: torch.Tensor = self.norm(self.words(ids) + positions + self.types.weight[0])
        for layer in self.layers:
            states = layer(states, real[:, None, None, :])
        return states


class _Layer(nn.Module):
    """Self-attention and a feed-forward network, each normalised after its residual sum."""

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.mix_norm = nn.LayerNorm(WIDTH, eps=_EPS)
        self.up = nn.Linear(WIDTH, _INNER)
        self.down = nn.Linear(_INNER, WIDTH)
        self.down_norm = nn.LayerNorm(WIDTH, eps=_EPS)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            part(states).unflatten(-1, (_HEADS, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        states = self.mix_norm(states + self.mix(mixed.transpose(1, 2).flatten(2)))
        found: torch.Tensor = self.down_norm(
            states + self.down(nn.functional.gelu(self.up(states)))
        )
        return found


_NAMES = (
    ("embeddings.word_embeddings.", "words."),
    ("embeddings.position_embeddings.", "positions."),
    ("embeddings.token_type_embeddings.", "types."),
    ("embeddings.LayerNorm.", "norm."),
    ("encoder.layer.", "layers."),
    ("attention.self.", ""),
    ("attention.output.dense.", "mix."),
    ("attention.output.LayerNorm.", "mix_norm."),
    ("intermediate.dense.", "up."),
    ("output.dense.", "down."),
    ("output.LayerNorm.", "down_norm."),
)


def _renamed(name: str) -> str:
    """Return the name that a published weight has here."""
    for theirs, ours in _NAMES:
        name = name.replace(theirs, ours)
    return name
