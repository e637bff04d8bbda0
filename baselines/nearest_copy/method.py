"""Control: the training picture nearest to each sample of the base generator."""

from __future__ import annotations

import numpy as np
import torch

from podium.contracts import Context, Prediction, Problem
from podium.generation.problem import read_problem
from podium.generation.samples import generate

_BLOCK = 1000


def run(problem: Problem, context: Context, *, steps: int = 10) -> Prediction:
    """Return copies of training pictures, nearest in pixels, of the classes asked for.

    Args:
        problem: the generator, its training pictures, and the classes asked for.
        context: what the engine gives.
        steps: of the sampler.
    """
    generation = read_problem(problem, context.device)
    asked = generation.sample_labels
    chosen = np.empty(asked.size, dtype=np.int64)
    start = 0
    for images in generate(
        generation.base(),
        torch.from_numpy(asked.copy()),
        context.torch_generator("noise"),
        steps=steps,
        batch=_BLOCK,
    ):
        part = slice(start, start + len(images))
        chosen[part] = _nearest(
            _rows(images, context.device),
            torch.from_numpy(asked[part].copy()).to(context.device),
            _rows(generation.train_images, context.device),
            torch.from_numpy(generation.train_labels.copy()).to(context.device),
        )
        start = part.stop
        context.progress(start, asked.size, "samples")
    return {"samples": generation.train_images[chosen]}


def _nearest(
    samples: torch.Tensor, asked: torch.Tensor, train: torch.Tensor, labels: torch.Tensor
) -> np.ndarray:
    """Return for each sample the row of the nearest training picture of its class."""
    distances = torch.cdist(samples, train)
    distances[asked[:, None] != labels[None]] = torch.inf
    rows: np.ndarray = distances.argmin(dim=1).cpu().numpy()
    return rows


def _rows(images: np.ndarray, device: str) -> torch.Tensor:
    return torch.from_numpy(images.reshape(len(images), -1).copy()).to(device).float()
