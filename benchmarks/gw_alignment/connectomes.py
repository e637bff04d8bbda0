"""Published connectomes: eight worms with named neurons, and the two sides of a fly larva."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from podium.benchmarks.gw_alignment.generate import Graph, from_pairs
from podium.errors import InputError

Ints = npt.NDArray[np.int64]
Edges = list[tuple[str, str]]

_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_HEADER = ("pre", "post", "type", "synapses")
_CELL_TYPES = ("K", "P", "O", "I")


def read_worm(file: Path) -> Edges:
    """Read the connections of one worm as (pre, post) names, from a sheet with four columns.

    Raises:
        InputError: the file is not such a sheet.
    """
    rows = list(_sheet(file))
    if not rows or tuple(rows[0]) != _HEADER or any(len(row) != len(_HEADER) for row in rows):
        raise InputError(
            "not the connections of a worm",
            where=str(file),
            expected=f"the columns {', '.join(_HEADER)}",
            found=", ".join(rows[0]) if rows else "an empty sheet",
        )
    return [(row[0], row[1]) for row in rows[1:]]


def worm_graphs(worms: Sequence[Edges], pair: tuple[int, int]) -> tuple[Graph, Graph]:
    """Return two worms' graphs on the neurons that all ``worms`` have, in one alphabetical order.

    An edge joins two neurons with a chemical or electrical synapse in either direction.

    Args:
        worms: connections of each worm.
        pair: positions in ``worms`` of the two.
    """
    shared = set.intersection(*({name for edge in worm for name in edge} for worm in worms))
    place = {name: k for k, name in enumerate(sorted(shared))}
    first, second = (_graph(worms[k], place) for k in pair)
    return first, second


def _graph(edges: Edges, place: dict[str, int]) -> Graph:
    pairs = [(place[u], place[v]) for u, v in edges if u != v and u in place and v in place]
    return from_pairs(np.array(pairs, dtype=np.int64).reshape(-1, 2), len(place))


def read_larva(adjacency: Path, labels: Path) -> tuple[Graph, Ints]:
    """Read one side of the fly larva's mushroom body: its graph and its neurons' types.

    An edge joins two neurons with a synapse in either direction.

    Returns:
        The adjacency matrix [n, n], and int64 [n], the position in K, P, O, I (Kenyon cells,
        projection, output and input neurons).

    Raises:
        InputError: not a square matrix of counts, or a type that is not one of the four.
    """
    try:
        counts = np.loadtxt(adjacency, dtype=np.float64, ndmin=2)
    except ValueError as error:
        raise InputError(
            "not a matrix of counts", where=str(adjacency), found=str(error)
        ) from error
    types = labels.read_text(encoding="ascii").split()
    if counts.shape != (len(types), len(types)):
        raise InputError(
            "the matrix does not fit the cell types",
            where=str(adjacency),
            expected=f"{len(types)} rows and columns",
            found=f"shape {list(counts.shape)}",
        )
    unknown = sorted(set(types) - set(_CELL_TYPES))
    if unknown:
        raise InputError(
            "unknown cell type",
            where=str(labels),
            expected=f"one of {', '.join(_CELL_TYPES)}",
            found=", ".join(unknown),
        )
    pairs = np.argwhere(counts)
    graph = from_pairs(pairs[pairs[:, 0] != pairs[:, 1]], len(types))
    return graph, np.array([_CELL_TYPES.index(kind) for kind in types], dtype=np.int64)


def _sheet(file: Path) -> Iterator[list[str]]:
    """Yield the non-empty rows of a workbook's first sheet as text."""
    try:
        with zipfile.ZipFile(file) as book:
            shared = _xml(book, "xl/sharedStrings.xml")
            sheet = _xml(book, "xl/worksheets/sheet1.xml")
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        raise InputError(
            "not a workbook", where=str(file), expected="an .xlsx file", found=str(error)
        ) from error
    texts = ["".join(t.text or "" for t in item.iter(f"{_SHEET}t")) for item in shared]
    for row in sheet.iter(f"{_SHEET}row"):
        cells = [_text(cell, texts) for cell in row.iter(f"{_SHEET}c")]
        if any(cells):
            yield cells


def _xml(book: zipfile.ZipFile, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(book.read(name))


def _text(cell: ElementTree.Element, texts: list[str]) -> str:
    value = cell.findtext(f"{_SHEET}v") or ""
    return texts[int(value)] if cell.get("t") == "s" else value
