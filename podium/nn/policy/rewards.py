"""Rewards of generated pictures: of a whole set through its subsets, or of each picture alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import torch

from podium.errors import InputError
from podium.generation.problem import Generation
from podium.metrics.frechet import Reference, frechet_distance
from podium.metrics.moments import Moments
from podium.metrics.subset import SubsetFrechet
from podium.nn.flow.sit import SiT
from podium.nn.policy import rollouts
from podium.nn.policy.rollouts import Floats, Ints, Sampling

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Draw:
    """What to roll out: the classes of the pictures [subsets x size], and which they replace."""

    labels: Ints
    rows: Ints


class Reward(Protocol):
    """Rewards the pictures of one batch of rollouts."""

    def refresh(self, model: SiT) -> None:
        """Renew what the reward keeps of the current model's pictures."""
        ...

    def draw(self, subsets: int, size: int) -> Draw:
        """Choose the classes of the next rollouts."""
        ...

    def __call__(self, draw: Draw, features: Floats) -> Doubles:
        """Return float64 [subsets x size], one reward a picture, higher is better."""
        ...


def real_moments(generation: Generation) -> tuple[Doubles, Doubles]:
    """Return the mean [d] and covariance [d, d] of the reward split under the reward's map."""
    real = generation.reward_features(generation.reward_images)
    moments = Moments(real.shape[1])
    moments.update(real)
    return moments.mean, moments.covariance()


class DistributionReward:
    r"""The Fréchet distance of a generated set in which a subset is replaced by fresh pictures.

    .. math:: R_b = -\mathrm{FD}\big((G \setminus g_b) \cup g'_b,\ G_{\mathrm{real}}\big)

    :math:`g'_b` has the classes of :math:`g_b`; all its pictures get :math:`R_b`. The sums of G are
    kept, so that a reward costs O(size d^2) and one trace, whatever the size of G.

    Args:
        generation: the problem.
        count: size of G; its classes are in the proportions of those asked for.
        sampling: how G is generated.
        rng: draws classes, subsets and, where ``shuffled``, the order of rewards.
        generator: draws the noise of G.
        recorded: how many of the first rewards to compute a second time, from all features.
        shuffled: give every subset the reward of another one, drawn at random (a control).

    Source: Li et al., Optimizing Visual Generative Models via Distribution-wise Rewards, section 3.
    """

    def __init__(
        self,
        generation: Generation,
        count: int,
        sampling: Sampling,
        rng: np.random.Generator,
        generator: torch.Generator,
        *,
        recorded: int = 0,
        shuffled: bool = False,
    ) -> None:
        self.generation, self.sampling = generation, sampling
        self.rng, self.generator = rng, generator
        self.recorded, self.shuffled = recorded, shuffled
        self.labels = rollouts.drawn_labels(generation, count, rng)
        self.real = real_moments(generation)
        self.reference = Reference(*self.real)
        self.set: SubsetFrechet
        self.features: Floats
        self.given: list[float] = []
        self.recomputed: list[float] = []

    def refresh(self, model: SiT) -> None:
        """Generate G anew with ``model``."""
        generated = rollouts.pictures(
            self.generation, model, self.labels, self.sampling, self.generator
        )
        self.features = rollouts.features(self.generation, generated)
        self.set = SubsetFrechet(self.reference, self.features)

    @property
    def distance(self) -> float:
        """The Fréchet distance of G itself."""
        return self.set.distance

    def draw(self, subsets: int, size: int) -> Draw:
        """Choose subsets of G, each of different pictures."""
        if size > len(self.labels):
            raise InputError(
                "a subset is larger than the generated set it is taken from",
                where="size",
                expected=f"at most {len(self.labels)}",
                found=str(size),
            )
        rows = np.stack(
            [self.rng.choice(len(self.labels), size, replace=False) for _ in range(subsets)]
        )
        return Draw(self.labels[rows].reshape(-1), rows)

    def __call__(self, draw: Draw, features: Floats) -> Doubles:
        """Return the reward of each picture's subset."""
        subsets, size = draw.rows.shape
        fresh = features.reshape(subsets, size, -1)
        rewards = np.array(
            [-self.set.replaced(r, f) for r, f in zip(draw.rows, fresh, strict=True)]
        )
        if self.shuffled:
            rewards = self.rng.permutation(rewards)
        for b in range(min(subsets, self.recorded - len(self.given))):
            self.given.append(float(rewards[b]))
            self.recomputed.append(self._from_all(draw.rows[b], fresh[b]))
        return np.repeat(rewards, size)

    def _from_all(self, rows: Ints, fresh: Floats) -> float:
        changed = self.features.astype(np.float64)
        changed[rows] = fresh
        covariance = np.cov(changed, rowvar=False)
        return -frechet_distance(changed.mean(0), covariance, *self.real)


class TypicalityReward:
    r"""How typical each picture is of its class: a quality score of single pictures.

    .. math:: R(x) = -(f(x) - m_c)^\top \Sigma^{-1} (f(x) - m_c)

    with the mean :math:`m_c` of class c in the reward split and the pooled covariance within
    classes, plus ``ridge`` times its mean variance: up to constants the log-density of the features
    under what linear discriminant analysis fits, so the counterpart for single pictures of a
    Fréchet distance of Gaussians.

    Args:
        generation: the problem.
        rng: draws the classes of the rollouts.
        ridge: share of the mean variance.

    Raises:
        InputError: a class that is asked for has no picture in the reward split.
    """

    def __init__(
        self, generation: Generation, rng: np.random.Generator, ridge: float = 1e-3
    ) -> None:
        self.generation, self.rng = generation, rng
        real = generation.reward_features(generation.reward_images).astype(np.float64)
        labels = generation.reward_labels
        classes = np.unique(labels)
        lacking = np.setdiff1d(generation.sample_labels, classes)
        if len(lacking):
            raise InputError(
                "classes without a picture to compare with",
                where="reward_labels",
                expected="at least one picture of every class in sample_labels",
                found=f"none of class {', '.join(map(str, lacking[:10]))}",
            )
        self.means = np.zeros((int(classes[-1]) + 1, real.shape[1]))
        for c in classes:
            self.means[c] = real[labels == c].mean(0)
        within = real - self.means[labels]
        covariance = within.T @ within / max(1, len(real) - len(classes))
        covariance += ridge * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        self.factor = np.linalg.cholesky(covariance)

    def refresh(self, model: SiT) -> None:
        """Keep nothing of the model."""

    def draw(self, subsets: int, size: int) -> Draw:
        """Choose classes in the proportions asked for."""
        labels = rollouts.drawn_labels(self.generation, subsets * size, self.rng)
        return Draw(labels, np.arange(subsets * size).reshape(subsets, size))

    def __call__(self, draw: Draw, features: Floats) -> Doubles:
        """Return each picture's own reward."""
        apart = features.astype(np.float64) - self.means[draw.labels]
        squares: Doubles = np.square(np.linalg.solve(self.factor, apart.T)).sum(0)
        return -squares
