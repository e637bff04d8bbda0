"""Info-Shap neural Granger causality."""

from __future__ import annotations

from typing import Literal

from podium.contracts import Context, Prediction, Problem
from podium.nn.attribution import info_shap_readout, jacobian_readout
from podium.nn.granger import Settings, recover
from podium.nn.penalties import fast_shap, shap


def run(
    problem: Problem,
    context: Context,
    *,
    regulariser: Literal["shap", "fast_shap"] = "shap",
    readout: Literal["info_shap", "jacobian"] = "info_shap",
    penalties: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1),
    lags: int = 5,
    hidden: int = 32,
    learning_rate: float = 0.005,
    steps: int = 300,
    validation: float = 0.3,
    restarts: int = 1,
    first_scale: float = 0.1,
) -> Prediction:
    """Score every pair by Info-Shap of networks trained under a Shap penalty.

    Source: Shapley Regularized Neural Granger Causality, eq. (13), (29) and (30).
    """
    return recover(
        problem,
        context,
        Settings(
            lags=lags,
            hidden=hidden,
            penalties=penalties,
            learning_rate=learning_rate,
            steps=steps,
            validation=validation,
            restarts=restarts,
            first_scale=first_scale,
        ),
        penalty={"shap": shap, "fast_shap": fast_shap}[regulariser],
        readout={"info_shap": info_shap_readout, "jacobian": jacobian_readout}[readout],
    )
