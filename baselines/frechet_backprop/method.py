"""Gradients of the Fréchet distance itself, through the feature map and the sampler."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from podium.contracts import Context, Prediction, Problem
from podium.errors import InputError
from podium.generation.problem import read_problem
from podium.generation.samples import emit
from podium.nn.discovery.settings import check_whole
from podium.nn.flow.sampling import euler
from podium.nn.policy import rollouts
from podium.nn.policy.frechet import TorchFrechet
from podium.nn.policy.rewards import real_moments
from podium.nn.policy.settings import bad, check_positive


def run(
    problem: Problem,
    context: Context,
    *,
    updates: int = 66,
    batch: int = 256,
    queue: int = 3,
    steps: int = 10,
    learning_rate: float = 1e-4,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    """Train the base generator by the gradient of the Fréchet distance, and sample it.

    An update generates ``batch`` pictures by ``steps`` Euler steps, adds the features of the last
    ``queue`` batches, which get no gradient, and takes one step of Adam at ``learning_rate``
    against the Fréchet distance of all of them to the reward split under the reward's map. Pictures
    are not rounded to 8 bits here, since rounding has no gradient.

    A picture costs three times what it costs an entry that does not differentiate the sampler, so
    there are as many fewer of them.

    Source: Mathiasen and Hvilshøj, Backpropagating through Fréchet Inception Distance; the queue is
    a choice of this suite.
    """
    for name, given, least in (
        ("updates", updates, 0),
        ("batch", batch, 2),
        ("queue", queue, 0),
        ("steps", steps, 1),
    ):
        check_whole(name, given, least)
    check_positive("learning_rate", learning_rate)
    generation = read_problem(problem, context.device)
    mean, covariance = real_moments(generation)
    if batch * (queue + 1) < 2 * len(mean):
        raise bad("batch", batch, f"(queue + 1) x batch of at least {2 * len(mean)}")
    device = generation.device
    distance = TorchFrechet(
        torch.as_tensor(mean, device=device), torch.as_tensor(covariance, device=device)
    )
    model = generation.base()
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    noise, rng = context.torch_generator("batches"), context.rng("classes")
    held: list[torch.Tensor] = []
    for update in range(updates + queue):
        # The first batches only fill the queue.
        filling = update < queue
        labels = torch.as_tensor(rollouts.drawn_labels(generation, batch, rng), device=device)
        with torch.set_grad_enabled(not filling):
            start = rollouts.noise(generation, batch, noise)
            features = generation.reward_features_of(euler(model, start, labels, steps))
        if not filling:
            value = distance(torch.cat([*held, features]))
            if not np.isfinite(float(value.detach())):
                raise InputError(
                    "the distance of a training is not finite",
                    where=f"update {update - queue}",
                    fix="lower learning_rate",
                )
            optimiser.zero_grad()
            torch.autograd.backward(value)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            context.log(update - queue, distance=float(value.detach()), gradient=float(norm))
        held = [*held, features.detach()][-queue:] if queue else []
        context.progress(update + 1, updates + queue, "updates by back-propagation")
    return emit(generation, model, context, sampler=sampler)
