"""Networks without a penalty."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.attribution import jacobian_readout
from podium.nn.granger import Settings, recover
from podium.nn.penalties import unpenalised


def run(
    problem: Problem,
    context: Context,
    *,
    lags: int = 5,
    hidden: int = 32,
    learning_rate: float = 0.005,
    steps: int = 300,
    validation: float = 0.3,
    restarts: int = 1,
    first_scale: float = 0.1,
) -> Prediction:
    """Score every pair by the mean absolute Jacobian of unpenalised networks, stopped early."""
    return recover(
        problem,
        context,
        Settings(
            lags=lags,
            hidden=hidden,
            penalties=(0.0,),
            learning_rate=learning_rate,
            steps=steps,
            validation=validation,
            restarts=restarts,
            first_scale=first_scale,
        ),
        penalty=unpenalised,
        readout=jacobian_readout,
    )
