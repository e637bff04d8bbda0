"""Readers of published connectomes, on files written here."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from podium.benchmarks.gw_alignment import connectomes
from podium.errors import InputError

SPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
HEADER = ["pre", "post", "type", "synapses"]


def workbook(path: Path, rows: list[list[str]]) -> Path:
    """Write a sheet with texts shared and numbers in place, as spreadsheets do."""
    texts = sorted({cell for row in rows for cell in row if not cell.isdigit()})
    shared = "".join(f"<si><t>{text}</t></si>" for text in texts)
    body = ""
    for row in rows:
        cells = "".join(
            f"<c><v>{cell}</v></c>"
            if cell.isdigit()
            else f'<c t="s"><v>{texts.index(cell)}</v></c>'
            for cell in row
        )
        body += f"<row>{cells}</row>"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("xl/sharedStrings.xml", f'<sst xmlns="{SPACE}">{shared}</sst>')
        book.writestr(
            "xl/worksheets/sheet1.xml",
            f'<worksheet xmlns="{SPACE}"><sheetData>{body}<row><c/></row></sheetData></worksheet>',
        )
    return path


def test_worms_on_the_neurons_they_share(tmp_path: Path) -> None:
    first = [
        HEADER,
        ["B", "A", "chemical", "3"],
        ["A", "B", "electrical", "1"],
        ["B", "C", "chemical", "1"],
        ["C", "C", "chemical", "2"],
        ["C", "X", "chemical", "9"],
    ]
    second = [HEADER, ["A", "C", "chemical", "1"], ["B", "Y", "chemical", "1"]]
    worms = [
        connectomes.read_worm(workbook(tmp_path / f"{k}.xlsx", rows))
        for k, rows in enumerate((first, second))
    ]
    assert worms[1] == [("A", "C"), ("B", "Y")]
    left, right = connectomes.worm_graphs(worms, (0, 1))
    # A, B, C in this order; X and Y are not shared, and a synapse onto itself is no edge.
    np.testing.assert_array_equal(left.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(right.toarray(), [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    swapped = connectomes.worm_graphs(worms, (1, 0))
    np.testing.assert_array_equal(swapped[0].toarray(), right.toarray())


def test_what_is_no_worm_is_named(tmp_path: Path) -> None:
    other = workbook(tmp_path / "other.xlsx", [["from", "to"], ["A", "B"]])
    with pytest.raises(InputError, match=r"other\.xlsx: not the connections") as caught:
        connectomes.read_worm(other)
    assert "pre, post, type, synapses" in str(caught.value)
    assert "from, to" in str(caught.value)
    empty = workbook(tmp_path / "empty.xlsx", [])
    with pytest.raises(InputError, match="an empty sheet"):
        connectomes.read_worm(empty)
    text = tmp_path / "text.xlsx"
    text.write_text("pre,post\n")
    with pytest.raises(InputError, match=r"text\.xlsx: not a workbook"):
        connectomes.read_worm(text)
    hollow = tmp_path / "hollow.xlsx"
    with zipfile.ZipFile(hollow, "w") as book:
        book.writestr("other.xml", "<a/>")
    with pytest.raises(InputError, match=r"hollow\.xlsx: not a workbook"):
        connectomes.read_worm(hollow)


def test_larva(tmp_path: Path) -> None:
    counts, types = tmp_path / "adjacency.csv", tmp_path / "labels.csv"
    counts.write_text("5 2 0\n0 0 0\n0 1 0\n")
    types.write_text("K\nO\nI\n")
    graph, labels = connectomes.read_larva(counts, types)
    np.testing.assert_array_equal(graph.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(labels, [0, 2, 3])
    types.write_text("K\nO\nZ\n")
    with pytest.raises(InputError, match="unknown cell type"):
        connectomes.read_larva(counts, types)
    types.write_text("K\nO\n")
    with pytest.raises(InputError, match="does not fit the cell types"):
        connectomes.read_larva(counts, types)
    counts.write_text("1 2\nx 4\n")
    with pytest.raises(InputError, match="not a matrix of counts"):
        connectomes.read_larva(counts, types)
