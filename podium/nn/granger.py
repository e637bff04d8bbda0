"""The pipeline shared by all neural entries of Granger recovery."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from podium.contracts import Context, Prediction, Problem
from podium.data.lags import check_series, lagged_design
from podium.errors import InputError
from podium.nn.attribution import Readout
from podium.nn.batched_mlp import Activation, MLPBank, draw_bank
from podium.nn.penalties import Penalty
from podium.nn.training import one_standard_error, train

CHECK_EVERY = 10


@dataclass(frozen=True)
class Settings:
    """How the networks are trained and chosen; the same for every entry, but for the grid.

    ``penalties``: the grid. ``validation``: the last share of every trajectory, held out to choose
    the penalty and the number of steps. ``restarts``: networks averaged in the end.
    ``first_scale``: see ``draw_bank``.
    """

    lags: int
    hidden: int
    penalties: Sequence[float]
    learning_rate: float
    steps: int
    validation: float
    restarts: int
    first_scale: float
    activation: Activation = "tanh"

    def __post_init__(self) -> None:
        """Refuse values without a meaning, naming the argument."""
        whole = {"lags": 1, "hidden": 1, "steps": 1, "restarts": 1}
        for name, least in whole.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise _bad(name, value, f"a whole number of at least {least}")
        for name in ("learning_rate", "first_scale"):
            value = getattr(self, name)
            if not (_number(value) and value > 0):
                raise _bad(name, value, "a finite number above 0")
        if not (_number(self.validation) and 0 < self.validation < 1):
            raise _bad("validation", self.validation, "a share between 0 and 1, both excluded")
        grid = self.penalties
        if not isinstance(grid, Sequence) or isinstance(grid, str) or not grid:
            raise _bad("penalties", grid, "a list of at least one number")
        for value in grid:
            if not (_number(value) and value >= 0):
                raise _bad("penalties", value, "finite numbers of at least 0")


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bad(name: str, value: object, expected: str) -> InputError:
    return InputError("bad value", where=name, expected=expected, found=repr(value))


def recover(
    problem: Problem,
    context: Context,
    settings: Settings,
    *,
    penalty: Penalty,
    readout: Readout,
) -> Prediction:
    r"""Train one network a variable on its lagged past and read off who drives whom.

    1. Every variable is standardised; constant ones are left out and score 0.
    2. The last ``validation`` share of every trajectory is held out. All penalties of the grid are
       trained at once on the rest; each keeps the number of steps with its least held-out error.
    3. The largest penalty within one standard error of the best is chosen.
    4. ``restarts`` networks a variable are trained anew on all rows with that penalty and number of
       steps; their scores, read at all rows, are averaged.

    The objective is that of the papers, the penalty :math:`\lambda` summed over targets against the
    error averaged over them:

    .. math:: L = \tfrac1d \sum_i \mathrm{MSE}_i + \lambda \sum_i \Omega_i

    The result never depends on the time limit: a run that does not fit is ended by the runner.

    Returns:
        ``scores`` float64 [variables, variables], non-negative, ``scores[target, source]``.

    Raises:
        InputError: a series that is not finite, a trajectory with no more steps than lags, none
            long enough to hold rows out, or a bad setting.
    """
    series, lengths = check_series(problem.public["series"], problem.public["lengths"])
    spread = series.std(axis=0)
    # Rounding leaves a constant column with a spread of about 1e-16 of its size.
    moving = np.flatnonzero(spread > 1e-12 * np.maximum(1.0, np.abs(series).max(axis=0)))
    scores = np.zeros((series.shape[1], series.shape[1]))
    inputs, targets = (
        lagged_design(series[:, moving], lengths, settings.lags)
        if len(moving)
        else (lagged_design(series, lengths, settings.lags))
    )
    held_out = held_out_rows([n - settings.lags for n in lengths], settings.validation)
    if len(moving) == 0:
        return {"scores": scores}
    centre, scale = series[:, moving].mean(axis=0), spread[moving]
    fitting = _Fitting(
        settings,
        context,
        penalty,
        inputs=_tensor((inputs - np.tile(centre, settings.lags)) / np.tile(scale, settings.lags)),
        targets=_tensor(((targets - centre) / scale).T),
        held_out=torch.from_numpy(held_out),
    )
    chosen, steps = fitting.choose()
    bank = fitting.refit(chosen, steps)
    with torch.no_grad():
        read = readout(bank, fitting.inputs, settings.lags)
    mean = read.double().reshape(settings.restarts, len(moving), len(moving)).mean(0)
    scores[np.ix_(moving, moving)] = mean.cpu().numpy()
    return {"scores": scores}


def held_out_rows(rows: Sequence[int], share: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which rows are held out: the last ``share`` of each trajectory, rounded down.

    Args:
        rows: how many rows each trajectory has.
        share: between 0 and 1.

    Raises:
        InputError: no trajectory is long enough to hold a row out and keep one.
    """
    parts = []
    for n in rows:
        part = np.zeros(n, dtype=np.bool_)
        part[n - int(n * share) :] = True
        parts.append(part)
    mask = np.concatenate(parts)
    if not mask.any():
        raise InputError(
            "no trajectory is long enough to hold rows out",
            where="lengths",
            expected=f"a trajectory with at least {math.ceil(1 / share)} rows after its lags",
            found=f"at most {max(rows)}",
            fix="use fewer lags or a larger validation share",
        )
    return mask


