"""Publish the JSON Schemas of the declarations and of a record.

``python -m podium.declarations.schema`` rewrites ``podium/schemas/*.schema.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from podium.declarations.entry import EntryFile
from podium.declarations.suite import SuitesFile
from podium.declarations.task import TaskSpec
from podium.store.record import Record

FOLDER = Path(__file__).resolve().parent.parent / "schemas"
PUBLISHED: dict[str, type[Any]] = {
    "task": TaskSpec,
    "entry": EntryFile,
    "suites": SuitesFile,
    "record": Record,
}


def schema_text(name: str) -> str:
    """Return the JSON Schema (2020-12) of ``task``, ``entry``, ``suites`` or ``record``."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Podium {name}",
        **msgspec.json.schema(PUBLISHED[name]),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write_schemas(folder: Path = FOLDER) -> None:
    """Write every published schema into ``folder``."""
    for name in PUBLISHED:
        (folder / f"{name}.schema.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
