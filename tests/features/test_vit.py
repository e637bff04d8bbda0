"""The vision transformer, against torch's own encoder layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from podium.errors import InputError
from podium.features.extractor import Images
from podium.features.vit import LastBlock, VisionTransformer, VitTokens, last_block, load_vit

DIMENSION, DEPTH, PATCH, GRID = 128, 3, 8, 4


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = torch.Generator().manual_seed(0)
    model = VisionTransformer(DIMENSION, DEPTH, PATCH, GRID)
    for parameter in model.parameters():
        parameter.data += torch.randn(parameter.shape, generator=generator) * 0.1
    path = tmp_path_factory.mktemp("vit") / "vit.pth"
    torch.save({**model.state_dict(), "head.weight": torch.zeros(10, DIMENSION)}, path)
    return path


def peer(state: dict[str, Tensor], images: Tensor) -> Tensor:
    """The same network out of torch's encoder layers and a loop over patches."""
    layers = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(
            DIMENSION,
            DIMENSION // 64,
            4 * DIMENSION,
            dropout=0.0,
            activation="gelu",
            layer_norm_eps=1e-6,
            batch_first=True,
            norm_first=True,
        ),
        DEPTH,
        norm=nn.LayerNorm(DIMENSION, eps=1e-6),
        enable_nested_tensor=False,
    )
    names = {
        "self_attn.in_proj_": "attn.qkv.",
        "self_attn.out_proj.": "attn.proj.",
        "linear1.": "mlp.fc1.",
        "linear2.": "mlp.fc2.",
        "norm1.": "norm1.",
        "norm2.": "norm2.",
    }
    taken = {"norm.weight": state["norm.weight"], "norm.bias": state["norm.bias"]}
    for k in range(DEPTH):
        for theirs, ours in names.items():
            for kind in ("weight", "bias"):
                taken[f"layers.{k}.{theirs}{kind}"] = state[f"blocks.{k}.{ours}{kind}"]
    layers.load_state_dict(taken)
    weight = state["patch_embed.proj.weight"].reshape(DIMENSION, -1)
    rows = [state["cls_token"][0, 0].expand(len(images), -1)]
    for i in range(0, images.shape[2], PATCH):
        for j in range(0, images.shape[3], PATCH):
            cut = images[:, :, i : i + PATCH, j : j + PATCH].reshape(len(images), -1)
            rows.append(cut @ weight.T + state["patch_embed.proj.bias"])
    result: Tensor = layers.eval()(torch.stack(rows, dim=1) + state["pos_embed"])
    return result


def pictures(count: int = 2, side: int = 32) -> Images:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (count, side, side, 3), dtype=np.uint8)


def test_the_published_size() -> None:
    # ViT-B/16 without a classifier, in timm 1.0.31: 85,798,656 parameters, 150 tensors.
    model = VisionTransformer(768, 12, 16, 14)
    assert sum(p.numel() for p in model.parameters()) == 85_798_656
    assert len(model.state_dict()) == 150


def test_tokens_agree_with_torchs_encoder(checkpoint: Path) -> None:
    model = load_vit(checkpoint)
    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours, theirs = model(images), peer(model.state_dict(), images)
    assert ours.shape == (2, 1 + GRID * GRID, DIMENSION)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=2e-5)


def test_positions_of_more_patches_keep_a_smooth_table(checkpoint: Path) -> None:
    model = load_vit(checkpoint)
    rows = torch.linspace(-1, 1, GRID)
    with torch.no_grad():
        table = rows[:, None].expand(GRID, GRID).reshape(1, -1, 1)
        model.pos_embed[:, 1:] = table
        seen = model._positions(8, 6)
    assert seen.shape == (1, 49, DIMENSION)
    grid = seen[0, 1:, 0].reshape(8, 6)
    assert (grid[1:] - grid[:-1] > 0).all()
    np.testing.assert_allclose(grid.numpy(), grid[:, :1].expand(8, 6).numpy(), atol=1e-6)


