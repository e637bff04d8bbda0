"""The first check of an entry: what it declares, before any of its code runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from podium.check.finding import Finding
from podium.declarations import toml
from podium.declarations.signature import Signature, effective_config
from podium.errors import InputError
from podium.plan.keys import source_digest
from podium.plan.planner import signature_of
from podium.registry.model import ENTRY_FILE, Entry
from podium.registry.registry import Registry

NAME = "declaration"
_FIX = "mend entry.toml or the function's signature where the message points"


def check_declaration(entry: Entry, registry: Registry) -> Finding:
    """Every task exists, the function has a method's signature, and the configuration fits it.

    All faults are listed, each with file and line. The code is read, not imported.
    """
    faults = [*_task_faults(entry, registry), *_code_faults(entry)]
    if faults:
        return Finding(name=NAME, state="failed", message="\n".join(faults), fix=_FIX)
    signature = signature_of(entry)
    arguments = ", ".join(f"{p.name}: {p.annotation}" for p in signature.parameters.values())
    message = f"{entry.spec.kind} {entry.id}, {entry.spec.file.function}({arguments})"
    return Finding(name=NAME, state="ok", message=message)


def broken_declaration(error: InputError) -> Finding:
    """Return the finding for a declaration that cannot be read at all."""
    return Finding(name=NAME, state="failed", message=str(error), fix=error.fix or _FIX)


def _task_faults(entry: Entry, registry: Registry) -> list[str]:
    faults = []
    for number, name in enumerate(entry.spec.file.tasks):
        try:
            registry.task(name)
        except InputError as error:
            faults.append(f"{_line_in_toml(entry, f'.tasks[{number}]')}: {error}")
    return faults


def _code_faults(entry: Entry) -> list[str]:
    try:
        source_digest(entry.at)
        signature = signature_of(entry)
    except InputError as error:
        return [str(error)]
    faults = [
        *_config_faults(entry, signature, "config", entry.spec.config),
        *_config_faults(entry, signature, "smoke", entry.spec.file.smoke),
    ]
    if not faults:
        try:
            effective_config(
                signature, entry.spec.config, {}, where=_line_in_toml(entry, ".config")
            )
        except InputError as error:
            faults.append(str(error))
    return faults


def _config_faults(
    entry: Entry, signature: Signature, table: str, given: dict[str, Any]
) -> list[str]:
    faults = []
    for name, value in given.items():
        # One at a time, so that every faulty value is named and not only the first.
        single = replace(
            signature,
            parameters={n: p for n, p in signature.parameters.items() if n == name},
        )
        where = _line_in_toml(entry, f".{table}.{name}")
        known = name in signature.parameters
        try:
            effective_config(single if known else signature, {name: value}, {}, where=where)
        except InputError as error:
            faults.append(str(error))
    return faults


def _line_in_toml(entry: Entry, path: str) -> str:
    file = Path(entry.at.folder) / ENTRY_FILE
    return f"{file}:{toml.line_of(file.read_text(encoding='utf-8'), path)}"
