"""A small transformer that reads an item, writes reasoning symbols, then a score."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from podium.nn.discovery.layers import linear, normalised


@dataclass(frozen=True)
class Memory:
    """What the judge keeps of a batch of items.

    ``keys`` and ``values``: [batch, head, token, features of a head]. ``padding``: what is added to
    scores of attention [batch, 1, 1, token]: 0, or minus infinity at tokens that are padding.
    """

    keys: torch.Tensor
    values: torch.Tensor
    padding: torch.Tensor


class Judge(nn.Module):
    r"""The policy :math:`\pi(c \mid x)\,\pi(k \mid x, c)` of reasoning c and a level k.

    A position is the start or one of the symbols written so far. It attends to itself and what came
    before, then to the tokens of the item, and goes through a layer of hidden units; what comes out
    names the next symbol, or after the last one the level. Symbols are the only way from one
    position to the next, as in a language model: without reasoning the start alone gives the score.

    Args:
        features: of a token of an item.
        tokens: at most, of an item.
        levels: of the scale.
        symbols: of the reasoning.
        length: of the longest reasoning.
        width: of the network; its hidden layer has twice as many units.
        heads: of its attention; divides ``width``.
        generator: draws the initial values, on the CPU.
    """

    def __init__(
        self,
        features: int,
        tokens: int,
        levels: int,
        *,
        symbols: int,
        length: int,
        width: int,
        heads: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.heads, self.length = heads, length
        self.embedding = _drawn(symbols + 1, width, generator)
        self.positions = _drawn(length + 1, width, generator)
        self.places = _drawn(tokens, width, generator)
        self.reader = linear(features, width, generator)
        self.own = nn.ModuleList(linear(width, width, generator) for _ in range(4))
        self.item = nn.ModuleList(linear(width, width, generator) for _ in range(4))
        self.gate, self.hidden = (linear(width, 2 * width, generator) for _ in range(2))
        self.output = linear(2 * width, width, generator)
        self.symbol_head = linear(width, symbols, generator)
        self.level_head = linear(width, levels, generator)

    def read(self, features: torch.Tensor, lengths: torch.Tensor) -> Memory:
        """Read items once, for any number of reasonings about them.

        Args:
            features: [batch, token, features].
            lengths: int64 [batch], tokens that are not padding, at least 1.
        """
        count = features.shape[1]
        tokens = normalised(self.reader(features) + self.places[:count])
        padded = torch.arange(count, device=lengths.device) >= lengths[:, None]
        padding = torch.zeros(padded.shape, dtype=features.dtype, device=features.device)
        padding = padding.masked_fill(padded, -torch.inf)[:, None, None]
        return Memory(self._split(self.item[1](tokens)), self._split(self.item[2](tokens)), padding)

    def write(
        self,
        memory: Memory,
        samples: int,
        length: int,
        generator: torch.Generator | None = None,
    ) -> torch.Tensor:
        """Return reasonings, int64 [batch, samples, length]; the most likely symbols if greedy.

        Args:
            memory: of the items.
            samples: reasonings an item.
            length: symbols a reasoning.
            generator: draws the symbols, on the device of the judge; None to be greedy.
        """
        batch = len(memory.keys)
        written = torch.empty(batch, samples, 0, dtype=torch.int64, device=memory.keys.device)
        with torch.no_grad():
            for _ in range(length):
                logits = self.symbol_head(self._states(memory, written, last=True)[:, :, 0])
                if generator is None:
                    symbols = logits.argmax(-1)
                else:
                    chances = logits.softmax(-1).flatten(0, 1)
                    drawn = torch.multinomial(chances, 1, generator=generator)
                    symbols = drawn.view(batch, samples)
                written = torch.cat([written, symbols[:, :, None]], -1)
        return written

    def forward(self, memory: Memory, reasoning: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        r"""Return the log-probabilities of reasonings and of the levels after them.

        Args:
            memory: of the items.
            reasoning: c, int64 [batch, samples, length].

        Returns:
            :math:`\log\pi(c\mid x)` [batch, samples] and :math:`\log\pi(k\mid x,c)`
            [batch, samples, levels].
        """
        states = self._states(memory, reasoning)
        symbols = self.symbol_head(states[:, :, :-1]).log_softmax(-1)
        written = symbols.gather(-1, reasoning[..., None]).squeeze(-1).sum(-1)
        return written, self.level_head(states[:, :, -1]).log_softmax(-1)

    def _states(
        self, memory: Memory, reasoning: torch.Tensor, *, last: bool = False
    ) -> torch.Tensor:
        """Return what comes out of every position, or the last: [batch, samples, position, D]."""
        batch, samples, length = reasoning.shape
        # The start is symbol 0 of the embedding, the judge's own symbols come after it.
        symbols = nn.functional.pad(reasoning + 1, (1, 0)).flatten(0, 1)
        inputs = self.embedding[symbols] + self.positions[: length + 1]
        states = inputs[:, -1:] if last else inputs
        query, key, value, merge = self.own
        seen = normalised(inputs)
        attended = nn.functional.scaled_dot_product_attention(
            self._split(query(seen[:, -1:] if last else seen)),
            self._split(key(seen)),
            self._split(value(seen)),
            is_causal=not last,
        )
        states = states + merge(attended.transpose(1, 2).flatten(2))
        # All positions of all reasonings about an item ask its tokens at once.
        states = states.view(batch, -1, states.shape[-1])
        query, _, _, merge = self.item
        queries = self._split(query(normalised(states)))
        scores = queries @ memory.keys.mT * queries.shape[-1] ** -0.5 + memory.padding
        read = scores.softmax(-1) @ memory.values
        states = states + merge(read.transpose(1, 2).flatten(2))
        seen = normalised(states)
        # Gated: what has been written says what to look for in the item.
        hidden = nn.functional.gelu(self.gate(seen)) * self.hidden(seen)
        states = normalised(states + self.output(hidden))
        return states.view(batch, samples, -1, states.shape[-1])

    def _split(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, row, D] to [batch, head, row, D / heads]."""
        batch, rows, _ = values.shape
        return values.view(batch, rows, self.heads, -1).transpose(1, 2)


def _drawn(rows: int, width: int, generator: torch.Generator) -> nn.Parameter:
    # Small beside what is read of an item, which would else be lost in the normalisation.
    return nn.Parameter(0.2 * torch.randn(rows, width, generator=generator))