def test_pictures_as_tokens(checkpoint: Path) -> None:
    extractor = VitTokens(checkpoint, size=32, batch=2)
    assert (extractor.grid, extractor.dimension) == (4, DIMENSION)
    assert extractor.name == "vit128x3p8-tokens-pil-bicubic32"
    images = pictures(3)
    found = list(extractor.tokens(images))
    assert [place for place, _ in found] == [slice(0, 2), slice(2, 3)]
    tokens = np.concatenate([t.patches for _, t in found])
    classes = np.concatenate([t.classes for _, t in found])
    mean = np.array([0.485, 0.456, 0.406], dtype=np.float32)
    deviation = np.array([0.229, 0.224, 0.225], dtype=np.float32)
    normalised = torch.from_numpy((images / np.float32(255) - mean) / deviation)
    with torch.no_grad():
        expected = load_vit(checkpoint)(normalised.permute(0, 3, 1, 2)).numpy()
    np.testing.assert_allclose(classes, expected[:, 0], atol=1e-4)
    np.testing.assert_allclose(tokens, expected[:, 1:], atol=1e-4)


def test_pictures_are_resized(checkpoint: Path) -> None:
    [(_, small)] = VitTokens(checkpoint, size=64).tokens(pictures(1, 20))
    assert small.patches.shape == (1, 64, DIMENSION)


def test_sizes_that_patches_do_not_fill_are_refused(checkpoint: Path) -> None:
    for size in (30, 0, 4):
        with pytest.raises(InputError, match="a multiple of 8"):
            VitTokens(checkpoint, size=size)


def test_other_checkpoints_are_refused(tmp_path: Path, checkpoint: Path) -> None:
    text = tmp_path / "text.pth"
    text.write_text("weights")
    with pytest.raises(InputError, match=r"text\.pth: not the weights of a vision transformer"):
        load_vit(text)
    state = torch.load(checkpoint, weights_only=True)
    state.pop("blocks.1.mlp.fc2.bias")
    torch.save(state, tmp_path / "fewer.pth")
    with pytest.raises(InputError, match=r"blocks\.1\.mlp\.fc2\.bias"):
        load_vit(tmp_path / "fewer.pth")
    torch.save([1, 2], tmp_path / "list.pth")
    with pytest.raises(InputError, match="state dict"):
        load_vit(tmp_path / "list.pth")


def test_the_last_block_makes_the_tokens_after_it(checkpoint: Path) -> None:
    extractor = VitTokens(checkpoint, size=32)
    [(_, tokens)] = extractor.tokens(pictures())
    assert tokens.entering.shape == (2, 1 + GRID * GRID, DIMENSION)
    before = torch.get_rng_state()
    block = last_block(extractor.last_block(), DIMENSION // 64, DIMENSION)
    assert torch.equal(before, torch.get_rng_state())
    with torch.no_grad():
        after = block(torch.tensor(tokens.entering)).numpy()
    np.testing.assert_allclose(after[:, 1:], tokens.patches, atol=1e-5)
    np.testing.assert_allclose(after[:, 0], tokens.classes, atol=1e-5)


def test_weights_of_the_last_block_are_in_the_order_stated(checkpoint: Path) -> None:
    state = load_vit(checkpoint).state_dict()
    parts = ["norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2"]
    names = [*(f"blocks.{DEPTH - 1}.{part}" for part in parts), "norm"]
    stated = [state[f"{name}.{kind}"].flatten() for name in names for kind in ("weight", "bias")]
    row = VitTokens(checkpoint, size=32).last_block()
    assert row.dtype == np.float32
    assert row.shape == (12 * DIMENSION**2 + 15 * DIMENSION,)
    assert np.array_equal(row, torch.cat(stated).numpy())
    assert sum(p.numel() for p in LastBlock(DIMENSION).parameters()) == row.size


def test_a_last_block_that_does_not_fit_is_refused(checkpoint: Path) -> None:
    row = VitTokens(checkpoint, size=32).last_block()
    with pytest.raises(InputError, match=r"block_weights[^$]*198528 numbers for tokens of 128"):
        last_block(row[:-1], 2, DIMENSION)
    with pytest.raises(InputError, match="block_heads"):
        last_block(row, 4, DIMENSION)
