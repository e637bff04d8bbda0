"""The linear entries and controls: run directly, without the engine."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import Lasso

from podium import baselines
from podium.baselines.correlation import method as correlation
from podium.baselines.lasso_var import method as lasso_var
from podium.baselines.pcmci import method as pcmci
from podium.baselines.random_scores import method as random_scores
from podium.baselines.var_granger import method as var_granger
from podium.benchmarks.granger_recovery import simulate
from podium.contracts import Array, Problem
from podium.data.lags import lagged_design
from podium.declarations.entry import EntryFile
from podium.errors import InputError
from podium.metrics.graph import auroc
from podium.seeding import generator

Floats = npt.NDArray[np.float64]
LAGGED: tuple[ModuleType, ...] = (correlation, lasso_var, pcmci, var_granger)
ALL: tuple[ModuleType, ...] = (*LAGGED, random_scores)
by_entry = pytest.mark.parametrize("method", ALL, ids=lambda m: m.__name__.split(".")[-2])
by_lagged = pytest.mark.parametrize("method", LAGGED, ids=lambda m: m.__name__.split(".")[-2])


class PlainContext:
    """What a method is given, and what it logged."""

    device = "cpu"
    threads = 1
    scratch = Path("unused")
    budget_left = float("inf")

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.logged: dict[str, float] = {}

    def rng(self, name: str) -> np.random.Generator:
        return generator(self.seed, name)

    def torch_generator(self, name: str, device: str | None = None) -> Any:
        raise AssertionError(f"no linear entry uses torch: {name} {device}")

    def log(self, step: int, **values: float) -> None:
        assert step == 0
        self.logged |= values

    def progress(self, done: float, total: float, note: str = "") -> None:
        assert 0 <= done <= total
        assert note

    def emit(self, name: str, chunk: Array) -> None:
        raise AssertionError(f"scores are small: {name} {chunk.shape}")


def given(series: npt.ArrayLike, *lengths: int) -> Problem:
    values = np.array(series, dtype=np.float64)
    sizes = np.array(lengths or (len(values),), dtype=np.int64)
    values.setflags(write=False)
    sizes.setflags(write=False)
    return Problem("granger_recovery", "test", "smoke", {"series": values, "lengths": sizes})


def scores_of(
    method: ModuleType, problem: Problem, context: PlainContext | None = None, **config: Any
) -> Floats:
    run: Callable[..., Any] = method.run
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        prediction = run(problem, context or PlainContext(), **config)
    assert set(prediction) == {"scores"}
    scores = np.asarray(prediction["scores"])
    d = problem.public["series"].shape[1]
    assert scores.shape == (d, d)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    return scores


def chain(steps: int = 400, seed: int = 0) -> tuple[Floats, Floats]:
    """0 drives 1 at lag 1, 1 drives 2 at lag 2; returns the series and the graph."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((steps, 3))
    for t in range(2, steps):
        x[t, 1] += 0.8 * x[t - 1, 0]
        x[t, 2] -= 0.8 * x[t - 2, 1]
    graph = np.zeros((3, 3))
    graph[1, 0] = graph[2, 1] = 1
    return x, graph


@by_entry
def test_declaration(method: ModuleType) -> None:
    name = method.__name__.split(".")[-2]
    raw = (Path(baselines.__path__[0]) / name / "entry.toml").read_bytes()
    entry = msgspec.toml.decode(raw, type=EntryFile)
    assert entry.id == name
    series, _ = chain(100)
    scores_of(method, given(series), **entry.config)
    assert entry.seeded == (method is random_scores)


@by_lagged
def test_target_and_source_are_not_confused(method: ModuleType) -> None:
    series, graph = chain()
    scores = scores_of(method, given(series))
    strongest = np.argsort(scores[~np.eye(3, dtype=bool)])[-2:]
    assert set(strongest) == set(np.flatnonzero(graph[~np.eye(3, dtype=bool)]))


@by_lagged
def test_order_and_scale_of_variables_do_not_matter(method: ModuleType) -> None:
    series, _ = chain(200)
    order = [2, 0, 1]
    plain = scores_of(method, given(series))
    moved = scores_of(method, given(series[:, order] * [3.0, 0.1, 10.0] + 5.0))
    # Coordinate descent stops at a tolerance, the others are exact.
    slack = 1e-4 if method is lasso_var else 1e-8
    np.testing.assert_allclose(moved, plain[np.ix_(order, order)], rtol=1e-6, atol=slack)


@by_lagged
def test_a_border_is_not_crossed(method: ModuleType) -> None:
    """A copy shifted by the border's jump would be an edge only across the border."""
    rng = np.random.default_rng(0)
    pieces = [rng.standard_normal((60, 3)) + 50 * k for k in range(3)]
    joined = scores_of(method, given(np.concatenate(pieces), 60, 60, 60))
    swapped = scores_of(method, given(np.concatenate(pieces[::-1]), 60, 60, 60))
    if method is lasso_var:
        # Its folds follow the order of the rows, so that only the strongest edge must stay.
        assert joined.argmax() == swapped.argmax()
    else:
        np.testing.assert_allclose(joined, swapped, rtol=1e-6, atol=1e-9)


