"""What a method is handed: generators, checkpoints and the reward's map."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from podium.contracts import Array, Problem
from podium.errors import InputError
from podium.generation.classifier import ClassifierSize, PictureClassifier, train_classifier
from podium.generation.problem import read_classifier, read_problem
from podium.nn.flow.pictures import to_float
from podium.nn.flow.weights import to_vector


def test_generators_are_those_of_the_arrays(problem: Problem) -> None:
    generation = read_problem(problem)
    assert np.array_equal(to_vector(generation.base()), problem.public["base_weights"])
    # Each call gives a network of its own.
    assert generation.base() is not generation.base()
    for k in range(3):
        alone = generation.merged(np.eye(3)[k])
        assert np.array_equal(to_vector(alone), problem.public["checkpoint_weights"][k])
    merged = generation.merged(torch.tensor([0.5, 0.25, 0.25]))
    expected = np.array([0.5, 0.25, 0.25]) @ problem.public["checkpoint_weights"]
    assert to_vector(merged) == pytest.approx(expected, abs=1e-6)


def test_one_weight_for_each_checkpoint(problem: Problem) -> None:
    with pytest.raises(InputError, match=r"shape \[3\]"):
        read_problem(problem).merged(np.ones(2))


def test_the_map_of_pictures_is_the_map_of_their_numbers(problem: Problem) -> None:
    generation = read_problem(problem)
    images = generation.reward_images
    features = generation.reward_features(images)
    assert features.dtype == np.float32
    assert features.shape == (12, 6)
    assert features[3:5] == pytest.approx(generation.reward_features(images[3:5]), abs=1e-6)
    x = to_float(images).requires_grad_()
    found = generation.reward_features_of(x)
    assert found.detach().numpy() == pytest.approx(features, abs=1e-6)
    torch.autograd.backward(found.sum())
    assert x.grad is not None
    assert bool(x.grad.flatten(1).any(1).all())
    # Its own weights stay as they are.
    assert not any(p.requires_grad for p in generation.classifier.parameters())


def test_weights_of_another_size_are_refused(public: dict[str, Array]) -> None:
    with pytest.raises(InputError, match="weights of this network"):
        read_classifier(public["classifier_architecture"], public["classifier_weights"][1:])
    with pytest.raises(InputError, match="five whole numbers"):
        read_classifier(public["architecture"], public["classifier_weights"])
    short = {**public, "base_weights": public["base_weights"][:-1]}
    generation = read_problem(Problem("fid_50k", "made-up", "smoke", short))
    with pytest.raises(InputError, match="weights of this network"):
        generation.base()


@pytest.mark.parametrize("side", [(2, 4), (5, 3), (8, 8), (9, 9), (28, 28), (32, 32)])
def test_a_classifier_takes_pictures_of_any_size(side: tuple[int, int]) -> None:
    size = ClassifierSize(*side, channels=3, classes=4, features=5)
    model = PictureClassifier(size, torch.Generator().manual_seed(0))
    assert model(torch.zeros(2, 3, *side)).shape == (2, 4)
    assert ClassifierSize.from_array(size.to_array()) == size


def test_a_classifier_learns_what_the_classes_are() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    x = torch.from_numpy(rng.normal(0, 0.3, (300, 1, 4, 4)).astype(np.float32))
    x[:, 0, 1, 1] += torch.from_numpy(labels - 1).float()
    size = ClassifierSize(4, 4, 1, 3, 6)
    model = PictureClassifier(size, torch.Generator().manual_seed(0))
    before = torch.get_rng_state()
    train_classifier(
        model,
        x,
        torch.from_numpy(labels),
        steps=150,
        batch=64,
        learning_rate=5e-3,
        generator=torch.Generator().manual_seed(1),
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert float((model(x).argmax(1).numpy() == labels).mean()) > 0.85
