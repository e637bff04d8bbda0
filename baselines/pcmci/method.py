"""PCMCI by tigramite, with linear partial correlation."""

from __future__ import annotations

import warnings

import numpy as np

from podium.contracts import Context, Prediction, Problem
from podium.data.columns import embed_scores, varying_columns
from podium.data.lags import lagged_design
from podium.errors import InputError


def run(problem: Problem, context: Context, *, lags: int = 5, pc_alpha: float = 0.2) -> Prediction:
    r"""Score each pair by its largest absolute partial correlation over the lags.

    The momentary conditional independence test of :math:`x_{j,t-k}` and :math:`x_{i,t}`, given the
    selected parents of both, at k = 1 ... ``lags``. In [0, 1]. The correlation is taken in place of
    its p-value, which underflows to 0 where the evidence is strong and would tie those pairs.

    Args:
        problem: the series and its trajectories, which tigramite takes as separate data sets.
        context: what the engine gives.
        lags: largest lag that is tested.
        pc_alpha: significance level of the condition selection, in (0, 1).
    """
    from scipy.stats import ConstantInputWarning
    from tigramite.data_processing import DataFrame
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    series, lengths = problem.public["series"], problem.public["lengths"]
    # The design is not used: it refuses a bad series, bad lags and short trajectories by name.
    lagged_design(series, lengths, lags)
    if not 0 < pc_alpha < 1:
        raise InputError(
            "bad pc_alpha", where="pc_alpha", expected="a number in (0, 1)", found=repr(pc_alpha)
        )
    # The tests condition on lags of lagged variables: tigramite drops twice the largest lag.
    if int(lengths.min()) <= 2 * lags:
        raise InputError(
            "a trajectory is too short for PCMCI",
            where="lengths",
            expected=f"more than 2 * lags = {2 * lags} steps in every trajectory",
            found=f"{int(lengths.min())} steps",
        )
    columns = varying_columns(series)
    if not columns.any():
        return {"scores": embed_scores(np.zeros((0, 0)), columns)}
    pieces = np.split(series[:, columns], np.cumsum(lengths)[:-1])
    context.progress(0, 1, "condition selection and tests")
    frame = DataFrame(
        dict(enumerate(pieces)), analysis_mode="multiple" if len(pieces) > 1 else "single"
    )
    search = PCMCI(frame, ParCorr(significance="analytic", verbosity=0), verbosity=0)
    with warnings.catch_warnings():
        # Counted below.
        warnings.simplefilter("ignore", ConstantInputWarning)
        found = search.run_pcmci(tau_min=1, tau_max=lags, pc_alpha=pc_alpha)
    # val_matrix[source, target, lag], with lag 0 in front.
    values = np.asarray(found["val_matrix"][:, :, 1:])
    # Where the conditions explain a variable wholly, nothing is left to correlate: no evidence.
    undefined = np.isnan(values)
    context.log(0, undefined_tests=int(undefined.sum()))
    strength = np.abs(np.where(undefined, 0.0, values)).max(axis=2).T
    return {"scores": embed_scores(strength, columns)}
