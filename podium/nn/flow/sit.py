"""SiT: a transformer that predicts the velocity of a flow from noise to pictures."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from podium.nn.discovery.layers import linear, normalised
from podium.nn.flow.architecture import Architecture

FREQUENCIES = 64
"""Length of the sinusoidal embedding of time."""

_FASTEST = 100.0
_EARLIEST = 0.05
_EXPANSION = 2
_SMALL = 0.02


class SiT(nn.Module):
    r"""A class-conditional flow transformer with adaLN-zero blocks.

    The path is linear, with pictures :math:`x_0` at time 0 and noise :math:`\epsilon` at time 1:

    .. math:: x_t = (1 - t)\, x_0 + t\, \epsilon, \qquad v(x_t, t) = E[\epsilon - x_0 \mid x_t]

    so a sampler integrates :math:`dx = v\, dt` from t = 1 down to t = 0. Patches become tokens
    with a learned place; time and class give shift, scale and gate of every block. All gates and
    the last layer start at 0.

    The network predicts the picture, and the velocity follows from it:

    .. math:: v = (x_t - \hat x_0(x_t, t)) / \max(t, 0.05)

    A patch of 49 or 192 numbers holds more noise than a narrow token can carry from the first to
    the last layer; the picture behind it fits. An untrained network says :math:`\hat x_0 = 0`.

    Args:
        architecture: its size.
        generator: what the first weights are drawn from; without one they are all 0, for weights
            that are loaded afterwards.

    Source: Ma et al., SiT (ECCV 2024), sections 2 and 3.5; blocks of Peebles and Xie, Scalable
    Diffusion Models with Transformers (ICCV 2023), section 3.2; the prediction of the picture and
    its bound of .05 from Li and He, Back to Basics: Let Denoising Generative Models Denoise
    (arXiv 2511.13720).
    """

    def __init__(
        self, architecture: Architecture, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        self.architecture = architecture
        width, size = architecture.dimension, architecture.token_size

        def layer(inputs: int, outputs: int, *, zero: bool = False) -> nn.Linear:
            if generator is None:
                return linear(inputs, outputs, torch.Generator(), zero=True)
            return linear(inputs, outputs, generator, zero=zero)

        def table(rows: int) -> nn.Parameter:
            values = torch.zeros(rows, width)
            if generator is not None:
                values.normal_(0.0, _SMALL, generator=generator)
            return nn.Parameter(values)

        self.enter = layer(size, width)
        self.places = table(architecture.tokens)
        self.classes = table(architecture.classes)
        self.time = nn.ModuleList([layer(FREQUENCIES, width), layer(width, width)])
        self.blocks = nn.ModuleList(
            _Block(
                architecture.heads,
                modulation=layer(width, 6 * width, zero=True),
                mix=layer(width, 3 * width),
                join=layer(width, width),
                widen=layer(width, _EXPANSION * width),
                narrow=layer(_EXPANSION * width, width),
            )
            for _ in range(architecture.depth)
        )
        self.last_modulation = layer(width, 2 * width, zero=True)
        self.leave = layer(width, size, zero=True)

    def forward(self, x: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """Return the velocity.

        Args:
            x: pictures on the way, [n, channels, height, width]; data lie in [-1, 1].
            t: times in [0, 1], [n].
            labels: classes, int64 [n].

        Returns:
            [n, channels, height, width], of the dtype of ``x``. A copy of the network in half
            precision takes and returns single precision, so that a sampler's state stays exact.
        """
        condition = self._condition(t, labels)
        patches = self._patches(x).to(self.enter.weight.dtype)
        tokens = self.enter(patches) + self.places
        for block in self.blocks:
            tokens = block(tokens, condition)
        shift, scale = self.last_modulation(condition).unsqueeze(1).chunk(2, dim=-1)
        predicted = self.leave(torch.addcmul(shift, normalised(tokens), 1 + scale))
        times = t.clamp(min=_EARLIEST).view(-1, 1, 1, 1)
        return (x - self._picture(predicted).to(x.dtype)) / times

    def _condition(self, t: Tensor, labels: Tensor) -> Tensor:
        first, second = self.time
        embedded = second(nn.functional.silu(first(_waves(t).to(self.enter.weight.dtype))))
        return nn.functional.silu(embedded + self.classes[labels])

    def _patches(self, x: Tensor) -> Tensor:
        """[n, c, h, w] to [n, token, c * patch * patch]."""
        a = self.architecture
        cut = x.reshape(len(x), a.channels, a.rows, a.patch, a.columns, a.patch)
        return cut.permute(0, 2, 4, 1, 3, 5).reshape(len(x), a.tokens, a.token_size)

    def _picture(self, tokens: Tensor) -> Tensor:
        """The inverse of ``_patches``."""
        a = self.architecture
        cut = tokens.reshape(len(tokens), a.rows, a.columns, a.channels, a.patch, a.patch)
        return cut.permute(0, 3, 1, 4, 2, 5).reshape(len(tokens), *a.picture)


def _waves(t: Tensor) -> Tensor:
    """Return cosines and sines of times [n], [n, FREQUENCIES], in single precision."""
    half = torch.arange(FREQUENCIES // 2, dtype=torch.float32, device=t.device)
    # Times lie in [0, 1]: the fastest wave turns about sixteen times over them, the slowest little.
    frequencies = _FASTEST * torch.exp(-math.log(_FASTEST) * half / (FREQUENCIES // 2))
    angles = t.float()[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)


class _Block(nn.Module):
    """Attention and a perceptron, each shifted, scaled and gated by time and class."""

    def __init__(
        self,
        heads: int,
        *,
        modulation: nn.Linear,
        mix: nn.Linear,
        join: nn.Linear,
        widen: nn.Linear,
        narrow: nn.Linear,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.modulation = modulation
        self.mix = mix
        self.join = join
        self.widen = widen
        self.narrow = narrow

    def forward(self, tokens: Tensor, condition: Tensor) -> Tensor:
        parts = self.modulation(condition).unsqueeze(1).chunk(6, dim=-1)
        shift, scale, gate, next_shift, next_scale, next_gate = parts
        seen = torch.addcmul(shift, normalised(tokens), 1 + scale)
        tokens = torch.addcmul(tokens, gate, self._attention(seen))
        seen = torch.addcmul(next_shift, normalised(tokens), 1 + next_scale)
        inner = nn.functional.gelu(self.widen(seen), approximate="tanh")
        return torch.addcmul(tokens, next_gate, self.narrow(inner))

    def _attention(self, tokens: Tensor) -> Tensor:
        count, length, width = tokens.shape
        mixed = self.mix(tokens).view(count, length, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(query, key, value)
        joined: Tensor = self.join(found.transpose(1, 2).reshape(count, length, width))
        return joined
