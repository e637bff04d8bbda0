"""A folder of records: one strict JSON file a run, written by any number of processes."""

from __future__ import annotations

import hashlib
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import msgspec

from podium.errors import InputError, MissingError
from podium.store.files import check_writable, remove_stale, write_atomically
from podium.store.names import folder_name, record_name
from podium.store.newest import moment, newest
from podium.store.record import SCHEMA_VERSION, Record, Status

if TYPE_CHECKING:
    from podium.contracts import Prediction


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """What resuming needs of a record, decoded without the rest."""

    key: str
    key_parts: dict[str, str]
    task: str
    task_version: int
    tier: str
    problem: str
    entry: str
    seed: int
    status: Status
    finished: str
    schema: int = SCHEMA_VERSION

    @property
    def identity(self) -> tuple[str, int, str, str, str, int]:
        """What the run was of; see ``Record.identity``."""
        return (self.task, self.task_version, self.tier, self.problem, self.entry, self.seed)


class _Version(msgspec.Struct, frozen=True):
    """Of a record of any version, which one it is of."""

    schema: int = SCHEMA_VERSION


class Damaged(msgspec.Struct, frozen=True):
    """A record file that cannot be read, why, and what to do; ``newer``: of a later schema."""

    path: Path
    reason: str
    newer: bool = False


_Kept = TypeVar("_Kept", Record, Head)
_RECORD = msgspec.json.Decoder(Record)
_HEAD = msgspec.json.Decoder(Head)


def _tell(damaged: Damaged) -> None:
    kind, fix = (
        ("record of a newer Podium", "update Podium")
        if damaged.newer
        else ("damaged record", "delete the file and run again")
    )
    print(
        f"podium: {damaged.path}: {kind}, left out: {damaged.reason}\n  fix: {fix}",
        file=sys.stderr,
    )


