"""Generate the samples a problem asks for."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from podium.contracts import Array, Context
from podium.errors import InputError
from podium.generation.problem import Generation
from podium.nn.flow.pictures import Images, to_uint8
from podium.nn.flow.sampling import NOISE_SCALE, euler, sde
from podium.nn.flow.sit import SiT

Sampler = Literal["ode", "sde"]

STEPS = 10
"""Steps of a sampler, for all entries alike unless they say otherwise."""

BATCH = 250
"""Pictures at a time: on a processor's core more gain nothing."""

_STREAMED = 32 << 20
"""Samples of more bytes than this go to disk batch by batch."""


def emit(
    generation: Generation,
    model: SiT,
    context: Context,
    *,
    sampler: Sampler = "ode",
    steps: int = STEPS,
    batch: int = BATCH,
    name: str = "noise",
    noise_scale: float = NOISE_SCALE,
) -> dict[str, Array]:
    """Generate one picture for each of ``sample_labels``, in that order.

    All noise is drawn from ``context.torch_generator(name)``, so that entries which sample under
    one name start from the same noise.

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

    Raises:
        InputError: a sampler, a batch or a number of steps that there is not.
    """
    labels = torch.from_numpy(generation.sample_labels.copy())
    count = len(labels)
    streamed = count * math.prod(generation.architecture.picture) > _STREAMED
    chunks = []
    done = 0
    for images in generate(
        model,
        labels,
        context.torch_generator(name),
        sampler=sampler,
        steps=steps,
        batch=batch,
        noise_scale=noise_scale,
    ):
        if streamed:
            context.emit("samples", images)
        else:
            chunks.append(images)
        done += len(images)
        context.progress(done, count, "samples")
    return {} if streamed else {"samples": np.concatenate(chunks)}


def generate(
    model: SiT,
    labels: Tensor,
    generator: torch.Generator,
    *,
    sampler: Sampler = "ode",
    steps: int = STEPS,
    batch: int = BATCH,
    noise_scale: float = NOISE_SCALE,
) -> Iterator[Images]:
    """Yield pictures of the classes ``labels`` [n], uint8 [batch, h, w, c], batch by batch.

    Computed in bfloat16 where that is faster (see ``for_sampling``); a sampler's state stays in
    single precision. The rest is as in ``emit``.

    Raises:
        InputError: a sampler, a batch or a number of steps that there is not.
    """
    if sampler not in ("ode", "sde") or batch < 1:
        raise InputError(
            "cannot sample so",
            where="sampler" if batch >= 1 else "batch",
            expected="ode or sde" if batch >= 1 else "1 or more",
            found=str(sampler if batch >= 1 else batch),
        )
    device = next(model.parameters()).device
    velocity = for_sampling(model)
    for start in range(0, len(labels), batch):
        asked = labels[start : start + batch].to(device)
        shape = (len(asked), *model.architecture.picture)
        noise = torch.randn(shape, generator=generator, device=generator.device).to(device)
        with torch.no_grad():
            if sampler == "ode":
                x = euler(velocity, noise, asked, steps)
            else:
                x = sde(velocity, noise, asked, steps, generator, noise_scale).pictures
        yield to_uint8(x)


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
