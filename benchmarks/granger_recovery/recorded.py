"""Published series with a known graph: DREAM3, NetSim, and the air-quality data of CausalTime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from podium.errors import InputError

Floats = npt.NDArray[np.float64]
Graph = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]


def read_dream3(series_file: Path, edges_file: Path, size: int) -> tuple[Floats, Lengths, Graph]:
    """Read one DREAM3 in-silico network.

    Series: tab-separated, a header, the time in the first column, trajectories apart by blank
    lines. Edges: ``source``, ``target``, 0 or 1 in each line; genes are named ``G1`` ... ``Gd``.

    Returns:
        float64 [time, size], int64 [trajectories], uint8 [target, source].

    Raises:
        InputError: the files are not of this form.
    """
    blocks: list[list[list[float]]] = [[]]
    lines = series_file.read_text(encoding="ascii").splitlines()
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split()
        if not fields:
            blocks.append([])
        elif len(fields) == size + 1:
            blocks[-1].append([float(field) for field in fields[1:]])
        else:
            raise InputError(
                "a line of the series has the wrong number of columns",
                where=f"{series_file}:{number}",
                expected=f"{size + 1}, time and {size} genes",
                found=str(len(fields)),
            )
    trajectories = [block for block in blocks if block]
    series = np.array([row for block in trajectories for row in block], dtype=np.float64)
    lengths = np.array([len(block) for block in trajectories], dtype=np.int64)
    return series, lengths, _dream3_graph(edges_file, size)


def _dream3_graph(file: Path, size: int) -> Graph:
    genes = {f"G{k + 1}": k for k in range(size)}
    graph = np.zeros((size, size), dtype=np.uint8)
    for number, line in enumerate(file.read_text(encoding="ascii").splitlines(), start=1):
        match line.split():
            case []:
                continue
            case [source, target, ("0" | "1") as edge] if source in genes and target in genes:
                graph[genes[target], genes[source]] = int(edge)
            case _:
                raise InputError(
                    "a line of the edge list cannot be read",
                    where=f"{file}:{number}",
                    expected=f"source, target, 0 or 1, with genes G1 to G{size}",
                    found=repr(line),
                )
    return graph


def read_netsim(file: Path, size: int, subjects: int) -> tuple[Floats, Lengths, Graph]:
    """Read the first subjects of a NetSim simulation (a MATLAB file).

    ``ts`` holds all subjects one after the other, ``net[subject, source, target]`` the strength of
    each connection with -1 on the diagonal (the node's own decay, not an edge).

    Returns:
        float64 [time, size], one trajectory a subject as int64 [subjects], uint8 [target, source].

    Raises:
        InputError: fewer subjects, another size, or subjects that differ in their graph.
    """
    from scipy.io import loadmat

    content: dict[str, Any] = loadmat(file, variable_names=["ts", "net"])
    ts = np.asarray(content["ts"], dtype=np.float64)
    net = np.asarray(content["net"])
    if net.shape[0] < subjects or net.shape[1:] != (size, size) or ts.shape[1] != size:
        raise InputError(
            "not the simulation that is asked for",
            where=str(file),
            expected=f"at least {subjects} subjects of {size} nodes",
            found=f"ts {list(ts.shape)}, net {list(net.shape)}",
        )
    edges = (net[:subjects] != 0) & ~np.eye(size, dtype=np.bool_)
    if (edges != edges[0]).any():
        raise InputError(
            "the subjects do not share one graph",
            where=str(file),
            expected=f"the same edges in the first {subjects} subjects",
            found="edges that differ",
        )
    steps = len(ts) // len(net)
    lengths = np.full(subjects, steps, dtype=np.int64)
    return ts[: subjects * steps], lengths, edges[0].T.astype(np.uint8)


def read_air_quality(series_file: Path, graph_file: Path) -> tuple[Floats, Lengths, Graph]:
    """Read the hourly PM2.5 measurements and the station graph that CausalTime starts from.

    Gaps are filled linearly in time, gaps at an end with the nearest measurement. The graph joins
    stations that lie close to each other and is symmetric.

    Returns:
        float64 [time, stations], int64 [1], uint8 [target, source].
    """
    series = np.load(series_file, allow_pickle=False).astype(np.float64)
    graph = np.load(graph_file, allow_pickle=False)
    hours = np.arange(len(series))
    for column in series.T:
        measured = np.isfinite(column)
        column[~measured] = np.interp(hours[~measured], hours[measured], column[measured])
    return series, np.array([len(series)], dtype=np.int64), (graph.T != 0).astype(np.uint8)
