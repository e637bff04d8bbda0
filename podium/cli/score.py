"""``podium score``: score your own pictures. The shape of ``--json`` is in docs/json.md."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli.output import counted, print_columns, print_json
from podium.cli.run import check_device
from podium.cli.tables import number
from podium.contracts import Undefined
from podium.errors import InputError, MissingError

if TYPE_CHECKING:
    from podium.images.scoring import Score

TASK = "fid_50k"

_EVERY = 10.0  # seconds between two lines of progress


def score(
    task: str,
    *,
    samples: str,
    reference: str,
    features: str,
    device: str = "cpu",
    batch: int = 64,
    seed: int = 0,
    weights: Path | None = None,
    as_json: bool = False,
) -> None:
    """Print how near generated pictures are to real ones.

    Args:
        task: ``fid_50k``, the one task that scores files.
        samples: folder, ``.zip`` or ``.npz`` of generated pictures.
        reference: the same, of real pictures.
        features: see ``podium.features.choice``.
        device: where features are computed.
        batch: pictures at a time.
        seed: draws what KID and the shares use.
        weights: the feature map's file.
        as_json: print JSON.

    Raises:
        InputError: a bad argument, or pictures that cannot be scored.
        MissingError: weights, a package or the device are missing.
    """
    if task != TASK:
        raise InputError(
            "this task does not score files",
            where=task,
            expected=TASK,
            fix=f"podium score {TASK} …, or for a method: podium run {task} --entry FOLDER",
        )
    if seed < 0:
        raise InputError("bad seed", where="--seed", expected="0 or more", found=str(seed))
    _check_there(check_device(device))
    from podium.features.choice import chosen_features
    from podium.images.sets import open_set

    began = time.monotonic()
    generated = open_set(samples, where="--samples")
    real = open_set(reference, where="--reference")
    chosen = chosen_features(features, weights=weights, device=device, batch=batch, say=_say)
    from podium.images.scoring import score_sets

    found = score_sets(generated, real, chosen, seed=seed, batch=batch, listen=_listener())
    if as_json:
        print_json({"task": task, **_json(found), "seconds": time.monotonic() - began})
    else:
        _print(found)


def _check_there(device: str) -> None:
    if device == "cpu":
        return
    import torch

    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(device.partition(":")[2] or 0) >= devices:
        raise MissingError(
            "there is no such device",
            where=f"--device {device}",
            found=counted(devices, "CUDA device"),
            fix="--device cpu",
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _listener() -> Callable[[str, int, int], None]:
    last = time.monotonic()

    def hear(role: str, done: int, count: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            _say(f"{role}: {done:,} of {count:,} pictures encoded")

    return hear


def _metrics(found: Score) -> dict[str, float]:
    return {
        "frechet": found.frechet,
        "kid": found.kid,
        "kid_spread": found.kid_spread,
        "precision": found.precision,
        "recall": found.recall,
        "density": found.density,
        "coverage": found.coverage,
    }


def _undefined(found: Score) -> dict[str, str]:
    return {k: v.reason for k, v in _metrics(found).items() if isinstance(v, Undefined)}


def _json(found: Score) -> dict[str, Any]:
    sides = {
        role: {
            "origin": side.origin,
            "pictures": side.count,
            "ignored": side.ignored,
            "digest": f"sha256:{side.digest}",
            "kept": kept,
        }
        for role, side, kept in (
            ("samples", found.samples, found.kept[0]),
            ("reference", found.reference, found.kept[1]),
        )
    }
    return {
        "name": found.name,
        "label": found.label,
        "features": found.features,
        "dimension": found.dimension,
        **sides,
        "metrics": {k: None if v != v else v for k, v in _metrics(found).items()},
        "undefined": _undefined(found),
        "kid_subsets": {"count": found.subsets[0], "size": found.subsets[1]},
        "unreliable": found.unreliable,
        "warnings": list(found.warnings),
        "seed": found.seed,
    }


def _print(found: Score) -> None:
    subsets, size = found.subsets
    spread = found.kid_spread
    over = f"over {subsets} subsets of {size:,}"
    notes = {
        found.label: ("lower is better" + (", unreliable" if found.unreliable else ""), "frechet"),
        "KID": (
            f"lower is better; {over}"
            + ("" if isinstance(spread, Undefined) else f", their spread {number(spread)}"),
            "kid",
        ),
        "precision": ("higher is better; k = 3", "precision"),
        "recall": ("higher is better; k = 3", "recall"),
        "density": ("higher is better; k = 5", "density"),
        "coverage": ("higher is better; k = 5", "coverage"),
    }
    metrics, undefined = _metrics(found), _undefined(found)
    print_columns(
        [
            (label, _cell(metrics[key]), undefined.get(key, note))
            for label, (note, key) in notes.items()
        ],
        indent=0,
    )
    print()
    for role, side in (("samples", found.samples), ("reference", found.reference)):
        others = f", {counted(side.ignored, 'other file')} ignored" if side.ignored else ""
        print(f"{role}: {counted(side.count, 'picture')} in {side.origin}{others}")
    if found.kept != (found.samples.count, found.reference.count):
        fake, real = found.kept
        print(
            f"All but the first row use {fake:,} of the samples and {real:,} of the reference, "
            f"drawn by seed {found.seed}."
        )
    print(f"name: {found.name}")
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)


def _cell(value: float) -> str:
    return number(None if value != value else value).rjust(8)
