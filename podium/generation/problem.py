"""What a problem of FID-50K hands to a method: a generator, pictures, and the reward's map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from podium.contracts import Problem
from podium.errors import InputError
from podium.generation.classifier import ClassifierSize, PictureClassifier
from podium.nn.flow.architecture import Architecture
from podium.nn.flow.pictures import Images, to_float
from podium.nn.flow.sit import SiT
from podium.nn.flow.weights import from_vector, load_vector

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

_BATCH = 500


@dataclass(frozen=True)
class Generation:
    """A generator to improve, and what may be used for it.

    Attributes:
        architecture: size of the generator.
        base_weights: its weights, a moving average over its training, float32 [parameters].
        checkpoints: raw weights evenly spread over that training, the last one at its end,
            float32 [checkpoints, parameters].
        train_images, train_labels: what the generator and the reward's map were trained on, uint8
            [train, h, w, c] and int64 [train].
        reward_images, reward_labels: real pictures of another split, for rewards.
        sample_labels: the class that each sample must be of, int64 [samples].
        classifier: the reward's feature map; frozen, on ``device``.
        device: where networks live.
    """

    architecture: Architecture
    base_weights: Floats
    checkpoints: Floats
    train_images: Images
    train_labels: Ints
    reward_images: Images
    reward_labels: Ints
    sample_labels: Ints
    classifier: PictureClassifier
    device: str

    def base(self) -> SiT:
        """Return a new copy of the base generator."""
        return from_vector(self.architecture, self.base_weights, self.device)

    def merged(self, weights: npt.NDArray[np.floating] | Tensor) -> SiT:
        """Return the generator whose weights are a weighted sum of the checkpoints.

        Args:
            weights: of the checkpoints, [checkpoints]; nothing is normalised.

        Raises:
            InputError: not one weight for each checkpoint.
        """
        given = np.asarray(torch.as_tensor(weights).detach().cpu(), dtype=np.float32)
        if given.shape != self.checkpoints.shape[:1]:
            raise InputError(
                "not one weight for each checkpoint",
                where="weights",
                expected=f"shape [{len(self.checkpoints)}]",
                found=f"shape {list(given.shape)}",
            )
        return from_vector(self.architecture, given @ self.checkpoints, self.device)

    def reward_features(self, images: Images) -> Floats:
        """Return the reward's map of pictures uint8 [n, h, w, c], float32 [n, features]."""
        return reward_map(self.classifier, images)

    def reward_features_of(self, x: Tensor) -> Tensor:
        """Return the reward's map of pictures [n, c, h, w] in [-1, 1], differentiable in them."""
        return self.classifier.features(x)


def read_problem(problem: Problem, device: str = "cpu") -> Generation:
    """Return the public arrays of a problem of FID-50K, as objects.

    Raises:
        InputError: weights that are not those of the declared architecture.
    """
    public = problem.public
    return Generation(
        architecture=Architecture.from_array(public["architecture"]),
        base_weights=public["base_weights"],
        checkpoints=public["checkpoint_weights"],
        train_images=public["train_images"],
        train_labels=public["train_labels"],
        reward_images=public["reward_images"],
        reward_labels=public["reward_labels"],
        sample_labels=public["sample_labels"],
        classifier=read_classifier(
            public["classifier_architecture"], public["classifier_weights"], device
        ),
        device=device,
    )


def read_classifier(architecture: Ints, weights: Floats, device: str = "cpu") -> PictureClassifier:
    """Return a frozen classifier with these weights.

    Raises:
        InputError: weights that are not those of this size.
    """
    classifier = PictureClassifier(ClassifierSize.from_array(architecture))
    load_vector(classifier, weights)
    return classifier.requires_grad_(False).to(device).eval()


def reward_map(classifier: PictureClassifier, images: Images) -> Floats:
    """Return a classifier's features of pictures uint8 [n, h, w, c], float32 [n, features]."""
    device = next(classifier.parameters()).device
    result = np.empty((len(images), classifier.size.features), dtype=np.float32)
    with torch.no_grad():
        for start in range(0, len(images), _BATCH):
            part = slice(start, start + _BATCH)
            result[part] = classifier.features(to_float(images[part], device)).cpu().numpy()
    return result
