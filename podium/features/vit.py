"""A vision transformer as a frozen encoder: patch tokens and the class token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, interpolate, scaled_dot_product_attention

from podium.errors import InputError
from podium.features.extractor import Floats, Images, check_images, slices
from podium.features.resize import RULE, resized

_MEAN = (0.485, 0.456, 0.406)
_DEVIATION = (0.229, 0.224, 0.225)
HEAD = 64
"""Features of a head of attention."""


class Tokens(NamedTuple):
    """What the transformer makes of a batch of pictures.

    ``patches``: float32 [n, rows * columns, dimension], row by row; ``classes``: float32
    [n, dimension]; ``entering``: float32 [n, 1 + rows * columns, dimension], what enters the last
    block, the class token first.
    """

    patches: Floats
    classes: Floats
    entering: Floats


class VisionTransformer(nn.Module):
    """A pre-norm transformer over patches with a class token, heads of 64, and no classifier.

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words (ICLR 2021), section 3.1. The
    parameters are named as in DINO's published checkpoints and in timm.

    Args:
        dimension: length of a token, a multiple of 64.
        depth: number of blocks.
        patch: side of a patch in pixels.
        grid: rows (and columns) of patches the position embedding is for.
    """

    def __init__(self, dimension: int, depth: int, patch: int, grid: int) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dimension))
        self.pos_embed = nn.Parameter(torch.zeros(1, 1 + grid * grid, dimension))
        self.patch_embed = nn.ModuleDict({"proj": nn.Conv2d(3, dimension, patch, patch)})
        self.patch = patch
        self.blocks = nn.ModuleList(Block(dimension) for _ in range(depth))
        self.norm = nn.LayerNorm(dimension, eps=1e-6)
        self.grid = grid

    def forward(self, images: Tensor) -> Tensor:
        """Return the tokens [n, 1 + patches, dimension], the class token first, normalised.

        Args:
            images: normalised pictures [n, 3, height, width]; positions are interpolated where
                they have more or fewer patches than the position embedding.
        """
        return self.leaving(self.entering(images))

    def entering(self, images: Tensor) -> Tensor:
        """Return the tokens that enter the last block [n, 1 + patches, dimension]."""
        maps = self.patch_embed["proj"](images)
        tokens = maps.flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(tokens), -1, -1), tokens], dim=1)
        x = x + self._positions(maps.shape[2], maps.shape[3])
        for block in self.blocks[:-1]:
            x = block(x)
        return x

    def leaving(self, entering: Tensor) -> Tensor:
        """Return what the last block and the last normalisation make of entering tokens."""
        normalised: Tensor = self.norm(self.blocks[-1](entering))
        return normalised

    def _positions(self, rows: int, columns: int) -> Tensor:
        if rows == columns == self.grid:
            return self.pos_embed
        table = self.pos_embed[:, 1:].transpose(1, 2).reshape(1, -1, self.grid, self.grid)
        table = interpolate(table, (rows, columns), mode="bicubic", antialias=True)
        return torch.cat([self.pos_embed[:, :1], table.flatten(2).transpose(1, 2)], dim=1)


class Block(nn.Module):
    """Attention, then two layers with a GELU between, each on normalised tokens and added."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(dimension, eps=1e-6)
        self.attn = nn.ModuleDict(
            {"qkv": nn.Linear(dimension, 3 * dimension), "proj": nn.Linear(dimension, dimension)}
        )
        self.norm2 = nn.LayerNorm(dimension, eps=1e-6)
        self.mlp = nn.ModuleDict(
            {"fc1": nn.Linear(dimension, 4 * dimension), "fc2": nn.Linear(4 * dimension, dimension)}
        )

    def forward(self, x: Tensor) -> Tensor:
        """Tokens [n, token, dimension] to the same shape."""
        heads = self.attn["qkv"](self.norm1(x)).unflatten(2, (3, -1, HEAD))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        x = x + self.attn["proj"](mixed)
        result: Tensor = x + self.mlp["fc2"](gelu(self.mlp["fc1"](self.norm2(x))))
        return result


class LastBlock(nn.Module):
    """The last block of a transformer and the normalisation after it, to be trained further.

    Its weights in one row stand in this order: ``norm1`` (scale, offset), ``attn.qkv`` (matrix
    [3 D, D] row by row, offset; queries, keys, values, each head after head), ``attn.proj``,
    ``norm2``, ``mlp.fc1``, ``mlp.fc2``, then the last normalisation: 12 D^2 + 15 D numbers.

    Args:
        dimension: D, a multiple of 64.
    """

    def __init__(self, dimension: int) -> None:
        super().__init__()
        # On the meta device nothing is drawn; the weights are set afterwards.
        with torch.device("meta"):
            self.block, self.norm = Block(dimension), nn.LayerNorm(dimension, eps=1e-6)
        self.to_empty(device="cpu")

    def forward(self, entering: Tensor) -> Tensor:
        """Tokens [n, token, D] that enter the block to normalised ones after it, same shape."""
        normalised: Tensor = self.norm(self.block(entering))
        return normalised


