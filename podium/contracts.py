"""What a task, a method and the engine agree on.

A task is a module with two functions::

    def build(recipe: Recipe, context: BuildContext) -> Instance: ...
    def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores: ...

and, where its declaration says ``picture = true``, a third that draws a prediction for people,
uint8 [height, width, 3], which is kept beside the record::

    def picture(prediction: Prediction, instance: Instance, recipe: Recipe) -> Array: ...

A method is one function; its keyword-only arguments are its configuration::

    def run(problem: Problem, context: Context, *, lags: int = 5) -> Prediction: ...
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Prediction = Mapping[str, Array]
Param = str | int | float | bool | list[Any]
Params = Mapping[str, Param]
Scores = Mapping[str, float]


class Undefined(float):
    """A metric that has no value here: it is NaN as a number, and it says why."""

    reason: str

    def __new__(cls, reason: str) -> Undefined:
        """Make a NaN that carries ``reason`` (a sentence for people)."""
        self = super().__new__(cls, math.nan)
        self.reason = reason
        return self

    def __reduce__(self) -> tuple[type[Undefined], tuple[str]]:
        """Keep the reason through copies."""
        return (Undefined, (self.reason,))


class InvalidPredictionError(Exception):
    """Raised by ``score`` for a prediction that fits its arrays' contract and still is no answer.

    The run becomes ``invalid`` with the message as its reason (for instance a plan that does not
    carry the mass it must): it counts against coverage and never gets a score.
    """


@dataclass(frozen=True)
class Recipe:
    """What a problem is built from: its task, id, tier, parameters, and the run's seed."""

    task: str
    problem: str
    tier: str
    params: Params
    seed: int


@dataclass(frozen=True)
class Instance:
    """A built problem: ``public`` goes to the method, ``hidden`` only to the scorer."""

    public: Arrays
    hidden: Arrays = field(default_factory=dict)


@dataclass(frozen=True)
class Problem:
    """What a method sees: named read-only arrays, and which problem they belong to."""

    task: str
    id: str
    tier: str
    public: Arrays


class Files(Protocol):
    """Files a problem is built from; every file handed out is recorded with its SHA-256."""

    def path(self, name: str) -> Path:
        """Return the verified local path of the declared file ``name``."""
        ...

    def folder(self, name: str, content: str = "your files") -> Path:
        """Return the folder ``name`` of the user's own, under ``PODIUM_DATA``.

        One digest of all its names and contents is recorded; nothing is declared or fetched.
        ``content`` says what belongs there, for who has no such folder.
        """
        ...


class BuildContext(Protocol):
    """What the engine gives to ``build``."""

    @property
    def files(self) -> Files:
        """The declared files of the task."""
        ...

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator drawn from the recipe's seed, task, problem and ``name``."""
        ...


class Context(Protocol):
    """What the engine gives to a method."""

    @property
    def device(self) -> str:
        """The torch device to use: ``cpu`` or ``cuda:N``."""
        ...

    @property
    def threads(self) -> int:
        """How many threads this run may use."""
        ...

    @property
    def scratch(self) -> Path:
        """A private folder, removed when the run ends."""
        ...

    @property
    def budget_left(self) -> float:
        """Seconds until the wall-clock limit; ``inf`` where there is none."""
        ...

    def rng(self, name: str) -> np.random.Generator:
        """Return a generator drawn from the run's seed and ``name``."""
        ...

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        """Return a torch generator drawn from the run's seed and ``name``."""
        ...

    def log(self, step: int, **values: float) -> None:
        """Add a point to the learning curves kept in the record."""
        ...

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say how far the run is."""
        ...

    def emit(self, name: str, chunk: Array) -> None:
        """Append rows to a predicted array that is too large for memory."""
        ...


class FilesContext(Context, Protocol):
    """What the engine gives to a method whose ``entry.toml`` declares files."""

    @property
    def files(self) -> Files:
        """The declared files of the entry."""
        ...
