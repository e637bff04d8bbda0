"""What the engine gives to a task's ``build`` and to a method."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.random import Generator

from podium.contracts import Array, Recipe
from podium.declarations.task import FileSpec
from podium.errors import InputError
from podium.plan.spec import RunSpec
from podium.seeding import generator, seed_sequence
from podium.store.record import DataDigest

if TYPE_CHECKING:
    import torch

    from podium.data.resolver import Resolver

Progress = Callable[[float, float, str], None]

CURVE_POINTS = 1000
"""Longer learning curves are thinned evenly to this many points."""


class RunBuildContext:
    """Files and generators for ``build``; nothing in it depends on the entry.

    ``progress`` hears of every fetch from the network as it begins.
    """

    def __init__(
        self, recipe: Recipe, files: tuple[FileSpec, ...], progress: Progress | None = None
    ) -> None:
        self._recipe = recipe
        self._declared = files
        self._progress = progress
        self._resolver: Resolver | None = None

    @property
    def files(self) -> Resolver:
        """The declared files of the task."""
        if self._resolver is None:
            from podium.data.resolver import Resolver

            self._resolver = Resolver(self._declared, self._say)
        return self._resolver

    def _say(self, note: str) -> None:
        if self._progress is not None:
            self._progress(0.0, 1.0, note)

    @property
    def used(self) -> tuple[DataDigest, ...]:
        """The files handed out, with their digests."""
        return () if self._resolver is None else self._resolver.used

    def rng(self, name: str) -> Generator:
        """Return a generator drawn from the recipe's seed, task, problem and ``name``."""
        recipe = self._recipe
        return generator(recipe.seed, "problem", recipe.task, recipe.problem, name)


class RunContext:
    """What a method may use; see ``podium.contracts.Context``."""

    def __init__(
        self, spec: RunSpec, scratch: Path, emitted: Path, progress: Progress | None = None
    ) -> None:
        self._spec = spec
        self._scratch = scratch
        self._emitted = Emitted(emitted)
        self._progress = progress
        self._files: Resolver | None = None
        self._deadline = math.inf
        self._rows: list[tuple[int, dict[str, float]]] = []

    def start_clock(self) -> None:
        """Count the wall-clock limit from now."""
        if self._spec.time_limit is not None:
            self._deadline = time.monotonic() + self._spec.time_limit

    def find_files(self) -> None:
        """Find the entry's files, or fetch them, so that the method waits for no network.

        Raises:
            InputError: see ``Resolver.path``.
            MissingError: no source has a file.
        """
        for spec in self._spec.files:
            self.files.path(spec.name)

    @property
    def files(self) -> Resolver:
        """The declared files of the entry."""
        if self._files is None:
            from podium.data.resolver import Resolver

            self._files = Resolver(self._spec.files, self._say)
        return self._files

    def _say(self, note: str) -> None:
        self.progress(0.0, 1.0, note)

    @property
    def used(self) -> tuple[DataDigest, ...]:
        """The entry's files that were handed out, with their digests."""
        return () if self._files is None else self._files.used

    @property
    def device(self) -> str:
        """The torch device to use: ``cpu`` or ``cuda:N``."""
        return self._spec.device

    @property
    def threads(self) -> int:
        """How many threads this run may use."""
        return self._spec.threads

    @property
    def scratch(self) -> Path:
        """A private folder, removed when the run ends."""
        return self._scratch

    @property
    def budget_left(self) -> float:
        """Seconds until the wall-clock limit; ``inf`` where there is none."""
        return max(0.0, self._deadline - time.monotonic())

    def rng(self, name: str) -> Generator:
        """Return a generator drawn from the run's seed and ``name``."""
        spec = self._spec
        return generator(spec.seed, "method", spec.task, spec.problem, name)

    def torch_generator(self, name: str, device: str | None = None) -> torch.Generator:
        """Return a torch generator drawn from the run's seed and ``name``."""
        import torch

        spec = self._spec
        sequence = seed_sequence(spec.seed, "method", spec.task, spec.problem, name)
        result = torch.Generator(device=device or spec.device)
        # torch takes 64 bits; the sign bit is left out.
        result.manual_seed(int(sequence.generate_state(1, np.uint64)[0]) >> 1)
        return result

    def log(self, step: int, **values: float) -> None:
        """Add a point to the learning curves kept in the record."""
        self._rows.append((int(step), {name: float(v) for name, v in values.items()}))

    def progress(self, done: float, total: float, note: str = "") -> None:
        """Say how far the run is."""
        if self._progress is not None:
            self._progress(float(done), float(total), str(note))

    def emit(self, name: str, chunk: Array) -> None:
        """Append rows to a predicted array that is too large for memory.

        Raises:
            InputError: the chunk is no array of numbers, or differs from the ones before it in
                dtype or in the shape of a row.
        """
        self._emitted.append(name, chunk)

    def emitted(self) -> dict[str, Array]:
        """Return the emitted arrays, mapped from disk."""
        return self._emitted.arrays()

    def curves(self) -> dict[str, list[float | None]]:
        """Return the logged points as one list per name; ``null`` where there is no number."""
        if not self._rows:
            return {}
        rows = self._rows
        if len(rows) > CURVE_POINTS:
            chosen = np.linspace(0, len(rows) - 1, CURVE_POINTS).round().astype(int)
            rows = [rows[i] for i in chosen]
        names = dict.fromkeys(name for _, values in rows for name in values)
        curves: dict[str, list[float | None]] = {"step": [float(step) for step, _ in rows]}
        for name in names:
            points = [values.get(name, math.nan) for _, values in rows]
            curves[name] = [point if math.isfinite(point) else None for point in points]
        return curves


