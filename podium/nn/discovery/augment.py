"""Two random views of every sample, made of its tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Views:
    """How a view is drawn: it keeps a random share of the tokens, as a crop does of an image.

    ``keep``: share of the tokens. ``noise``: spread of Gaussian noise on each, in units of the
    spread of all tokens. ``dropout``: chance of a feature to be left out, in all tokens of a view.
    """

    keep: float = 0.75
    noise: float = 0.1
    dropout: float = 0.1

    def draw(
        self,
        tokens: torch.Tensor,
        class_tokens: torch.Tensor | None,
        index: torch.Tensor,
        generator: torch.Generator,
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Draw two views of the samples ``index`` [batch].

        Args:
            tokens: of all samples [samples, token, D].
            class_tokens: of all samples [samples, D], or None.
            index: which samples.
            generator: on the device of the tokens.

        Returns:
            Tokens [2 batch, kept, D], view-major, and class tokens [2 batch, D] or None.
        """
        both = index.repeat(2)
        count, features = tokens.shape[1:]
        kept = max(1, round(self.keep * count))
        rows = len(both)
        order = torch.rand(rows, count, generator=generator, device=tokens.device)
        chosen = order.topk(kept, dim=1, sorted=False).indices
        # One gather from all tokens: no copy of the batch with all its tokens is made.
        flat = (both[:, None] * count + chosen).flatten()
        view = tokens.flatten(0, 1).index_select(0, flat).view(rows, kept, features)
        scale = self._scale(rows, features, tokens, generator)
        view.add_(self._noise(view, generator)).mul_(scale[:, None])
        if class_tokens is None:
            return view, None
        summary = class_tokens.index_select(0, both)
        return view, summary.add_(self._noise(summary, generator)).mul_(scale)

    def _scale(
        self, rows: int, features: int, like: torch.Tensor, generator: torch.Generator
    ) -> torch.Tensor:
        """Zero for a feature left out; the others grow so that the mean stays."""
        drawn = torch.rand(rows, features, generator=generator, device=like.device)
        return (drawn >= self.dropout).to(like.dtype).div_(1 - self.dropout)

    def _noise(self, like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        drawn = torch.randn(like.shape, generator=generator, device=like.device, dtype=like.dtype)
        return drawn.mul_(self.noise)
