"""The SimGCD-style host: a class token, an encoder, prototypes and a projector."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import nn

from podium.nn.discovery.layers import linear, normalised
from podium.nn.discovery.losses import (
    FREE,
    STUDENT_TEMPERATURE,
    SUPERVISED,
    LegoRegulariser,
    distillation,
    entropy_gap,
    info_nce,
    supervised_contrast,
    teacher_temperature,
)
from podium.nn.discovery.refiner import TokenRefiner


class Summary(nn.Module):
    r"""Summarise a sample's tokens in one, with or without a module.

    The class token is the backbone's; where it has none, the mean of the tokens. A module adds the
    mean of the refined tokens:

    .. math:: [CLS]^* = [CLS] + \mathrm{mean}(X_{ref})

    Args:
        refiner: the module, or None for the plain host.
    """

    def __init__(self, refiner: TokenRefiner | None) -> None:
        super().__init__()
        self.refiner = refiner

    def forward(self, tokens: torch.Tensor, class_tokens: torch.Tensor | None) -> torch.Tensor:
        """Tokens [batch, token, D] and class tokens [batch, D] to [batch, D]."""
        start = tokens.mean(1) if class_tokens is None else class_tokens
        return start if self.refiner is None else start + self.refiner.pooled(tokens)


class RefinedMean(nn.Module):
    r"""Summarise a sample by the mean of its refined tokens, plus its class token if it has one.

    What a host clusters that has nothing to train of its own.
    """

    def __init__(self, refiner: TokenRefiner) -> None:
        super().__init__()
        self.refiner = refiner

    def forward(self, tokens: torch.Tensor, class_tokens: torch.Tensor | None) -> torch.Tensor:
        """Tokens [batch, token, D] and class tokens [batch, D] to [batch, D]."""
        refined = self.refiner.pooled(tokens)
        return refined if class_tokens is None else class_tokens + refined


class Encoder(nn.Module):
    r"""One residual block, :math:`z = n + \mathrm{MLP}(n)`, :math:`n = \mathrm{LN}(x)`.

    Stands for the last block of the backbone, which SimGCD trains. Starts as the normalisation.
    Where that block is trained itself, :class:`Normalisation` takes its place.
    """

    def __init__(self, features: int, width: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = linear(features, width, generator)
        self.second = linear(width, features, generator, zero=True)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, D] to [batch, D]."""
        start = normalised(values)
        encoded: torch.Tensor = start + self.second(nn.functional.gelu(self.first(start)))
        return encoded


class Normalisation(nn.Module):
    r"""An encoder with nothing to train: :math:`z = \mathrm{LN}(x)`."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, D] to [batch, D]."""
        return normalised(values)