@by_entry
def test_deterministic_under_one_seed(method: ModuleType) -> None:
    problem = given(chain(150)[0])
    first = scores_of(method, problem, PlainContext(0))
    np.testing.assert_array_equal(first, scores_of(method, problem, PlainContext(0)))
    other = scores_of(method, problem, PlainContext(1))
    assert np.array_equal(first, other) == (method is not random_scores)


@by_entry
def test_global_random_state_is_left_alone(method: ModuleType) -> None:
    problem = given(chain(100)[0])
    before = pickle.dumps(np.random.get_state())
    scores_of(method, problem)
    assert pickle.dumps(np.random.get_state()) == before


@by_entry
def test_nothing_is_printed(method: ModuleType, capfd: pytest.CaptureFixture[str]) -> None:
    scores_of(method, given(chain(100)[0], 50, 50))
    assert capfd.readouterr() == ("", "")


@by_lagged
@pytest.mark.parametrize("constant", [(1,), (0, 3), (0, 1, 2, 3)])
def test_constant_columns_have_no_edges(method: ModuleType, constant: tuple[int, ...]) -> None:
    columns = list(constant)
    series = np.random.default_rng(0).standard_normal((80, 4))
    series[:, columns] = 0.3
    scores = scores_of(method, given(series))
    assert not scores[columns].any()
    assert not scores[:, columns].any()
    # A lasso may find nothing in noise.
    if method is not lasso_var and len(constant) < 4:
        assert scores.any()


@by_lagged
def test_a_column_that_only_moves_before_the_first_row(method: ModuleType) -> None:
    series = np.random.default_rng(0).standard_normal((80, 3))
    series[:, 1] = 0.0
    series[0, 1] = 1.0
    scores_of(method, given(series))


@by_lagged
def test_equal_columns_do_not_crash(method: ModuleType) -> None:
    series = np.random.default_rng(0).standard_normal((80, 3))
    series[:, 2] = series[:, 0]
    scores_of(method, given(series))


@by_lagged
def test_short_and_holed_series_are_refused(method: ModuleType) -> None:
    name = "max_lags" if method is var_granger else "lags"
    with pytest.raises(InputError, match="too short"):
        method.run(given(np.arange(9.0).reshape(3, 3), 2, 1), PlainContext(), **{name: 1})
    series = chain(60)[0]
    series[7, 1] = np.nan
    with pytest.raises(InputError, match="time 7, variable 1"):
        method.run(given(series), PlainContext())
    for bad in (0, 2.5):
        with pytest.raises(InputError, match="lags"):
            method.run(given(chain(60)[0]), PlainContext(), **{name: bad})


def test_other_arguments_are_checked() -> None:
    problem = given(chain(60)[0])
    for method, config in (
        (lasso_var, {"folds": 1}),
        (lasso_var, {"folds": 40}),
        (lasso_var, {"penalties": 0}),
        (pcmci, {"pc_alpha": 1.0}),
        (pcmci, {"lags": 30}),
    ):
        with pytest.raises(InputError, match="|".join(config) + "|PCMCI"):
            method.run(problem, PlainContext(), **config)


def test_linear_data_is_recovered() -> None:
    coefficients, graph = simulate.var_coefficients(8, 3, 0.3, np.random.default_rng(0))
    series = simulate.var_series(coefficients, 500, 100, np.random.default_rng(1))
    values = {
        m.__name__.split(".")[-2]: auroc(scores_of(m, given(series)), graph, diagonal="keep")
        for m in LAGGED
    }
    assert min(values["lasso_var"], values["var_granger"], values["pcmci"]) > 0.97
    assert values["correlation"] < values["var_granger"]


def test_correlation_by_numpy() -> None:
    series = chain(60)[0]
    scores = scores_of(correlation, given(series), lags=2)
    x, y = lagged_design(series, [60], 2)
    for i in range(3):
        for j in range(3):
            both = [abs(np.corrcoef(y[:, i], x[:, 3 * k + j])[0, 1]) for k in range(2)]
            assert scores[i, j] == pytest.approx(max(both), abs=1e-12)


def test_lasso_path_agrees_with_single_fits() -> None:
    x, y = lagged_design(chain(120)[0], [120], 2)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    grid = np.array([[0.3, 0.1, 0.05]] * 3)
    paths, unconverged = lasso_var._paths(x, y, grid)
    assert unconverged == 0
    for i in range(3):
        for k in range(3):
            single = Lasso(alpha=grid[i, k], tol=1e-10, max_iter=10_000).fit(x, y[:, i])
            np.testing.assert_allclose(paths[i][:, k], single.coef_, atol=2e-3)


def test_lasso_says_when_it_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lasso_var, "_ITERATIONS", 1)
    context = PlainContext()
    scores_of(lasso_var, given(np.cumsum(chain(100)[0], axis=0)), context)
    assert context.logged["unconverged"] > 0


def test_a_target_nothing_correlates_with_has_no_coefficient() -> None:
    # Alternating columns whose past is exactly uncorrelated with the other's present.
    series = np.tile([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]], (12, 1))
    scores_of(lasso_var, given(series), lags=1, folds=2)


def test_random_scores_differ_and_lie_in_the_unit_interval() -> None:
    scores = scores_of(random_scores, given(np.zeros((3, 9))))
    assert np.unique(scores).size == 81
    assert scores.min() >= 0
    assert scores.max() < 1
