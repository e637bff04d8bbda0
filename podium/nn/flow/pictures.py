"""Between 8-bit pictures and the numbers a flow works on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Images = npt.NDArray[np.uint8]

_HALF = 127.5


def to_float(images: Images, device: str | torch.device = "cpu") -> Tensor:
    """Return pictures uint8 [n, h, w, c] as float32 [n, c, h, w] in [-1, 1]."""
    pixels = torch.from_numpy(np.array(images)).to(device)  # a copy: problems are read-only
    return pixels.permute(0, 3, 1, 2).float().div_(_HALF).sub_(1.0).contiguous()


def to_uint8(x: Tensor) -> Images:
    """Return numbers [n, c, h, w] as pictures uint8 [n, h, w, c]: -1 is 0, 1 is 255.

    Numbers outside [-1, 1] are set to the nearer bound; the rest goes to the nearest level, so
    that ``to_uint8(to_float(images))`` is ``images``.
    """
    levels = x.detach().float().add(1.0).mul(_HALF).round().clamp(0.0, 255.0)
    pixels: Images = levels.to(torch.uint8).permute(0, 2, 3, 1).contiguous().cpu().numpy()
    return pixels
