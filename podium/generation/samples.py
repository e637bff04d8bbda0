"""Generate the samples a problem asks for."""

from __future__ import annotations

import copy
import functools
import math
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from podium.contracts import Array, Context
from podium.generation.problem import Generation
from podium.nn.flow.pictures import to_uint8
from podium.nn.flow.sampling import NOISE_SCALE, euler, sde
from podium.nn.flow.sit import SiT

Sampler = Literal["ode", "sde"]

STEPS = 10
"""Steps of a sampler, for all entries alike unless they say otherwise."""

_STREAMED = 32 << 20
"""Samples of more bytes than this go to disk batch by batch."""


def emit(
    generation: Generation,
    model: SiT,
    context: Context,
    *,
    sampler: Sampler = "ode",
    steps: int = STEPS,
    batch: int = 250,
    name: str = "noise",
    noise_scale: float = NOISE_SCALE,
) -> dict[str, Array]:
    """Generate one picture for each of ``sample_labels``, in that order.

    All noise is drawn from ``context.torch_generator(name)``, so that entries which sample under
    one name start from the same noise. Computed in bfloat16 where that is faster (see
    ``for_sampling``); the state stays in single precision.

    Args:
        generation: the problem.
        model: the generator; left as it is.
        context: what the engine gives.
        sampler: ``ode`` (Euler) or ``sde``.
        steps: of the sampler.
        batch: pictures at a time.
        name: of the generator of random numbers.
        noise_scale: of the ``sde``.

    Returns:
        ``samples`` uint8 [samples, h, w, c] for the prediction; nothing where they are many, since
        they went to disk through ``context.emit``.
    """
    device = generation.device
    generator = context.torch_generator(name)
    labels = torch.from_numpy(generation.sample_labels.copy()).to(device)
    velocity = for_sampling(model)
    count, picture = len(labels), generation.architecture.picture
    streamed = count * math.prod(picture) > _STREAMED
    chunks = []
    for start in range(0, count, batch):
        asked = labels[start : start + batch]
        noise = torch.randn(
            (len(asked), *picture), generator=generator, device=generator.device
        ).to(device)
        with torch.no_grad():
            if sampler == "ode":
                x = euler(velocity, noise, asked, steps)
            else:
                x = sde(velocity, noise, asked, steps, generator, noise_scale).pictures
        images = to_uint8(x)
        if streamed:
            context.emit("samples", images)
        else:
            chunks.append(images)
        context.progress(start + len(asked), count, "samples")
    return {} if streamed else {"samples": np.concatenate(chunks)}


def for_sampling(model: SiT) -> SiT:
    """Return a frozen copy of a generator, in bfloat16 where its device multiplies it faster."""
    device = next(model.parameters()).device
    fast = has_bfloat16() if device.type == "cpu" else torch.cuda.is_bf16_supported()
    frozen = copy.deepcopy(model).requires_grad_(False).eval()
    return frozen.to(torch.bfloat16) if fast else frozen


@functools.cache
def has_bfloat16(cpu: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether the processor multiplies bfloat16 numbers itself; without a list of its skills, no.

    Elsewhere bfloat16 is emulated and slower than single precision.
    """
    try:
        text = cpu.read_text()
    except OSError:
        return False  # not Linux
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return bool({"avx512_bf16", "amx_bf16"} & set(line.split()))
