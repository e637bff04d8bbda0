"""The scorer's feature maps, which no method is given.

Each is a network whose numbers are projected on the leading principal components of the train
split's, and scaled by one number so that the mean squared length there is the number of components.
All a map needs travels in arrays, so that the scorer reads no file:

- ``random``: a perceptron's second hidden layer as it was drawn, without training;
- ``perceptron``: the second hidden layer of a perceptron trained to name the train split's
  classes (another architecture and another seed than the reward's map);
- ``mobilenet``: the mean token of MobileNetV2 with ImageNet weights, on pictures resized to
  48 x 48.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from podium.benchmarks.fid_50k.params import SecondMap
from podium.benchmarks.fid_50k.splits import Split
from podium.contracts import Array, Arrays
from podium.features.mobilenet_v2 import MobileNetV2, load_mobilenet_v2
from podium.features.resize import resized
from podium.nn.discovery.layers import linear
from podium.nn.flow.pictures import to_float

Floats = npt.NDArray[np.float32]
Images = npt.NDArray[np.uint8]

SIDE = 48
"""Height and width of the pictures that MobileNetV2 is given."""

WIDTH = 128
"""Units of each hidden layer of a perceptron."""

_KINDS: tuple[SecondMap, ...] = ("random", "perceptron", "mobilenet")
_BATCH = 64
_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)


class Perceptron(nn.Module):
    """Two hidden layers on the pixels, and a layer of classes."""

    def __init__(self, pixels: int, classes: int, generator: torch.Generator) -> None:
        super().__init__()
        self.first = linear(pixels, WIDTH, generator)
        self.second = linear(WIDTH, WIDTH, generator)
        self.classes = linear(WIDTH, classes, generator)

    def features(self, x: Tensor) -> Tensor:
        """Return [n, WIDTH] of pictures [n, c, h, w]."""
        hidden = nn.functional.gelu(self.first(x.flatten(1)))
        found: Tensor = nn.functional.gelu(self.second(hidden))
        return found

    def forward(self, x: Tensor) -> Tensor:
        """Return logits [n, classes]."""
        logits: Tensor = self.classes(self.features(x))
        return logits


class SecondFeatures:
    """A feature map of the scorer, made of the arrays that ``fit_second`` returns.

    Args:
        arrays: under the names that begin with ``second_``.
        device: where to compute.
    """

    def __init__(self, arrays: Arrays, device: str = "cpu") -> None:
        self._kind = _KINDS[int(arrays["second_kind"][0])]
        self._device = device
        self._network = _network(self._kind, arrays["second_weights"], arrays["second_sizes"])
        self._network.requires_grad_(False).to(device).eval()
        self._centre = arrays.get("second_centre")
        self._basis = arrays.get("second_basis")

    def __call__(self, images: Images) -> Floats:
        """Return float32 [n, features] of pictures uint8 [n, h, w, c], in batches."""
        parts = [self._raw(images[k : k + _BATCH]) for k in range(0, len(images), _BATCH)]
        rows: Floats = np.concatenate(parts)
        if self._basis is None or self._centre is None:
            return rows
        projected: Floats = (rows - self._centre) @ self._basis
        return projected

    def _raw(self, images: Images) -> Floats:
        images = np.ascontiguousarray(images)
        with torch.no_grad():
            if self._kind != "mobilenet":
                found = self._network.features(to_float(images, self._device))
            else:
                if images.shape[3] == 1:
                    images = np.repeat(images, 3, axis=3)
                x = to_float(resized(images, SIDE), self._device).add(1.0).div(2.0)
                mean, deviation = (
                    torch.tensor(v, device=self._device).view(1, 3, 1, 1)
                    for v in (_MEAN, _DEVIATION)
                )
                x = ((x - mean) / deviation).contiguous(memory_format=torch.channels_last)
                found = self._network.features(x).mean(dim=(2, 3))
        rows: Floats = found.float().cpu().numpy()
        return rows


def fit_second(
    kind: SecondMap,
    train: Split,
    *,
    features: int,
    steps: int,
    generator: torch.Generator,
    weights: Path | None,
    device: str = "cpu",
) -> dict[str, Array]:
    """Make a map, on the train split alone.

    Args:
        kind: see the module.
        train: the split.
        features: number of principal components.
        steps: of a perceptron's training.
        generator: for its weights, batches and noise.
        weights: of MobileNetV2; only needed for it.
        device: where to compute.

    Returns:
        Arrays whose names begin with ``second_``.
    """
    if kind == "mobilenet":
        assert weights is not None
        with torch.random.fork_rng(devices=[]):  # its constructor draws from the global state
            network: nn.Module = load_mobilenet_v2(weights)
        sizes = np.array([0, 0], dtype=np.int64)
    else:
        classes = int(train.labels.max()) + 1
        pixels = int(np.prod(train.images.shape[1:]))
        network = Perceptron(pixels, classes, generator)
        sizes = np.array([pixels, classes], dtype=np.int64)
        if kind == "perceptron":
            _train(network, train, steps, generator)
    made: dict[str, Array] = {
        "second_kind": np.array([_KINDS.index(kind)], dtype=np.int64),
        "second_sizes": sizes,
        "second_weights": _state_vector(network),
    }
    rows = SecondFeatures(made, device)(train.images).astype(np.float64)
    centre = rows.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False))
    values, vectors = values[::-1][:features], vectors[:, ::-1][:, :features]
    scale = np.sqrt(features / values.sum())
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(features)])
    made["second_centre"] = centre.astype(np.float32)
    made["second_basis"] = (vectors * signs * scale).astype(np.float32)
    return made


def _train(
    network: nn.Module, train: Split, steps: int, generator: torch.Generator, batch: int = 128
) -> None:
    x, labels = to_float(train.images), torch.from_numpy(train.labels)
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=0.05)
    for _ in range(steps):
        rows = torch.randint(len(x), (batch,), generator=generator)
        seen = x[rows] + 0.2 * torch.randn((batch, *x.shape[1:]), generator=generator)
        loss = nn.functional.cross_entropy(network(seen), labels[rows], label_smoothing=0.1)
        optimiser.zero_grad()
        torch.autograd.backward(loss)
        optimiser.step()


def _network(kind: SecondMap, vector: Floats, sizes: Array) -> MobileNetV2 | Perceptron:
    pixels, classes = (int(n) for n in sizes)
    network: MobileNetV2 | Perceptron
    if kind == "mobilenet":
        with torch.device("meta"):  # where a constructor draws nothing
            network = MobileNetV2()
    else:
        network = Perceptron(pixels, classes, torch.Generator())
    state, start = {}, 0
    for name, tensor in network.state_dict().items():
        part = vector[start : start + tensor.numel()].copy()
        state[name] = torch.from_numpy(part).reshape(tensor.shape).to(tensor.dtype)
        start += tensor.numel()
    network.load_state_dict(state, assign=True)
    return network


def _state_vector(network: nn.Module) -> Floats:
    """Return all parameters and statistics of a network in one row, float32."""
    parts = [tensor.detach().float().flatten() for tensor in network.state_dict().values()]
    return torch.cat(parts).cpu().numpy()
