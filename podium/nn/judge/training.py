"""Steps on batches of rated items, the warm start they begin with, and the judge's answers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from podium.contracts import Context
from podium.errors import InputError
from podium.nn.judge.data import Asked, JudgeData
from podium.nn.judge.losses import label_loss
from podium.nn.judge.network import Judge, Memory
from podium.nn.judge.settings import JudgeSettings

BLOCK = 64
"""Items judged at once."""


@dataclass(frozen=True)
class Batch:
    """Items of a step: what the judge keeps of them, their rows in train, and their ratings."""

    memory: Memory
    rows: torch.Tensor
    scores: torch.Tensor
    labels: torch.Tensor


Loss = Callable[[Judge, Batch], torch.Tensor]


@dataclass
class Trainer:
    """Trains one judge in one or more phases, which share the count of steps.

    ``judge`` starts from the run's seed; so does ``new_judge``, always with the same values.
    """

    data: JudgeData
    settings: JudgeSettings
    context: Context
    done: int = 0
    judge: Judge = field(init=False)

    def __post_init__(self) -> None:
        self.teacher = teacher_reasoning(self.data, self.settings, self.context.rng("teacher"))
        self.judge = self.new_judge()
        self._rows = self.context.rng("batches")
        self._noise = self.context.torch_generator("dropout")
        self.reasoning = self.context.torch_generator("reasoning")

    def new_judge(self) -> Judge:
        """Return an untrained judge, the same at every call."""
        settings, features = self.settings, self.data.train.features
        judge = Judge(
            features.shape[2],
            max(features.shape[1], self.data.test.features.shape[1]),
            len(self.data.scale.levels),
            symbols=max(settings.symbols, int(self.teacher.max()) + 1),
            length=self.length,
            width=settings.width,
            heads=settings.heads,
            generator=self.context.torch_generator("judge", "cpu"),
        )
        return judge.to(features.device)

    @property
    def length(self) -> int:
        """Symbols of a reasoning: as many as the teacher's."""
        return self.teacher.shape[1]

    @property
    def total(self) -> int:
        """Steps of all phases."""
        return self.settings.warm_steps + self.settings.steps

    def fit(self, loss: Loss, steps: int, rate: float) -> None:
        """Take ``steps`` steps of AdamW on ``loss``, the rate falling along half a cosine.

        Raises:
            InputError: the loss is not finite.
        """
        settings = self.settings
        optimiser = torch.optim.AdamW(
            self.judge.parameters(), lr=rate, weight_decay=settings.weight_decay
        )
        for step in range(steps):
            optimiser.param_groups[0]["lr"] = rate / 2 * (1 + math.cos(math.pi * step / steps))
            value = loss(self.judge, self._batch())
            optimiser.zero_grad()
            torch.autograd.backward(value)
            norm = torch.nn.utils.clip_grad_norm_(self.judge.parameters(), settings.max_norm)
            if not math.isfinite(float(norm)):
                raise InputError(
                    "the training of a judge diverged",
                    where=f"step {self.done}",
                    fix="lower learning_rate",
                )
            optimiser.step()
            if self.done % 10 == 0:
                self.context.log(self.done, loss=float(value.detach()), gradient=float(norm))
            self.done += 1
            self.context.progress(min(self.done, self.total), self.total, "steps of the judge")

    def _batch(self) -> Batch:
        train, settings = self.data.train, self.settings
        drawn = self._rows.integers(len(train.scores), size=settings.batch)
        rows = torch.as_tensor(drawn, device=train.scores.device)
        features = train.features[rows]
        if settings.dropout:
            chance = torch.rand(features.shape, generator=self._noise, device=features.device)
            features = features * (chance >= settings.dropout) / (1 - settings.dropout)
        memory = self.judge.read(features, train.lengths[rows])
        return Batch(memory, rows, train.scores[rows], train.labels[rows])

    def warm_start(self) -> None:
        """Imitate the teacher: cross-entropy on its reasoning and on the label after it."""
        loss = imitation(self.teacher, lambda levels, batch: label_loss(levels, batch.labels))
        self.fit(loss, self.settings.warm_steps, self.settings.warm_rate)

    def own_reasoning(self) -> torch.Tensor:
        """Return one reasoning sampled from the judge for every rated item, [train, length]."""
        train, written = self.data.train, []
        with torch.no_grad():
            for rows in torch.split(torch.arange(len(train.scores)), BLOCK):
                memory = self.judge.read(train.features[rows], train.lengths[rows])
                written.append(self.judge.write(memory, 1, self.length, self.reasoning)[:, 0])
        return torch.cat(written)


def imitation(written: torch.Tensor, after: Callable[[torch.Tensor, Batch], torch.Tensor]) -> Loss:
    """Return the loss of given reasonings [train, length]: their own and that of the score after.

    The cross-entropy of a reasoning is the mean over its symbols, so that it weighs as much as the
    loss of the score.
    """

    def loss(judge: Judge, batch: Batch) -> torch.Tensor:
        reasoning = written[batch.rows][:, None]
        log_reasoning, log_levels = judge(batch.memory, reasoning)
        own: torch.Tensor = log_reasoning.mean() / written.shape[1]
        return after(log_levels, batch) - own

    return loss


def teacher_reasoning(
    data: JudgeData, settings: JudgeSettings, rng: np.random.Generator
) -> torch.Tensor:
    r"""Return a teacher's reasoning about every rated item; without one, drafts of its score.

    .. math:: c_t = \mathrm{round}\big(\tfrac{y}{L - 1}(V - 1) + \sigma\epsilon_t\big)

    cut to the V symbols; y is the rating in units of the scale, L its number of levels. The teacher
    knows the rating, as the language model did that wrote the feedback that such judges learn from.

    Args:
        data: the problem, with a teacher's reasoning or without.
        settings: of drafts; V is ``symbols``, :math:`\sigma` is ``teacher_noise``.
        rng: draws :math:`\epsilon`.

    Returns:
        int64 [train, length].
    """
    if data.train.reasoning is not None:
        return data.train.reasoning
    scores = data.train.scores.cpu().numpy().astype(np.float64)
    at = scores / (len(data.scale.levels) - 1) * (settings.symbols - 1)
    noise = rng.normal(size=(len(at), settings.length)) * settings.teacher_noise
    drafts = np.clip(np.rint(at[:, None] + noise), 0, settings.symbols - 1)
    return torch.as_tensor(drafts.astype(np.int64), device=data.train.scores.device)


def distributions(
    judge: Judge, asked: Asked, length: int, block: int = BLOCK
) -> npt.NDArray[np.float64]:
    """Return the distribution over levels of every item after its most likely symbols.

    In double precision, so that how many items are judged at once changes nothing that counts.

    Args:
        judge: stays as it is.
        asked: the items.
        length: symbols of the reasoning, 0 for none.
        block: items judged at once.

    Returns:
        float64 [item, level], rows of sum 1.
    """
    exact = copy.deepcopy(judge).double()
    found = []
    with torch.no_grad():
        for rows in torch.split(torch.arange(len(asked.lengths)), block):
            memory = exact.read(asked.features[rows].double(), asked.lengths[rows])
            log_levels = exact(memory, exact.write(memory, 1, length))[1]
            found.append(log_levels[:, 0].exp().cpu().numpy())
    return np.concatenate(found)
