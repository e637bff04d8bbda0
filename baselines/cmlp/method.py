"""Component-wise multilayer perceptrons."""

from __future__ import annotations

from podium.contracts import Context, Prediction, Problem
from podium.nn.attribution import first_layer_readout
from podium.nn.granger import Settings, recover
from podium.nn.penalties import hierarchical_group_lasso


def run(
    problem: Problem,
    context: Context,
    *,
    penalties: tuple[float, ...] = (0.0001, 0.0003, 0.001, 0.003, 0.01),
    ridge: float = 0.01,
    lags: int = 5,
    hidden: int = 32,
    learning_rate: float = 0.01,
    steps: int = 300,
    validation: float = 0.3,
    restarts: int = 1,
    first_scale: float = 1.0,
) -> Prediction:
    """Score every pair by the norm of the source's first-layer weights in the target's network."""
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
        penalty=hierarchical_group_lasso(lags, ridge),
        readout=first_layer_readout,
    )
