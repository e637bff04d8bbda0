"""Layers drawn from a passed generator, and the normalisation of mixtures without making them."""

from __future__ import annotations

import math

import torch
from torch import nn

EPSILON = 1e-5
"""Added to variances, as in ``torch.nn.LayerNorm``."""


def linear(
    inputs: int, outputs: int, generator: torch.Generator, *, zero: bool = False
) -> nn.Linear:
    r"""Return a linear layer drawn from ``generator``, or one that is zero.

    Weights and biases are uniform within :math:`\pm 1/\sqrt{inputs}`, as ``torch.nn.Linear`` draws
    them; the global random state is not touched.
    """
    # A layer made on the meta device draws nothing.
    layer = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    bound = 0.0 if zero else 1 / math.sqrt(inputs)
    for parameter in (layer.weight, layer.bias):
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer


def orthogonal(size: int, generator: torch.Generator) -> nn.Parameter:
    """Return a random rotation [size, size]: distances and angles of what it maps are kept."""
    weight = torch.empty(size, size)
    nn.init.orthogonal_(weight, generator=generator)
    return nn.Parameter(weight)


def normalised(values: torch.Tensor) -> torch.Tensor:
    """Return ``values`` [..., feature] with mean 0 and variance 1 over the features of each row.

    A layer normalisation without scale and offset: the linear layer after it has both.
    """
    return nn.functional.layer_norm(values, values.shape[-1:], eps=EPSILON)


def mixture_layer(weights: torch.Tensor, parts: torch.Tensor, layer: nn.Linear) -> torch.Tensor:
    r"""Return ``layer(normalised(weights @ parts))`` without the mixtures themselves.

    With :math:`\bar P` the parts, each less its own mean over features, a mixture
    :math:`y = a^\top P` has the variance :math:`a^\top (\bar P \bar P^\top / D)\, a`, so

    .. math:: W \,\mathrm{LN}(y) + b
        = \frac{a^\top (\bar P W^\top)}{\sqrt{\mathrm{var}(y) + \epsilon}} + b

    costs M products a token and output where the direct way costs D, and stores nothing of the size
    of the tokens.

    Args:
        weights: a [batch, token, M].
        parts: P [batch, M, D].
        layer: W, b, from D features.

    Returns:
        [batch, token, outputs].
    """
    centred = parts - parts.mean(-1, keepdim=True)
    gram = torch.bmm(centred, centred.mT) / parts.shape[-1]
    variance = (torch.bmm(weights, gram) * weights).sum(-1, keepdim=True)
    scaled = weights * torch.rsqrt(variance + EPSILON)
    return torch.baddbmm(layer.bias, scaled, centred @ layer.weight.mT)
