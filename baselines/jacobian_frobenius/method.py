"""Networks under the squared Frobenius norm of their Jacobian."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.attribution import jacobian_readout
from podium.nn.granger import Settings, recover
from podium.nn.penalties import jacobian_frobenius


def run(
    problem: Problem,
    context: Context,
    *,
    penalties: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1),
    lags: int = 5,
    hidden: int = 32,
    learning_rate: float = 0.005,
    steps: int = 300,
    validation: float = 0.3,
    restarts: int = 1,
    first_scale: float = 0.1,
) -> Prediction:
    """Score every pair by the mean absolute Jacobian of networks under its Frobenius norm."""
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
        penalty=jacobian_frobenius,
        readout=jacobian_readout,
    )