def _tensor(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))


class _Fitting:
    """The two trainings of one run: over the grid, then again at the chosen penalty."""

    def __init__(
        self,
        settings: Settings,
        context: Context,
        penalty: Penalty,
        *,
        inputs: torch.Tensor,
        targets: torch.Tensor,
        held_out: torch.Tensor,
    ) -> None:
        self.settings = settings
        self.context = context
        self.penalty = penalty
        self.inputs = inputs.to(context.device)
        self.targets = targets.to(context.device)
        self.held_out = held_out.to(context.device)
        self.variables = targets.shape[0]
        self.weights = context.torch_generator("weights", "cpu")
        self.projections = context.torch_generator("projections", "cpu")

    def draw(self, copies: int) -> MLPBank:
        """Draw networks for every variable, ``copies`` times."""
        return draw_bank(
            copies * self.variables,
            self.inputs.shape[1],
            self.settings.hidden,
            generator=self.weights,
            activation=self.settings.activation,
            first_scale=self.settings.first_scale,
            device=self.context.device,
        )

    def strength(self, penalties: Sequence[float]) -> torch.Tensor:
        """Return the strength of every network, penalty-major."""
        each = torch.tensor([self.variables * p for p in penalties], dtype=self.inputs.dtype)
        return each.repeat_interleave(self.variables).to(self.context.device)

    def choose(self) -> tuple[float, int]:
        """Train the whole grid on the rows kept and return the chosen penalty and its steps."""
        grid = [float(p) for p in self.settings.penalties]
        count, steps = len(grid), self.settings.steps
        past, future = self.inputs[self.held_out], self.targets[:, self.held_out]
        best = torch.full((count, past.shape[0]), math.inf, device=self.inputs.device)
        best_steps = [0] * count
        curve: list[tuple[int, torch.Tensor, torch.Tensor]] = []

        def check(step: int, bank: MLPBank, fit: torch.Tensor) -> None:
            predicted = bank.output(bank.hidden(past)).reshape(count, self.variables, -1)
            errors = (predicted - future).square().mean(1)
            means = errors.mean(-1)
            better = means < best.mean(-1)
            best[better] = errors[better]
            for k in better.nonzero().flatten().tolist():
                best_steps[k] = step
            curve.append((step, fit.reshape(count, self.variables).mean(-1), means))
            self.context.progress(step, steps, "grid")

        train(
            # All penalties start from the same weights: they differ in nothing else.
            self.draw(1).repeated(count),
            self.inputs[~self.held_out],
            self.targets[:, ~self.held_out].repeat(count, 1),
            penalty=self.penalty,
            strength=self.strength(grid),
            generator=self.projections,
            learning_rate=self.settings.learning_rate,
            steps=steps,
            check=check,
            check_every=CHECK_EVERY,
        )
        k = one_standard_error(best, grid)
        for step, fit, means in curve:
            self.context.log(step, train_loss=float(fit[k]), validation_loss=float(means[k]))
        self.context.log(best_steps[k], penalty=grid[k], best_validation_loss=float(best[k].mean()))
        return grid[k], best_steps[k]

    def refit(self, penalty: float, steps: int) -> MLPBank:
        """Train ``restarts`` networks a variable on all rows."""
        restarts = self.settings.restarts
        return train(
            self.draw(restarts),
            self.inputs,
            self.targets.repeat(restarts, 1),
            penalty=self.penalty,
            strength=self.strength([penalty] * restarts),
            generator=self.projections,
            learning_rate=self.settings.learning_rate,
            steps=self.settings.steps,
            stop_at=steps,
            check=lambda step, _bank, _fit: self.context.progress(step, steps, "final networks"),
            check_every=CHECK_EVERY,
        )