@dataclass
class _Stream:
    file: BinaryIO
    path: Path
    dtype: np.dtype[np.generic]
    row: tuple[int, ...]
    rows: int = 0


@dataclass
class Emitted:
    """Arrays written to ``folder`` chunk by chunk."""

    folder: Path
    _streams: dict[str, _Stream] = field(default_factory=dict)

    def append(self, name: str, chunk: Array) -> None:
        """Append the rows of ``chunk`` (its first axis) to the array ``name``."""
        if not isinstance(chunk, np.ndarray) or chunk.ndim == 0 or chunk.dtype.kind not in "iufb":
            array = isinstance(chunk, np.ndarray)
            raise InputError(
                f"emit({name!r}) got no rows of numbers",
                expected="a numpy array of numbers with at least one dimension",
                found=f"{chunk.ndim}-d array of {chunk.dtype}" if array else type(chunk).__name__,
            )
        stream = self._streams.get(name)
        if stream is None:
            path = self.folder / f"{len(self._streams)}.bin"
            stream = _Stream(path.open("xb"), path, chunk.dtype, chunk.shape[1:])
            self._streams[name] = stream
        if (chunk.dtype, chunk.shape[1:]) != (stream.dtype, stream.row):
            raise InputError(
                f"emit({name!r}) got rows unlike those before",
                expected=f"rows of {stream.dtype} and shape {list(stream.row)}",
                found=f"{chunk.dtype} and {list(chunk.shape[1:])}",
            )
        stream.file.write(np.ascontiguousarray(chunk).data)
        stream.rows += len(chunk)

    def arrays(self) -> dict[str, Array]:
        """Close the files and return each as one array."""
        result: dict[str, Array] = {}
        for name, stream in self._streams.items():
            stream.file.close()
            shape = (stream.rows, *stream.row)
            if math.prod(shape) == 0:
                result[name] = np.zeros(shape, dtype=stream.dtype)  # nothing to map
            else:
                result[name] = np.memmap(stream.path, dtype=stream.dtype, mode="r", shape=shape)
        return result
