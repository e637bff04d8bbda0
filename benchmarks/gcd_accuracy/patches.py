"""Images as tokens: patches, each projected by a matrix of its position."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Floats = npt.NDArray[np.float32]


def draw_projections(positions: int, size: int, dimension: int, rng: np.random.Generator) -> Floats:
    """Draw a matrix with orthonormal columns for each position, uniformly.

    With them the distance between two rows of flattened tokens is the distance between the two
    images, and the mean of the tokens still knows what stood where.

    Args:
        positions: number of patches in an image.
        size: numbers in a patch.
        dimension: length of a token, at least ``size``.
        rng: the generator.

    Returns:
        float32 [positions, dimension, size].

    Raises:
        InputError: a dimension below the patch's size.
    """
    if dimension < size:
        raise InputError(
            "a token must hold its patch",
            where="dimension",
            expected=f"at least {size}, the numbers in a patch",
            found=str(dimension),
        )
    q, r = np.linalg.qr(rng.standard_normal((positions, dimension, size)))
    # The signs of R's diagonal make the distribution uniform (Mezzadri 2007).
    signs = np.sign(np.diagonal(r, axis1=1, axis2=2))
    return np.ascontiguousarray(q * signs[:, None, :], dtype=np.float32)


def grid_of(height: int, width: int, patch: int) -> tuple[int, int]:
    """Return the rows and columns of patches in an image.

    Raises:
        InputError: a side that patches do not fill.
    """
    if height % patch or width % patch:
        raise InputError(
            "patches must fill the image",
            where="patch",
            expected=f"a divisor of {height} and {width}",
            found=str(patch),
        )
    return height // patch, width // patch


def project_patches(images: npt.NDArray[np.float32], patch: int, projections: Floats) -> Floats:
    """Cut images into patches, row by row, and project each by its position's matrix.

    Args:
        images: float32 [samples, height, width].
        patch: side of a patch in pixels.
        projections: float32 [positions, dimension, patch * patch], as ``draw_projections`` makes.

    Returns:
        float32 [samples, positions, dimension].

    Raises:
        InputError: patches that do not fill the image, or projections for other patches.
    """
    count, height, width = images.shape
    rows, columns = grid_of(height, width, patch)
    if projections.shape[0] != rows * columns or projections.shape[2] != patch * patch:
        raise InputError(
            "the projections are for other patches",
            where="projections",
            expected=f"[{rows * columns}, dimension, {patch * patch}]",
            found=str(list(projections.shape)),
        )
    tokens = np.empty((count, *projections.shape[:2]), dtype=np.float32)
    for position, matrix in enumerate(projections):
        i, j = divmod(position, columns)
        cut = images[:, i * patch : (i + 1) * patch, j * patch : (j + 1) * patch]
        np.matmul(cut.reshape(count, -1), matrix.T, out=tokens[:, position])
    return tokens
