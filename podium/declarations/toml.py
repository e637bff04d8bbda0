"""Read TOML declarations; every fault names the file and the line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from podium.errors import InputError

T = TypeVar("T")

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(
    r"""^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"))*)\s*="""
)
_INLINE_KEY = re.compile(r"""([A-Za-z0-9_-]+)\s*=(?!=)""")
_PATH_PART = re.compile(r"\.([A-Za-z0-9_-]+)|\[(\d+|\.\.\.)\]")


def load(path: Path, kind: type[T]) -> T:
    """Read a TOML file into a declaration.

    Raises:
        InputError: the file is missing, is not UTF-8 TOML, repeats a key, has an unknown key, or a
            value is not what the declaration asks for. The message starts with ``file:line``.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            "no such file", where=str(path), expected=f"a declaration named {path.name}"
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(
            "the file is not UTF-8 text",
            where=str(path),
            found=f"byte {error.start}: {error.reason}",
        ) from None
    except OSError as error:
        raise InputError(
            "the file cannot be read", where=str(path), found=error.strerror or str(error)
        ) from None
    return parse(text, kind, where=str(path))


def parse(text: str, kind: type[T], *, where: str) -> T:
    """Read TOML text into a declaration; ``where`` stands for the file in messages.

    Raises:
        InputError: see ``load``.
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(text, str(error), where) from None
    except RecursionError:
        raise InputError("the TOML is nested too deeply", where=where) from None
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        raise _shape_error(text, str(error), kind, where) from None


def _syntax_error(text: str, message: str, where: str) -> InputError:
    match = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", message)
    line = int(match[1]) if match and match[1] else text.count("\n") + 1
    reason = message[: match.start()].strip() if match else message
    lines = text.splitlines()
    found = lines[line - 1].strip() if 0 < line <= len(lines) else "the end of the file"
    if reason.startswith(("Cannot overwrite a value", "Cannot declare", "Cannot mutate")):
        return InputError(
            "a key or table stands twice",
            where=f"{where}:{line}",
            expected="each key once in its table",
            found=found,
            fix="remove one of the two",
        )
    return InputError(f"not valid TOML: {reason}", where=f"{where}:{line}", found=found)


def _shape_error(text: str, message: str, kind: type[Any], where: str) -> InputError:
    reason, _, tail = message.partition(" - at `$")
    path = tail.rstrip("`")
    unknown = re.match(r"Object contains unknown field `(.*)`$", reason)
    if unknown:
        name = unknown[1]
        line = line_of(text, f"{path}.{name}")
        allowed = _fields_at(kind, path)
        return InputError(
            f"unknown key {name!r}",
            where=f"{where}:{line}",
            expected=f"one of {', '.join(allowed)}" if allowed else None,
            fix=_suggestion(name, allowed),
        )
    missing = re.match(r"Object missing required field `(.*)`$", reason)
    line = line_of(text, path)
    if missing:
        owner = path.lstrip(".") or "the file"
        return InputError(
            f"the key {missing[1]!r} is missing from {owner}", where=f"{where}:{line}"
        )
    subject = path.lstrip(".")
    value = re.match(r"Invalid enum value '?(.*?)'?$", reason)
    if value:
        words = _values_at(kind, path)
        return InputError(
            f"{subject}: {value[1]!r} is none of its values",
            where=f"{where}:{line}",
            expected=f"one of {', '.join(words)}" if words else None,
            fix=_suggestion(value[1], words),
        )
    return InputError(f"{subject}: {reason}" if subject else reason, where=f"{where}:{line}")


def _suggestion(name: str, allowed: list[str]) -> str | None:
    from difflib import get_close_matches

    close = get_close_matches(name, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else None


def _fields_at(kind: type[Any], path: str) -> list[str]:
    """Return the key names a declaration allows at a path such as ``.metrics[0]``."""
    from msgspec import inspect

    node = _type_at(kind, path)
    return [f.encode_name for f in node.fields] if isinstance(node, inspect.StructType) else []


def _values_at(kind: type[Any], path: str) -> list[str]:
    """Return the words a declaration allows at a path such as ``.kind``."""
    from msgspec import inspect

    node = _type_at(kind, path)
    return [str(v) for v in node.values] if isinstance(node, inspect.LiteralType) else []


def _type_at(kind: type[Any], path: str) -> Any:
    """Return the inspected type at a path, or ``None`` where the path leads nowhere."""
    from msgspec import inspect

    node: Any = inspect.type_info(kind)
    for match in _PATH_PART.finditer(path):
        node = _plain(node)
        if match[1] is not None and isinstance(node, inspect.StructType):
            node = next((f.type for f in node.fields if f.encode_name == match[1]), None)
        elif isinstance(node, inspect.VarTupleType | inspect.ListType):
            node = node.item_type
        elif isinstance(node, inspect.DictType):
            node = node.value_type
        else:
            return None
    return _plain(node)


def _plain(node: Any) -> Any:
    """Drop metadata and ``None`` alternatives from an inspected type."""
    from msgspec import inspect

    while True:
        if isinstance(node, inspect.Metadata):
            node = node.type
        elif isinstance(node, inspect.UnionType):
            node = next((t for t in node.types if not isinstance(t, inspect.NoneType)), None)
        else:
            return node


def line_of(text: str, path: str) -> int:
    """Return the line (from 1) where a path such as ``.metrics[0].range`` is set.

    The deepest part of the path that has a line of its own decides; the first line otherwise.
    """
    wanted = [m[1] if m[1] is not None else m[2] for m in _PATH_PART.finditer(path)]
    best, best_length = 1, 0
    for line, keys in _key_lines(text):
        depth = 0
        while depth < min(len(keys), len(wanted)) and wanted[depth] in (keys[depth], "..."):
            depth += 1
        if depth == len(keys) and depth > best_length:
            best, best_length = line, depth
    return best


def _key_lines(text: str) -> list[tuple[int, list[str]]]:
    """List every key and table header with its line, as a path of names and indices."""
    result: list[tuple[int, list[str]]] = []
    counts: dict[tuple[str, ...], int] = {}
    table: list[str] = []
    fence: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if fence is not None:
            if fence in line:
                fence = None
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _resolve(_names(header[2]), counts, is_list=header[1] == "[[")
            result.append((number, table))
        elif key:
            keys = [*table, *_names(key[1])]
            result.append((number, keys))
            inline = line[key.end() :]
            if "{" in inline:
                result += [(number, [*keys, m[1]]) for m in _INLINE_KEY.finditer(inline)]
        for quotes in ('"""', "'''"):
            if line.count(quotes) % 2 == 1:
                fence = quotes
    return result


def _names(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]


def _resolve(names: list[str], counts: dict[tuple[str, ...], int], *, is_list: bool) -> list[str]:
    """Turn a header's names into a path with the index of each enclosing list of tables."""
    path: list[str] = []
    for depth, name in enumerate(names):
        path.append(name)
        here = tuple(path)
        if is_list and depth == len(names) - 1:
            counts[here] = counts.get(here, -1) + 1
        if here in counts:
            path.append(str(counts[here]))
    return path
