"""Many small networks of one shape, evaluated and differentiated as one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

Activation = Literal["tanh", "relu"]


@dataclass(frozen=True)
class MLPBank:
    r"""A bank of one-hidden-layer networks with one output each.

    .. math:: g_b(x) = w_{2,b}\, \sigma(W_{1,b} x + b_{1,b}) + b_{2,b}

    ``w1`` [nets, hidden, inputs], ``b1`` [nets, hidden, 1], ``w2`` [nets, 1, hidden],
    ``b2`` [nets, 1, 1]; all of one dtype and device. Every network sees the same inputs, so one
    product makes all hidden layers, with the result of a loop over networks. Rows are kept last
    in memory: that makes a training step a third faster than keeping them before the units.
    """

    w1: torch.Tensor
    b1: torch.Tensor
    w2: torch.Tensor
    b2: torch.Tensor
    activation: Activation = "tanh"

    @property
    def nets(self) -> int:
        """How many networks there are."""
        return self.w1.shape[0]

    @property
    def parameters(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """The four stacked parameters."""
        return self.w1, self.b1, self.w2, self.b2

    def trainable(self) -> MLPBank:
        """Return the same values as new leaves that collect gradients."""
        w1, b1, w2, b2 = (p.detach().clone().requires_grad_() for p in self.parameters)
        return MLPBank(w1, b1, w2, b2, self.activation)

    def detached(self) -> MLPBank:
        """Return the same values without their history, sharing memory."""
        w1, b1, w2, b2 = (p.detach() for p in self.parameters)
        return MLPBank(w1, b1, w2, b2, self.activation)

    def subset(self, index: slice | torch.Tensor) -> MLPBank:
        """Return the networks of ``index``, sharing memory where the index is a slice."""
        w1, b1, w2, b2 = (p[index] for p in self.parameters)
        return MLPBank(w1, b1, w2, b2, self.activation)

    def repeated(self, copies: int) -> MLPBank:
        """Return the whole bank ``copies`` times, copy-major: net ``c * nets + b`` is net ``b``."""
        w1, b1, w2, b2 = (p.repeat(copies, 1, 1) for p in self.parameters)
        return MLPBank(w1, b1, w2, b2, self.activation)

    def hidden(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the hidden layer [nets, hidden, rows] at ``inputs`` [rows, inputs]."""
        flat = torch.addmm(self.b1.flatten()[:, None], self.w1.flatten(0, 1), inputs.mT)
        flat = flat.tanh_() if self.activation == "tanh" else flat.relu_()
        return flat.reshape(self.nets, -1, len(inputs))

    def output(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the outputs [nets, rows] from the hidden layer."""
        return torch.baddbmm(self.b2, self.w2, hidden).squeeze(1)

    def slope(self, hidden: torch.Tensor) -> torch.Tensor:
        r"""Return :math:`\sigma'` [nets, hidden, rows], written in terms of the hidden layer."""
        if self.activation == "tanh":
            return 1 - hidden * hidden
        return (hidden > 0).to(hidden.dtype)

    def jacobian(self, hidden: torch.Tensor) -> torch.Tensor:
        r"""Return the Jacobian of every network at every row, in closed form.

        .. math:: J_b(x) = w_{2,b}\, \mathrm{diag}(\sigma'(x))\, W_{1,b}

        Args:
            hidden: [nets, hidden, rows], from :meth:`hidden`.

        Returns:
            [nets, rows, inputs], differentiable in the parameters; rows are last in memory.
        """
        return torch.bmm(self.w1.mT, self.slope(hidden) * self.w2.mT).mT

    def directional(self, hidden: torch.Tensor, directions: torch.Tensor) -> torch.Tensor:
        """Return the Jacobians times ``directions`` [rows, inputs]: [nets, rows], without them."""
        moved = torch.mm(self.w1.flatten(0, 1), directions.mT).reshape(hidden.shape)
        return torch.bmm(self.w2, self.slope(hidden) * moved).squeeze(1)


def by_lag(first_layer: torch.Tensor, lags: int) -> torch.Tensor:
    """View first-layer weights [nets, hidden, lags * variables] by lag and variable."""
    nets, hidden, inputs = first_layer.shape
    return first_layer.reshape(nets, hidden, lags, inputs // lags)


def draw_bank(
    nets: int,
    inputs: int,
    hidden: int,
    *,
    generator: torch.Generator,
    activation: Activation = "tanh",
    first_scale: float = 1.0,
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
) -> MLPBank:
    r"""Draw a bank with uniform weights.

    :math:`b_1 \sim U(\pm 1/\sqrt{inputs})`, :math:`W_1` the same times ``first_scale``,
    :math:`w_2 \sim U(\pm 1/\sqrt{hidden})`, :math:`b_2 = 0`. Below 1, ``first_scale`` starts the
    networks almost blind to their inputs, so that what an input weighs at the end was learnt.

    Numbers are drawn on the generator's device and moved, so a seed means the same bank anywhere.
    """

    def uniform(*shape: int, bound: float) -> torch.Tensor:
        unit = torch.rand(*shape, generator=generator, dtype=dtype, device=generator.device)
        return ((2 * unit - 1) * bound).to(device)

    return MLPBank(
        w1=uniform(nets, hidden, inputs, bound=first_scale / math.sqrt(inputs)),
        b1=uniform(nets, hidden, 1, bound=1 / math.sqrt(inputs)),
        w2=uniform(nets, 1, hidden, bound=1 / math.sqrt(hidden)),
        b2=torch.zeros(nets, 1, 1, dtype=dtype, device=device),
        activation=activation,
    )
