"""A run's configuration, fitted to the signature of its method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from podium.declarations.signature import Signature, effective_config, read_signature
from podium.plan.spec import Location, RunSpec


def signature_at(at: Location, target: str) -> Signature:
    """Read the signature of ``module:function`` in a folder, without importing it."""
    module, _, function = target.partition(":")
    return read_signature(Path(at.folder).joinpath(*module.split(".")).with_suffix(".py"), function)


def config_of(spec: RunSpec) -> dict[str, Any]:
    """Return the keyword arguments of a run's method.

    A run travels as JSON, which turns tuples into lists: the signature turns them back.
    """
    signature = signature_at(spec.entry_at, spec.function)
    return effective_config(signature, {}, spec.config, where=f"entry {spec.entry}")