class Projector(nn.Module):
    """Map features to where views are contrasted: Linear-GELU-Linear, rows of length 1."""

    def __init__(
        self, features: int, width: int, dimension: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.first = linear(features, width, generator)
        self.second = linear(width, dimension, generator)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, D] to [batch, dimension]."""
        projected = self.second(nn.functional.gelu(self.first(values)))
        return nn.functional.normalize(projected, dim=-1)


class Prototypes(nn.Module):
    """Cosines between features and one prototype a class."""

    def __init__(self, features: int, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, features, generator=generator))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """[batch, D] to [batch, classes], between -1 and 1."""
        unit = nn.functional.normalize(self.weight, dim=-1)
        return nn.functional.normalize(values, dim=-1) @ unit.mT


class Host(nn.Module, ABC):
    """What can be trained: features of samples, and a loss of two views of them."""

    @abstractmethod
    def features(self, tokens: torch.Tensor, class_tokens: torch.Tensor | None) -> torch.Tensor:
        """Return what is grouped: tokens [batch, token, D], class tokens [batch, D] or None."""

    @abstractmethod
    def losses(
        self,
        tokens: torch.Tensor,
        class_tokens: torch.Tensor | None,
        labels: torch.Tensor,
        done: float,
    ) -> dict[str, torch.Tensor]:
        """Return the weighted parts of the loss of two views; their sum is minimised.

        Args:
            tokens: [2 batch, token, D], view-major; in each view the labelled samples come first.
            class_tokens: [2 batch, D] or None.
            labels: of the labelled samples.
            done: share of the training that is over.
        """


class ParametricHost(Host):
    r"""SimGCD: a classifier of all classes, trained with labels, self-distillation and contrast.

    .. math:: L = 0.65\, (L_{distil} + \epsilon L_{entropy} + L_{InfoNCE})
        + 0.35\, (L_{CE} + L_{SupCon})

    Args:
        summary: from tokens to the vector that is classified.
        encoder: from there to features.
        prototypes: from features to cosines.
        projector: from features to where views are contrasted.
        entropy_weight: epsilon.
        regulariser: of LegoGCD, or None.

    Source: Wen, Zhao, Qi, Parametric Classification for Generalized Category Discovery, ICCV 2023.
    """

    def __init__(
        self,
        summary: nn.Module,
        encoder: Encoder | Normalisation,
        prototypes: Prototypes,
        projector: Projector,
        *,
        entropy_weight: float,
        regulariser: LegoRegulariser | None = None,
    ) -> None:
        super().__init__()
        self.summary, self.encoder = summary, encoder
        self.prototypes, self.projector = prototypes, projector
        self.entropy_weight, self.regulariser = entropy_weight, regulariser

    def features(self, tokens: torch.Tensor, class_tokens: torch.Tensor | None) -> torch.Tensor:
        """Return what is classified [batch, D]."""
        encoded: torch.Tensor = self.encoder(self.summary(tokens, class_tokens))
        return encoded

    def losses(
        self,
        tokens: torch.Tensor,
        class_tokens: torch.Tensor | None,
        labels: torch.Tensor,
        done: float,
    ) -> dict[str, torch.Tensor]:
        """Return the weighted parts of the loss; see ``Host.losses``."""
        features = self.features(tokens, class_tokens)
        embeddings, cosines = self.projector(features), self.prototypes(features)
        batch, count = len(features) // 2, len(labels)
        known = torch.cat([cosines[:count], cosines[batch : batch + count]])
        entropy = self.entropy_weight * entropy_gap(cosines)
        parts = {
            "distillation": FREE * distillation(cosines, teacher_temperature(done)),
            "entropy": FREE * entropy,
            "classification": SUPERVISED
            * nn.functional.cross_entropy(known / STUDENT_TEMPERATURE, labels.repeat(2)),
            **contrasts(embeddings, labels),
        }
        if self.regulariser is not None:
            unlabelled = (torch.arange(batch, device=cosines.device) >= count).repeat(2)
            parts["regulariser"] = self.regulariser(cosines, unlabelled)
        return parts


class ContrastiveHost(Host):
    r"""The representation learning of GCD: :math:`0.65\, L_{InfoNCE} + 0.35\, L_{SupCon}`.

    Args:
        summary: from tokens to the features that are clustered later.
        projector: from features to where views are contrasted.

    Source: Vaze et al., Generalized Category Discovery, CVPR 2022, section 4.1.
    """

    def __init__(self, summary: nn.Module, projector: Projector) -> None:
        super().__init__()
        self.summary, self.projector = summary, projector

    def features(self, tokens: torch.Tensor, class_tokens: torch.Tensor | None) -> torch.Tensor:
        """Return what is clustered [batch, D], rows of length 1."""
        return nn.functional.normalize(self.summary(tokens, class_tokens), dim=-1)

    def losses(
        self,
        tokens: torch.Tensor,
        class_tokens: torch.Tensor | None,
        labels: torch.Tensor,
        done: float,
    ) -> dict[str, torch.Tensor]:
        """Return the weighted parts of the loss, the same all through; see ``Host.losses``."""
        del done
        return contrasts(self.projector(self.summary(tokens, class_tokens)), labels)


def contrasts(embeddings: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the two weighted contrasts of ``embeddings`` [2 batch, dimension], labelled first."""
    batch, count = len(embeddings) // 2, len(labels)
    known = torch.cat([embeddings[:count], embeddings[batch : batch + count]])
    return {
        "contrast": FREE * info_nce(embeddings),
        "supervised_contrast": SUPERVISED * supervised_contrast(known, labels),
    }
