"""Losses of SimGCD on two views of every sample, and of LegoGCD on top of them.

Rows are view-major everywhere: row ``b`` and row ``batch + b`` are the two views of sample ``b``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch.nn import functional

FREE, SUPERVISED = 0.65, 0.35
"""Weights of the losses without and with labels."""

CONTRAST_TEMPERATURE = 1.0
SUPERVISED_TEMPERATURE = 0.07
STUDENT_TEMPERATURE = 0.1
TEACHER_TEMPERATURES = (0.07, 0.04)
TEACHER_WARM_UP = 0.15
"""Share of the training in which the teacher sharpens: 30 of 200 epochs."""


def teacher_temperature(done: float) -> float:
    """Return the teacher's temperature when a share ``done`` of the training is over."""
    first, last = TEACHER_TEMPERATURES
    return first + (last - first) * min(1.0, done / TEACHER_WARM_UP)


def info_nce(
    embeddings: torch.Tensor, *, temperature: float = CONTRAST_TEMPERATURE
) -> torch.Tensor:
    r"""Return how badly each view finds the other view of its sample among all others.

    .. math:: -\frac{1}{2B} \sum_i \log
        \frac{e^{z_i^\top z_{i'} / \tau}}{\sum_{j \ne i} e^{z_i^\top z_j / \tau}}

    Args:
        embeddings: z [2 B, dimension], rows of length 1.
        temperature: tau.

    Returns:
        A scalar, at least 0.
    """
    rows = len(embeddings)
    other = torch.arange(rows, device=embeddings.device).roll(-(rows // 2))
    similar = embeddings @ embeddings.mT / temperature
    return functional.cross_entropy(similar.fill_diagonal_(-math.inf), other)


def supervised_contrast(
    embeddings: torch.Tensor,
    labels: torch.Tensor,
    *,
    temperature: float = SUPERVISED_TEMPERATURE,
) -> torch.Tensor:
    r"""Return how badly each view finds all other views of its class.

    .. math:: -\frac{1}{2B} \sum_i \frac{1}{|P(i)|} \sum_{p \in P(i)} \log
        \frac{e^{z_i^\top z_p / \tau}}{\sum_{j \ne i} e^{z_i^\top z_j / \tau}}

    where :math:`P(i)` are the other rows of the class of row i.

    Args:
        embeddings: z [2 B, dimension], rows of length 1.
        labels: class of each sample [B].
        temperature: tau.

    Returns:
        A scalar.

    Source: Khosla et al., Supervised Contrastive Learning, NeurIPS 2020, eq. (2).
    """
    both = labels.repeat(2)
    same = (both[:, None] == both[None, :]).float().fill_diagonal_(0.0)
    similar = embeddings @ embeddings.mT / temperature
    wanted = (similar * same).sum(-1) / same.sum(-1)
    normaliser = similar.fill_diagonal_(-math.inf).logsumexp(-1)
    return (normaliser - wanted).mean()


def distillation(cosines: torch.Tensor, teacher: float) -> torch.Tensor:
    r"""Return the cross-entropy of each view's prediction to the other's, sharpened.

    .. math:: -\frac{1}{2B} \sum_i \sum_k q_{i'k} \log p_{ik}, \qquad
        p = \mathrm{softmax}(c / 0.1), \quad q = \mathrm{softmax}(c / \tau_t)

    No gradient flows through :math:`q`.

    Args:
        cosines: c [2 B, K], to the prototypes.
        teacher: the teacher's temperature.
    """
    targets = (cosines.detach() / teacher).softmax(-1).roll(len(cosines) // 2, dims=0)
    return functional.cross_entropy(cosines / STUDENT_TEMPERATURE, targets)


def entropy_gap(cosines: torch.Tensor) -> torch.Tensor:
    r"""Return how far the mean prediction is from uniform: :math:`\log K - H(\bar p)` >= 0."""
    mean = (cosines / STUDENT_TEMPERATURE).softmax(-1).mean(0)
    return (mean * mean.log()).sum() + math.log(len(mean))


@dataclass
class LegoRegulariser:
    r"""Keep what is known of the old classes: LER on confident samples, DKL between the views.

    Of the unlabelled rows whose largest probability is at least ``confident`` and that of an old
    class, with :math:`p = \mathrm{softmax}(c / 0.05)` and a running mean :math:`\hat q` of all
    predictions:

    .. math:: \mathrm{LER} = -\frac{1}{2B} \sum_i \sum_k
        p_{ik} \log \mathrm{softmax}(c_i / 0.05 + 0.4 \log \hat q)_k

    .. math:: \mathrm{DKL} = \frac{1}{B} \sum_b
        \mathrm{KL}(p^{(1)}_b \| p^{(2)}_b), \quad p = \mathrm{softmax}(c / 0.1)

    Source: Cao et al., Solving the Catastrophic Forgetting Problem in Generalized Category
    Discovery, CVPR 2024; weights and temperatures as in the authors' code, where DKL is part of the
    loss without labels, with its weight of .65, and LER is added to the whole with a weight of 2.
    """

    old: int
    weight: float = 2.0
    confident: float = 0.7
    temperature: float = 0.05
    margin: float = 0.4
    momentum: float = 0.999
    mean: torch.Tensor | None = None

    def __call__(self, cosines: torch.Tensor, unlabelled: torch.Tensor) -> torch.Tensor:
        """Return ``weight`` LER + .65 DKL of ``cosines`` [2 B, K]; ``unlabelled`` marks rows."""
        classes = cosines.shape[1]
        if self.mean is None:
            self.mean = torch.full_like(cosines[0].detach(), 1 / classes)
        log_student = (cosines / STUDENT_TEMPERATURE).log_softmax(-1)
        top, which = log_student.detach().max(-1)
        chosen = unlabelled & (top >= math.log(self.confident)) & (which < self.old)
        sharp = cosines / self.temperature
        shifted = (sharp + self.margin * self.mean.log()).log_softmax(-1)
        local = -(sharp.softmax(-1) * shifted).sum(-1)
        with torch.no_grad():
            now = cosines.softmax(-1).mean(0)
            self.mean = self.momentum * self.mean + (1 - self.momentum) * now
        first, second = log_student.chunk(2)
        divergence = functional.kl_div(second, first, reduction="batchmean", log_target=True)
        return self.weight * (local * chosen).mean() + FREE * divergence
