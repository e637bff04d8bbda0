"""Pictures of a model and their features, in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from podium.generation.problem import Generation
from podium.generation.samples import for_sampling
from podium.nn.flow.pictures import to_uint8
from podium.nn.flow.sampling import Trajectory, euler, sde
from podium.nn.flow.sit import SiT

Images = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

BLOCK = 500
"""Pictures that are generated or trained on at a time: bounds the memory."""


@dataclass(frozen=True)
class Sampling:
    """How pictures are generated while training: ``noise_scale`` 0 stands for the ODE."""

    steps: int
    noise_scale: float = 0.0


def rollout(
    generation: Generation,
    model: SiT,
    labels: torch.Tensor,
    sampling: Sampling,
    generator: torch.Generator,
) -> Trajectory:
    """Return the states of the SDE sampler for ``labels`` [n], with log-probabilities."""
    with torch.no_grad():
        parts = [
            sde(
                model,
                noise(generation, len(block), generator),
                block,
                sampling.steps,
                generator,
                sampling.noise_scale,
            )
            for block in torch.split(labels, BLOCK)
        ]
    return Trajectory(
        torch.cat([p.states for p in parts], 1),
        torch.cat([p.log_probabilities for p in parts], 1),
    )


def pictures(
    generation: Generation,
    model: SiT,
    labels: Ints,
    sampling: Sampling,
    generator: torch.Generator,
) -> torch.Tensor:
    """Return generated pictures [n, channels, height, width] in [-1, 1] for ``labels`` [n].

    In the precision in which samples are drawn, see ``podium.generation.samples.for_sampling``.
    """
    velocity = for_sampling(model)
    wanted = torch.as_tensor(labels, device=generation.device)
    finished = []
    with torch.no_grad():
        for block in torch.split(wanted, BLOCK):
            start = noise(generation, len(block), generator)
            if sampling.noise_scale > 0:
                trajectory = sde(
                    velocity, start, block, sampling.steps, generator, sampling.noise_scale
                )
                finished.append(trajectory.states[-1])
            else:
                finished.append(euler(velocity, start, block, sampling.steps))
    return torch.cat(finished)


def features(generation: Generation, generated: torch.Tensor) -> Floats:
    """Return the reward's features float32 [n, d] of generated pictures, as 8-bit pictures."""
    return generation.reward_features(to_uint8(generated))


def noise(generation: Generation, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return standard Gaussian noise [count, channels, height, width]."""
    shape = (count, *generation.architecture.picture)
    drawn = torch.randn(shape, generator=generator, device=generator.device)
    return drawn.to(generation.device)


def drawn_labels(generation: Generation, count: int, rng: np.random.Generator) -> Ints:
    """Return ``count`` classes in the proportions of those asked for, in random order."""
    return np.resize(rng.permutation(generation.sample_labels), count)