class Store:
    """Records under ``root``, as ``<task>/<problem>-<entry>-s<seed>-<digest of the key>.json``.

    A damaged file never stops the others from being read; each is passed once to ``on_damage``
    (by default a line on standard error).
    """

    def __init__(self, root: Path | str, *, on_damage: Callable[[Damaged], None] = _tell) -> None:
        self.root = Path(root)
        self._on_damage = on_damage
        self._reported: set[Path] = set()

    def prepare(self) -> None:
        """Make the folder, prove that it can be written, and clear what dead writers left.

        Raises:
            MissingError: it cannot be written.
        """
        check_writable(self.root)
        for folder in [self.root, *self._folders(None)]:
            remove_stale(folder)

    def write(self, record: Record, prediction: Prediction | None = None) -> Path:
        """Write a record, and its prediction before it; return the record's path.

        The record is on disk (synced) when this returns. A record of the same key is replaced.

        Raises:
            InputError: a number in the record is not finite, a text is not valid Unicode, or a
                predicted array holds objects.
            MissingError: the store cannot be written or the disk is full; nothing is changed.
        """
        self.save(record, prediction)
        return self.path_of(record)

    def save(
        self,
        record: Record,
        prediction: Prediction | None = None,
        picture: bytes | None = None,
    ) -> Record:
        """Write as ``write`` does, and return the record as stored: with what lies beside it named.

        ``picture`` is the content of a PNG file.

        A run that was skipped was not carried out: it never replaces one of its key that was.
        """
        path = self.path_of(record)
        _refuse_non_finite(msgspec.to_builtins(record), str(path), "record")
        if prediction is not None:
            arrays = path.with_suffix(".npz")
            write_atomically(
                arrays, lambda file: _write_arrays(file, prediction, arrays), sync_name=False
            )
            with arrays.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            record = msgspec.structs.replace(
                record, predictions=arrays.name, predictions_sha256=digest
            )
        if picture is not None:
            drawn, content = path.with_suffix(".png"), picture
            write_atomically(drawn, lambda file: _write_all(file, content), sync_name=False)
            record = msgspec.structs.replace(record, picture=drawn.name)
        try:
            text = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
        except UnicodeEncodeError as error:
            raise InputError(
                "a text in the record is not valid Unicode",
                where=str(path),
                found=ascii(error.object)[:200],
            ) from error
        if record.status != "skipped" or not self._carried_out(path):
            write_atomically(path, lambda file: _write_all(file, text))
        return record

    def _carried_out(self, path: Path) -> bool:
        head = self._read(path, _HEAD)
        return head is not None and head.status != "skipped"

    def path_of(self, record: Record) -> Path:
        """Return where a record lies, or would."""
        name = record_name(record.problem, record.entry, record.seed, record.key)
        return self.root / folder_name(record.task) / f"{name}.json"

    def records(self, task: str | None = None) -> list[Record]:
        """Return the newest record of every run, ordered by identity."""
        return self._newest(_RECORD, task)

    def heads(self, task: str | None = None) -> list[Head]:
        """Return the same as ``records``, without what resuming does not need."""
        return self._newest(_HEAD, task)

    def finished(self, task: str | None = None) -> dict[str, Status]:
        """Return the status of every run by its key; only the newest of a run counts."""
        return {head.key: head.status for head in self.heads(task)}

    def prediction(self, record: Record) -> dict[str, Any]:
        """Return the arrays stored beside a record, after checking their digest.

        Raises:
            MissingError: the record has none, or the file is gone or was changed.
        """
        import numpy as np

        if record.predictions is None:
            raise MissingError("the record has no stored predictions", where=record.key)
        path = self.root / folder_name(record.task) / record.predictions
        if not path.is_file():
            raise MissingError("the file of predictions is missing", where=str(path))
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != record.predictions_sha256:
            raise MissingError(
                "the file of predictions was changed",
                where=str(path),
                expected=f"SHA-256 {record.predictions_sha256}",
                found=digest,
                fix="run it again with --force",
            )
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}

    def _newest(self, decoder: msgspec.json.Decoder[_Kept], task: str | None) -> list[_Kept]:
        read = (self._read(path, decoder) for path in self._files(task))
        # By key first: of two records of one moment the same one stands on every machine.
        found = sorted((item for item in read if item is not None), key=lambda item: item.key)
        return sorted(newest(found), key=lambda item: item.identity)

    def _read(self, path: Path, decoder: msgspec.json.Decoder[_Kept]) -> _Kept | None:
        content = b""
        try:
            content = path.read_bytes()
            item = decoder.decode(content)
            if item.schema <= SCHEMA_VERSION:
                moment(item.finished)
                return item
            damaged = Damaged(path, _newer(item.schema), newer=True)
        except FileNotFoundError:
            return None  # removed by someone else since the folder was listed
        except (OSError, msgspec.DecodeError, RecursionError, ValueError) as error:
            schema = _schema_of(content)
            damaged = (
                Damaged(path, _newer(schema), newer=True)
                if schema > SCHEMA_VERSION
                else Damaged(path, str(error))
            )
        if path not in self._reported:
            self._reported.add(path)
            self._on_damage(damaged)
        return None

    def _files(self, task: str | None) -> Iterator[Path]:
        for folder in self._folders(task):
            for item in _listed(folder):
                if item.name.endswith(".json") and item.name[0] != ".":
                    path = folder / item.name
                    # The listing knows what is a file at once, except behind a link.
                    if item.is_file(follow_symlinks=False) or path.is_file():
                        yield path

    def _folders(self, task: str | None) -> list[Path]:
        if task is not None:
            folder = self.root / folder_name(task)
            return [folder] if folder.is_dir() else []
        if not self.root.is_dir():
            return []
        names = sorted(item.name for item in _listed(self.root) if item.name[0] != ".")
        return [self.root / name for name in names if (self.root / name).is_dir()]


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except FileNotFoundError:
        return []  # removed by someone else a moment ago
    except OSError as error:
        raise MissingError(
            "this folder of the results store cannot be read",
            where=str(folder),
            expected="a folder you may read",
            found=error.strerror or str(error),
            fix="choose another store with --store or PODIUM_STORE",
        ) from error


def _schema_of(content: bytes) -> int:
    """Return the schema that a record which cannot be decoded is of, as far as it says."""
    try:
        return msgspec.json.decode(content, type=_Version).schema
    except (msgspec.DecodeError, RecursionError):
        return SCHEMA_VERSION


def _newer(schema: int) -> str:
    return f"it has schema {schema}, this version reads {SCHEMA_VERSION}"


def _refuse_non_finite(value: object, where: str, name: str) -> None:
    """JSON has no NaN and no infinity; writing null in their place would hide them."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(
                f"{name} is not finite",
                where=where,
                expected="a finite number, or null with a reason",
                found=str(value),
            )
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_non_finite(item, where, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            _refuse_non_finite(item, where, f"{name}[{index}]")


def _write_arrays(file: BinaryIO, prediction: Mapping[str, Any], path: Path) -> None:
    import zipfile

    import numpy as np

    # Not numpy.savez: it takes the arrays as keywords, where a name may clash with its own.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(prediction):
            array = np.asanyarray(prediction[name])
            if array.dtype.hasobject:
                raise InputError(
                    f"the array {name!r} holds Python objects",
                    where=str(path),
                    expected="numbers, booleans or text",
                )
            member = zipfile.ZipInfo(f"{name}.npy")  # a fixed date: equal arrays, equal file
            with archive.open(member, "w", force_zip64=True) as out:
                np.lib.format.write_array(out, array, allow_pickle=False)


def _write_all(file: BinaryIO, text: bytes) -> None:
    file.write(text)
