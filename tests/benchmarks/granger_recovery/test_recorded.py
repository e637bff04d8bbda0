"""The loaders of published series: formats, orientation, and counts of the real files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from podium.benchmarks.granger_recovery import recorded
from podium.contracts import Instance, Recipe
from podium.errors import InputError

Build = Callable[[str, int], tuple[Recipe, Instance]]

# Edges of the gold standards, in the order Ecoli1, Ecoli2, Yeast1, Yeast2, Yeast3:
# Marbach et al. 2009 (J. Comput. Biol. 16), Prill et al. 2010 (PLoS ONE 5).
DREAM3_EDGES = {
    10: (11, 15, 10, 25, 22),
    50: (62, 82, 77, 160, 173),
    100: (125, 119, 166, 389, 551),
}
NETWORKS = ("ecoli1", "ecoli2", "yeast1", "yeast2", "yeast3")


def dream3_files(tmp_path: Path, series: str, edges: str) -> tuple[Path, Path]:
    (tmp_path / "s.tsv").write_text(series)
    (tmp_path / "e.txt").write_text(edges)
    return tmp_path / "s.tsv", tmp_path / "e.txt"


def test_dream3_borders_and_orientation(tmp_path: Path) -> None:
    files = dream3_files(
        tmp_path,
        '"Time"\t"G1"\t"G2"\n0.0\t1\t2\n10.0\t3\t4\n\n0.0\t5\t6\n\n',
        "G1\tG2\t1\r\nG2\tG1\t0\r\n",
    )
    series, lengths, graph = recorded.read_dream3(*files, 2)
    np.testing.assert_array_equal(series, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(lengths, [2, 1])
    assert lengths.dtype == np.int64
    # G1 drives G2: row of the target, column of the source.
    np.testing.assert_array_equal(graph, [[0, 0], [1, 0]])


def test_dream3_faults_are_placed(tmp_path: Path) -> None:
    good = '"Time"\t"G1"\t"G2"\n0.0\t1\t2\n'
    with pytest.raises(InputError, match=r"s\.tsv:3(.|\n)*expected: 3"):
        recorded.read_dream3(*dream3_files(tmp_path, good + "1.0\t2\n", "G1\tG2\t1\n"), 2)
    for line in ("G1\tG3\t1", "G1\tG2\t2", "G1\tG2"):
        with pytest.raises(InputError, match=r"e\.txt:2"):
            recorded.read_dream3(*dream3_files(tmp_path, good, f"G1\tG2\t1\n{line}\n"), 2)


def test_netsim_orientation_and_subjects(tmp_path: Path) -> None:
    net = np.zeros((3, 2, 2))
    net[:, 0, 1] = 0.4
    net[:, range(2), range(2)] = -1
    ts = np.arange(12.0).reshape(6, 2)
    savemat(tmp_path / "n.mat", {"ts": ts, "net": net})
    series, lengths, graph = recorded.read_netsim(tmp_path / "n.mat", 2, 2)
    np.testing.assert_array_equal(series, ts[:4])
    np.testing.assert_array_equal(lengths, [2, 2])
    # net[0, 1]: node 0 drives node 1.
    np.testing.assert_array_equal(graph, [[0, 0], [1, 0]])
    with pytest.raises(InputError, match="at least 4 subjects of 2 nodes"):
        recorded.read_netsim(tmp_path / "n.mat", 2, 4)
    net[1, 1, 0] = 0.2
    savemat(tmp_path / "n.mat", {"ts": ts, "net": net})
    with pytest.raises(InputError, match="share one graph"):
        recorded.read_netsim(tmp_path / "n.mat", 2, 2)


def test_air_quality_gaps_are_filled(tmp_path: Path) -> None:
    hole = np.nan
    series = np.array([[hole, 1], [2, hole], [hole, 3], [4, 4], [hole, 5]], dtype=np.float32)
    np.save(tmp_path / "d.npy", series)
    np.save(tmp_path / "g.npy", np.array([[1.0, 1.0], [0.0, 1.0]]))
    filled, lengths, graph = recorded.read_air_quality(tmp_path / "d.npy", tmp_path / "g.npy")
    np.testing.assert_array_equal(filled, [[2, 1], [2, 2], [3, 3], [4, 4], [4, 5]])
    np.testing.assert_array_equal(lengths, [5])
    np.testing.assert_array_equal(graph, [[1, 0], [1, 1]])


@pytest.mark.parametrize("size", [10, 50, 100])
@pytest.mark.parametrize("network", range(5))
def test_real_dream3(size: int, network: int, build_problem: Build) -> None:
    _, instance = build_problem(f"dream3-{size}-{NETWORKS[network]}", 0)
    trajectories = {10: 4, 50: 23, 100: 46}[size]
    assert instance.public["series"].shape == (21 * trajectories, size)
    assert list(instance.public["lengths"]) == [21] * trajectories
    graph = instance.hidden["graph"]
    assert graph.sum() == DREAM3_EDGES[size][network]
    assert not np.diag(graph).any()
    # Few regulators have many targets: columns are sources.
    assert graph.any(axis=0).sum() <= graph.any(axis=1).sum() + 1


@pytest.mark.parametrize(("size", "edges"), [(15, 18), (50, 61)])
def test_real_netsim(size: int, edges: int, build_problem: Build) -> None:
    _, instance = build_problem(f"netsim-{size}", 0)
    assert instance.public["series"].shape == (1000, size)
    assert list(instance.public["lengths"]) == [200] * 5
    assert instance.hidden["graph"].sum() == edges
    assert not np.diag(instance.hidden["graph"]).any()


def test_real_air_quality(build_problem: Build) -> None:
    _, instance = build_problem("causaltime-air-quality", 0)
    assert instance.public["series"].shape == (8759, 36)
    graph = instance.hidden["graph"]
    assert graph.sum() == 354
    assert np.diag(graph).all()
    np.testing.assert_array_equal(graph, graph.T)
