"""Read records: the local store merged over the records that are bundled with Podium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from podium.errors import InputError
from podium.store.location import DEFAULT_STORE, STORE_VARIABLE, store_folder
from podium.store.newest import Identity, newest
from podium.store.record import Record
from podium.store.snapshot import read_bundled
from podium.store.store import Store

Source = Literal["local", "bundled"]


@dataclass(frozen=True)
class Loaded:
    """Records that stand for their runs, and where each comes from.

    ``records`` are of each task's current version, one for each identity. ``stale`` are of another
    version, whose scores must not be compared with them. ``store`` is the local folder that was
    read, if any. ``notices`` are sentences that the reader of a table has to see. ``displaced`` are
    local runs that gave no score where a bundled record of the same run did, which stands.
    """

    records: tuple[Record, ...]
    stale: tuple[Record, ...]
    sources: Mapping[Identity, Source]
    store: Path | None
    notices: tuple[str, ...]
    displaced: tuple[Record, ...] = ()

    def count(self, source: Source, records: Sequence[Record] | None = None) -> int:
        """Return how many of ``records`` (default: all current ones) come from ``source``."""
        chosen = self.records if records is None else records
        return sum(self.sources[r.identity] == source for r in chosen)


def locate_store(store: Path | None) -> tuple[Path | None, str | None]:
    """Return the local store to read, and a notice where an expected one is absent.

    The order is ``store``, then ``$PODIUM_STORE``, then ``./results`` if it exists.

    Raises:
        InputError: ``store`` was given and is no folder.
    """
    folder = store_folder(store)
    if folder.is_dir():
        return folder, None
    if store is not None:
        raise InputError(
            "there is no store here",
            where=str(store),
            expected="a folder written by podium run",
            found="a file" if folder.exists() else "nothing",
            fix="name the folder with --store, or leave it out to read the bundled records",
        )
    if folder != DEFAULT_STORE:
        return None, f"{STORE_VARIABLE} names {folder}, where there is no store yet"
    return None, None


def load_records(
    store: Path | None = None,
    *,
    only: Source | None = None,
    task: str | None = None,
    versions: Mapping[str, int] | None = None,
) -> Loaded:
    """Read the local store merged over the bundled records.

    A local record stands before a bundled one of the same identity, unless only the bundled one is
    ``ok``, or the local run was skipped; among records of one source the newest stands.

    Args:
        store: the local store; see :func:`locate_store` for what ``None`` means.
        only: read nothing but this source.
        task: read only this task's records.
        versions: the current version of each task; a task that is not named counts as being at
            the highest version that was read.

    Raises:
        InputError: the store is missing, ``only`` is unknown, or a bundled file is damaged.
    """
    if only not in (None, "local", "bundled"):
        raise InputError("unknown source", where="--only", expected="local, bundled", found=only)
    notices: list[str] = []
    path: Path | None = None
    local: list[Record] = []
    bundled: list[Record] = []
    if only != "bundled":
        path, notice = locate_store(store)
        if notice is not None:
            notices.append(notice)
        if path is not None:
            local = newest(Store(path).records(task))
        elif only == "local" and notice is None:
            notices.append(f"no local store: neither {STORE_VARIABLE} nor ./{DEFAULT_STORE} exists")
    if only != "local":
        bundled = newest(read_bundled(task))
    chosen: dict[Identity, tuple[Record, Source]] = {r.identity: (r, "bundled") for r in bundled}
    displaced: list[Record] = []
    for record in local:
        other = chosen.get(record.identity)
        if other is not None and record.status != "ok" and other[0].status == "ok":
            displaced.append(record)
            continue
        if other is not None and record.status == "skipped":
            continue
        chosen[record.identity] = (record, "local")
    current = dict(versions or {})
    for record, _ in chosen.values():
        if record.task not in (versions or {}):
            current[record.task] = max(record.task_version, current.get(record.task, 0))
    kept = [r for r, _ in chosen.values() if r.task_version == current[r.task]]
    stale = [r for r, _ in chosen.values() if r.task_version != current[r.task]]
    return Loaded(
        records=tuple(kept),
        stale=tuple(stale),
        sources={identity: source for identity, (_, source) in chosen.items()},
        store=path,
        notices=tuple(notices),
        displaced=tuple(displaced),
    )
