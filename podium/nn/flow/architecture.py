"""The size of a flow transformer, as numbers that travel in an array."""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from podium.errors import InputError


@dataclass(frozen=True)
class Architecture:
    """The size of a class-conditional flow transformer.

    Attributes:
        height, width, channels: of a picture, in pixels.
        patch: side of the square patches that are the tokens; divides height and width.
        dimension: of a token inside the network; a multiple of ``heads``.
        depth: number of blocks.
        heads: of each block's attention.
        classes: number of classes a picture may be of.
    """

    height: int
    width: int
    channels: int
    patch: int
    dimension: int
    depth: int
    heads: int
    classes: int

    def __post_init__(self) -> None:
        """Refuse sizes that make no network.

        Raises:
            InputError: a number below 1, patches that do not fill the picture, or heads that do
                not divide the dimension.
        """
        found = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        if min(astuple(self)) < 1:
            raise InputError("bad architecture", expected="whole numbers from 1 on", found=found)
        if self.height % self.patch or self.width % self.patch:
            raise InputError("patches must fill the picture", where="patch", found=found)
        if self.dimension % self.heads:
            raise InputError("heads must divide the dimension", where="heads", found=found)

    @property
    def rows(self) -> int:
        """Rows of tokens."""
        return self.height // self.patch

    @property
    def columns(self) -> int:
        """Columns of tokens."""
        return self.width // self.patch

    @property
    def tokens(self) -> int:
        """Number of tokens of a picture."""
        return self.rows * self.columns

    @property
    def token_size(self) -> int:
        """Numbers in a patch."""
        return self.channels * self.patch * self.patch

    @property
    def picture(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.channels, self.height, self.width

    def to_array(self) -> npt.NDArray[np.int64]:
        """Return the eight numbers in declared order, int64 [8]."""
        return np.array(astuple(self), dtype=np.int64)

    @classmethod
    def from_array(cls, values: npt.NDArray[np.int64]) -> Architecture:
        """Return the architecture of eight numbers in declared order.

        Raises:
            InputError: not eight numbers, or numbers that make no network.
        """
        if values.shape != (8,):
            raise InputError(
                "not an architecture",
                where="architecture",
                expected="int64 of shape [8]",
                found=f"{values.dtype} of shape {list(values.shape)}",
            )
        return cls(*(int(value) for value in values))
