"""Build and score the problems of Granger recovery."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from podium.benchmarks.granger_recovery import recorded, simulate
from podium.contracts import BuildContext, Instance, Prediction, Recipe, Scores
from podium.errors import InputError
from podium.metrics.graph import auprc, auroc

Floats = npt.NDArray[np.float64]
Graph = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]


class _Params(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="data"
):
    """What every problem declares: whether self-links are scored."""

    diagonal: Literal["keep", "drop"]


class Var(_Params, frozen=True, kw_only=True, tag="var"):
    """A sparse vector autoregression."""

    variables: int
    steps: int
    lags: int
    density: float
    burn_in: int


class Lorenz96(_Params, frozen=True, kw_only=True, tag="lorenz96"):
    """The Lorenz-96 model; ``dt`` in model time, ``noise`` as a standard deviation."""

    variables: int
    steps: int
    forcing: float
    dt: float
    noise: float
    burn_in: int


class Dream3(_Params, frozen=True, kw_only=True, tag="dream3"):
    """A DREAM3 in-silico network: Ecoli1, Ecoli2, Yeast1, Yeast2, Yeast3 are 0 to 4."""

    variables: int
    network: int


class NetSim(_Params, frozen=True, kw_only=True, tag="netsim"):
    """The first subjects of a NetSim simulation."""

    variables: int
    subjects: int


class AirQuality(_Params, frozen=True, kw_only=True, tag="air_quality"):
    """The air-quality measurements of CausalTime."""


AnyParams = Var | Lorenz96 | Dream3 | NetSim | AirQuality


def read_params(recipe: Recipe) -> AnyParams:
    """Return the problem's parameters, typed.

    Raises:
        InputError: a parameter is missing, unknown or of the wrong type.
    """
    try:
        params: AnyParams = msgspec.convert(dict(recipe.params), AnyParams)
    except msgspec.ValidationError as error:
        raise InputError(
            "bad parameters", where=f"{recipe.task}/{recipe.problem}", found=str(error)
        ) from error
    return params


def build(recipe: Recipe, context: BuildContext) -> Instance:
    """Make a problem: public ``series`` and ``lengths``, hidden ``graph``.

    Every variable is standardised over all its trajectories, so that its scale cannot tell how
    many parents it has; the variables are put in a random order, so that their place cannot tell
    who drives whom.
    """
    series, lengths, graph = _raw(read_params(recipe), context)
    order = context.rng("order").permutation(series.shape[1])
    return Instance(
        public={"series": standardise(series[:, order]), "lengths": lengths},
        hidden={"graph": graph[np.ix_(order, order)]},
    )


def score(prediction: Prediction, instance: Instance, recipe: Recipe) -> Scores:
    """Score ``scores[target, source]`` against the true graph."""
    diagonal = read_params(recipe).diagonal
    scores, graph = prediction["scores"], instance.hidden["graph"]
    return {
        "auroc": auroc(scores, graph, diagonal=diagonal),
        "auprc": auprc(scores, graph, diagonal=diagonal),
    }


def standardise(series: Floats) -> Floats:
    """Give every column mean 0 and standard deviation 1; a constant column becomes 0."""
    centred = series - series.mean(axis=0)
    spread = centred.std(axis=0)
    constant = np.ptp(series, axis=0) == 0
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, spread))


def _raw(params: AnyParams, context: BuildContext) -> tuple[Floats, Lengths, Graph]:
    path = context.files.path
    match params:
        case Var():
            coefficients, graph = simulate.var_coefficients(
                params.variables, params.lags, params.density, context.rng("coefficients")
            )
            series = simulate.var_series(
                coefficients, params.steps, params.burn_in, context.rng("noise")
            )
            return series, np.array([len(series)], dtype=np.int64), graph
        case Lorenz96():
            series = simulate.lorenz96_series(
                params.variables,
                params.steps,
                dt=params.dt,
                forcing=params.forcing,
                noise=params.noise,
                burn_in=params.burn_in,
                rng=context.rng("lorenz96"),
            )
            graph = simulate.lorenz96_graph(params.variables)
            return series, np.array([len(series)], dtype=np.int64), graph
        case Dream3():
            stem = f"dream3/dream3_{params.variables}_{params.network}"
            return recorded.read_dream3(
                path(f"{stem}.tsv"), path(f"{stem}_true.txt"), params.variables
            )
        case NetSim():
            file = path(f"netsim/fMRI_{params.variables}.mat")
            return recorded.read_netsim(file, params.variables, params.subjects)
        case AirQuality():
            return recorded.read_air_quality(
                path("causaltime/air_quality_data.npy"), path("causaltime/air_quality_graph.npy")
            )
