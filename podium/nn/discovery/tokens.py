"""The tokens of a problem on a device, on one scale."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from podium.discovery.samples import Samples
from podium.errors import InputError
from podium.nn.discovery.backbone import TrainedBlock, entering_tokens


@dataclass(frozen=True)
class TokenData:
    """All samples of a problem, the labelled ones first.

    Attributes:
        tokens: float32 [samples, token, D], with mean 0 over all tokens and a root mean square of
            1 over all their features: one scale for all, so distances keep their ratios.
        class_tokens: float32 [samples, D] or None, moved and scaled by their own numbers.
        labels: int64 [labelled].
        classes: number of classes, old and new.
        old: number of old ones.
        block: the backbone's last block, where it is trained: then the tokens are those that enter
            it, and patch tokens and class tokens are each on a scale of their own.
    """

    tokens: torch.Tensor
    class_tokens: torch.Tensor | None
    labels: torch.Tensor
    classes: int
    old: int
    block: TrainedBlock | None = None

    @property
    def labelled(self) -> int:
        """Number of labelled samples."""
        return len(self.labels)


def _scaled(labelled: object, unlabelled: object, name: str, device: str) -> torch.Tensor:
    values = torch.cat(
        [torch.tensor(part, dtype=torch.float32, device=device) for part in (labelled, unlabelled)]
    )
    if not bool(torch.isfinite(values).all()):
        raise InputError(
            "values that are not finite",
            where=name,
            expected="finite numbers",
            found=f"{int((~torch.isfinite(values)).sum())} that are NaN or infinite",
        )
    values -= values.mean(tuple(range(values.ndim - 1)))
    spread = values.square().mean().sqrt()
    return values.div_(spread) if float(spread) > 0 else values


def on_device(samples: Samples, device: str) -> TokenData:
    """Return a problem's samples on ``device``.

    Raises:
        InputError: no labelled or no unlabelled sample, values that are not finite, a label
            outside the classes, or a negative one; a last block that does not fit its tokens.
    """
    for name, count in (
        ("labelled", len(samples.labelled)),
        ("unlabelled", len(samples.unlabelled)),
    ):
        if count == 0:
            raise InputError(
                f"no {name} sample", where=f"{name}_tokens", expected="at least one", found="none"
            )
    lowest, highest = int(samples.labels.min()), int(samples.labels.max())
    if lowest < 0 or highest >= samples.classes:
        raise InputError(
            "a label outside the classes",
            where="labels",
            expected=f"0 to {samples.classes - 1}",
            found=f"{lowest} to {highest}",
        )
    if samples.block is not None:
        entering, entering_class, block = entering_tokens(samples, device)
        return TokenData(
            tokens=entering,
            class_tokens=entering_class,
            labels=torch.tensor(samples.labels, device=device),
            classes=samples.classes,
            old=samples.old,
            block=block,
        )
    class_tokens = None
    if samples.labelled_class is not None and samples.unlabelled_class is not None:
        class_tokens = _scaled(
            samples.labelled_class, samples.unlabelled_class, "class tokens", device
        )
    return TokenData(
        tokens=_scaled(samples.labelled, samples.unlabelled, "tokens", device),
        class_tokens=class_tokens,
        labels=torch.tensor(samples.labels, device=device),
        classes=samples.classes,
        old=samples.old,
    )
