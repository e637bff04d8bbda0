"""The weights of a flow transformer as one vector."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.sit import SiT

Floats = npt.NDArray[np.float32]


def to_vector(model: nn.Module) -> Floats:
    """Return all parameters in the order of ``model.parameters()``, float32 [parameters]."""
    flat = nn.utils.parameters_to_vector(p.detach() for p in model.parameters())
    return flat.float().cpu().numpy().copy()


def load_vector(model: nn.Module, vector: Floats | Tensor) -> None:
    """Put a vector of parameters into a model, in the order of ``model.parameters()``.

    Raises:
        InputError: not as many numbers as the model has parameters.
    """
    count = sum(p.numel() for p in model.parameters())
    if tuple(vector.shape) != (count,):
        raise InputError(
            "these are not the weights of this network",
            where="weights",
            expected=f"a vector of {count} numbers",
            found=f"shape {list(vector.shape)}",
        )
    values = torch.as_tensor(np.array(vector) if isinstance(vector, np.ndarray) else vector)
    with torch.no_grad():
        start = 0
        for parameter in model.parameters():
            part = values[start : start + parameter.numel()]
            parameter.copy_(part.view_as(parameter))
            start += parameter.numel()


def from_vector(
    architecture: Architecture, vector: Floats | Tensor, device: str | torch.device = "cpu"
) -> SiT:
    """Return the network with these weights, on ``device``.

    Args:
        architecture: its size.
        vector: float32 [parameters], copied.
        device: where the network shall live.

    Raises:
        InputError: not as many numbers as the network has parameters.
    """
    model = SiT(architecture)
    load_vector(model, vector)
    return model.to(device)