def last_block(weights: Floats, heads: int, dimension: int) -> LastBlock:
    """Return the block whose ``weights`` are given in one row, in the order of ``LastBlock``.

    Raises:
        InputError: heads of another size than 64, or not so many weights.
    """
    if heads * HEAD != dimension:
        raise InputError(
            f"heads of the last block must have {HEAD} features",
            where="block_heads",
            expected=f"{dimension / HEAD:g} for tokens of {dimension}",
            found=str(heads),
        )
    last = LastBlock(dimension)
    count = sum(p.numel() for p in last.parameters())
    if weights.shape != (count,):
        raise InputError(
            "these are not the weights of the last block",
            where="block_weights",
            expected=f"{count} numbers for tokens of {dimension}",
            found=f"shape {list(weights.shape)}",
        )
    nn.utils.vector_to_parameters(torch.tensor(weights), last.parameters())
    return last


def load_vit(weights: Path) -> VisionTransformer:
    """Return the transformer that a checkpoint is of, for evaluation. Nothing is unpickled.

    Its size is read from the shapes; a classifier's weights (``head.*``) are left out.

    Raises:
        InputError: the file is no state dict of such a transformer.
    """
    try:
        read = torch.load(weights, map_location="cpu", weights_only=True)
        state = {name: value for name, value in read.items() if not name.startswith("head.")}
        _, _, patch, _ = state["patch_embed.proj.weight"].shape
        positions, dimension = state["pos_embed"].shape[1:]
        depth = len({name.split(".")[1] for name in state if name.startswith("blocks.")})
        model = VisionTransformer(dimension, depth, patch, round((positions - 1) ** 0.5))
        model.load_state_dict(state)
    except Exception as error:  # torch raises many kinds for files that are none of its own
        raise InputError(
            "not the weights of a vision transformer",
            where=str(weights),
            expected="a state dict named as DINO's and timm's are",
            found=" ".join(f"{type(error).__name__}: {error}".split())[:300],
        ) from error
    return model.eval()


class VitTokens:
    """Tokens of a frozen vision transformer, after its last block and its last normalisation.

    Pictures are resized to ``size`` x ``size`` by ``podium.features.resize.RULE`` and normalised
    by the mean and deviation of ImageNet's channels.

    Args:
        weights: a checkpoint, for instance DINO's ``dino_vitbase16_pretrain.pth``.
        size: height and width, a multiple of the transformer's patch.
        device: where to compute.
        batch: pictures at a time.

    Raises:
        InputError: not such a checkpoint, or a size that patches do not fill.
    """

    def __init__(
        self, weights: Path, *, size: int = 224, device: str = "cpu", batch: int = 16
    ) -> None:
        self._model = load_vit(weights).to(device)
        self._size = size
        self._device = device
        self._batch = batch
        self._mean = torch.tensor(_MEAN, device=device).view(1, 3, 1, 1)
        self._deviation = torch.tensor(_DEVIATION, device=device).view(1, 3, 1, 1)
        patch = self._model.patch
        if size < patch or size % patch:
            raise InputError(
                "patches must fill the picture",
                where="size",
                expected=f"a multiple of {patch}",
                found=str(size),
            )
        self.grid = size // patch
        """Rows and columns of patch tokens."""

    @property
    def name(self) -> str:
        """Network, layer and resize rule, as one word; the weights are named by their digest."""
        model = self._model
        shape = f"{self.dimension}x{len(model.blocks)}p{model.patch}"
        return f"vit{shape}-tokens-{RULE}{self._size}"

    @property
    def dimension(self) -> int:
        """Length of a token."""
        return self._model.cls_token.shape[2]

    def tokens(self, images: Images) -> Iterator[tuple[slice, Tokens]]:
        """Yield the tokens of one batch of RGB pictures after another, with its place.

        Raises:
            InputError: not a stack of RGB pictures.
        """
        check_images(images)
        for part in slices(len(images), self._batch):
            yield part, self._tokens(resized(images[part], self._size))

    @torch.no_grad()
    def _tokens(self, images: Images) -> Tokens:
        pixels = torch.from_numpy(images).to(self._device).permute(0, 3, 1, 2)
        entering = self._model.entering((pixels / 255.0 - self._mean) / self._deviation)
        result = self._model.leaving(entering).cpu()
        return Tokens(
            result[:, 1:].contiguous().numpy(),
            result[:, 0].contiguous().numpy(),
            entering.cpu().numpy(),
        )

    def last_block(self) -> Floats:
        """Return the last block's weights in one row; see ``LastBlock``."""
        last = LastBlock(self.dimension)
        last.block.load_state_dict(self._model.blocks[-1].state_dict())
        last.norm.load_state_dict(self._model.norm.state_dict())
        return nn.utils.parameters_to_vector(last.parameters()).detach().cpu().numpy()
