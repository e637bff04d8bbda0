"""Train on the own pictures that bring the whole set nearest to the real one."""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch

from podium.contracts import Context, Prediction, Problem
from podium.errors import InputError
from podium.generation.problem import Generation, read_problem
from podium.generation.samples import emit
from podium.nn.discovery.settings import check_whole
from podium.nn.flow.pictures import to_float, to_uint8
from podium.nn.flow.sit import SiT
from podium.nn.flow.training import matching_loss
from podium.nn.policy import rollouts
from podium.nn.policy.advantages import top_share
from podium.nn.policy.rewards import DistributionReward
from podium.nn.policy.rollouts import Images, Ints, Sampling
from podium.nn.policy.settings import check_positive, check_share


def run(
    problem: Problem,
    context: Context,
    *,
    rounds: int = 5,
    subsets: int = 1950,
    size: int = 4,
    reference: int = 1000,
    steps: int = 10,
    keep: float = 0.25,
    updates: int = 50,
    batch: int = 128,
    learning_rate: float = 1e-4,
    sampler: Literal["ode", "sde"] = "ode",
) -> Prediction:
    """Train the base generator on its best subsets by flow matching, and sample it.

    In each of ``rounds`` rounds the current model generates ``subsets`` subsets of ``size``
    pictures and a set of ``reference`` pictures to swap them into, without noise in the sampler, so
    that the pictures have none either. The share ``keep`` of the subsets with the highest
    distribution-wise reward is trained on for ``updates`` steps of Adam at ``learning_rate``.

    Source: the RS variant of Li et al., Optimizing Visual Generative Models via Distribution-wise
    Rewards, section 3.
    """
    for name, value, least in (
        ("rounds", rounds, 0),
        ("subsets", subsets, 1),
        ("size", size, 1),
        ("reference", reference, 2),
        ("steps", steps, 1),
        ("updates", updates, 0),
        ("batch", batch, 1),
    ):
        check_whole(name, value, least)
    check_share("keep", keep)
    check_positive("learning_rate", learning_rate)
    generation = read_problem(problem, context.device)
    sampling = Sampling(steps)
    reward = DistributionReward(
        generation,
        min(reference, len(generation.sample_labels)),
        sampling,
        context.rng("subsets"),
        context.torch_generator("reference"),
    )
    model = generation.base()
    optimiser = torch.optim.Adam(model.parameters(), lr=learning_rate)
    noise, steps_of = context.torch_generator("pool"), context.torch_generator("matching")
    for done in range(rounds):
        reward.refresh(model)
        draw = reward.draw(subsets, size)
        pool = rollouts.pictures(generation, model, draw.labels, sampling, noise)
        images = to_uint8(pool)
        rewards = reward(draw, generation.reward_features(images))
        kept = np.repeat(top_share(rewards[::size], keep), size)
        loss = _match(
            generation, model, images[kept], draw.labels[kept], optimiser, updates, batch, steps_of
        )
        if not np.isfinite(loss):
            raise InputError(
                "the loss of a training is not finite",
                where=f"round {done}",
                fix="lower learning_rate",
            )
        context.log(done, reward=float(rewards.mean()), loss=loss)
        context.progress(done + 1, rounds, "rounds of training on own samples")
    return emit(generation, model, context, sampler=sampler)


def _match(
    generation: Generation,
    model: SiT,
    images: Images,
    labels: Ints,
    optimiser: torch.optim.Optimizer,
    updates: int,
    batch: int,
    generator: torch.Generator,
) -> float:
    """Train ``model`` in place on pictures by flow matching; return the mean loss."""
    pictures = to_float(images, generation.device)
    classes = torch.as_tensor(labels, device=generation.device)
    losses = []
    for _ in range(updates):
        rows = torch.randint(len(images), (batch,), generator=generator, device=generator.device)
        rows = rows.to(classes.device)
        loss = matching_loss(model, pictures[rows], classes[rows], generator)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        losses.append(float(loss.detach()))
    return float(np.mean(losses)) if losses else 0.0
