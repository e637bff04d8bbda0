"""Batched networks against a loop of one network a variable, in the form of Neural-GC."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from podium.metrics.graph import auroc
from podium.nn.attribution import first_layer_readout
from podium.nn.batched_mlp import MLPBank, by_lag, draw_bank
from podium.nn.penalties import hierarchical_group_lasso, unpenalised
from podium.nn.training import one_standard_error, train

pytestmark = pytest.mark.performance

LAGS = 5


class ConvNet(torch.nn.Module):
    """One variable's network, whose first layer is a convolution over the last ``LAGS`` steps."""

    def __init__(self, variables: int, hidden: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv1d(variables, hidden, LAGS)
        self.second = torch.nn.Conv1d(hidden, 1, 1)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        """Series [1, variables, time] to predictions [time - LAGS]."""
        predicted: torch.Tensor = self.second(torch.relu(self.first(series)))[0, 0, :-1]
        return predicted


def conv_nets(bank: MLPBank, variables: int) -> list[ConvNet]:
    """Return separate networks with the weights of a bank."""
    hidden = bank.w1.shape[1]
    nets = [ConvNet(variables, hidden) for _ in range(bank.nets)]
    for k, net in enumerate(nets):
        net.load_state_dict(
            {
                # A convolution's kernel runs forward in time: its last column is lag 1.
                "first.weight": by_lag(bank.w1, LAGS)[k].mT.flip(2),
                "first.bias": bank.b1[k, :, 0],
                "second.weight": bank.w2[k, :, :, None],
                "second.bias": bank.b2[k, 0],
            }
        )
    return nets


def lagged(series: torch.Tensor) -> torch.Tensor:
    """Series [time, variables] to inputs [time - LAGS, LAGS * variables], lag-major."""
    steps = len(series)
    return torch.cat([series[LAGS - k : steps - k] for k in range(1, LAGS + 1)], dim=1)


def loop_penalty(net: ConvNet, strength: float, ridge: float) -> torch.Tensor:
    """The hierarchical group lasso of a convolution, one norm a group, and the ridge."""
    weight = net.first.weight
    groups = sum(
        (weight[:, :, : k + 1].square().sum((0, 2)) + 1e-12).sqrt().sum() for k in range(LAGS)
    )
    return strength * groups + ridge * net.second.weight.square().sum()


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def best_of(
    actions: list[Callable[[], Any]], clock: Callable[[], float], times: int
) -> list[float]:
    """Return the least time of each action; they take turns, so that all meet the same load."""
    seconds: list[list[float]] = [[] for _ in actions]
    for _ in range(times):
        for action, taken in zip(actions, seconds, strict=True):
            start = clock()
            action()
            taken.append(clock() - start)
    return [min(taken) for taken in seconds]


@pytest.mark.parametrize(("count", "least"), [(1, 3.0), (2, 4.0)])
def test_a_step_of_the_batched_networks(count: int, least: float) -> None:
    variables, steps, hidden, taken = 20, 500, 32, 10
    generator = torch.Generator().manual_seed(0)
    series = torch.randn(steps, variables, generator=generator)
    bank = draw_bank(variables, LAGS * variables, hidden, generator=generator, activation="relu")
    inputs, targets = lagged(series), series[LAGS:].T.contiguous()
    history: list[torch.Tensor] = []

    def keep(_step: int, _bank: MLPBank, fit: torch.Tensor) -> None:
        history.append(fit)

    def batched(check_every: int = taken) -> None:
        history.clear()
        train(
            bank,
            inputs,
            targets,
            penalty=unpenalised,
            strength=torch.zeros(variables),
            generator=generator,
            learning_rate=1e-2,
            steps=10**6,
            stop_at=taken,
            check=keep,
            check_every=check_every,
        )

    channels = series.T[None]
    loop_history: list[torch.Tensor] = []

    def looped() -> None:
        loop_history.clear()
        nets = conv_nets(bank, variables)
        optimiser = torch.optim.Adam([p for n in nets for p in n.parameters()], lr=1e-2)
        for _ in range(taken):
            fits = torch.stack(
                [(net(channels) - targets[k]).square().mean() for k, net in enumerate(nets)]
            )
            loop_history.append(fits.detach())
            optimiser.zero_grad()
            torch.autograd.backward(fits.sum())
            optimiser.step()

    with threads(count):
        batched(check_every=1)
        looped()
        torch.testing.assert_close(
            torch.stack(history[:taken]), torch.stack(loop_history), atol=1e-5, rtol=0
        )
        clock = time.process_time if count == 1 else time.perf_counter
        fast, slow = best_of([batched, looped], clock, 8)
    print(f"\n{count} threads: batched {fast / taken * 1e3:.2f} ms a step, {slow / fast:.1f}x")
    assert slow >= least * fast


def lorenz96(variables: int, steps: int, seed: int) -> tuple[torch.Tensor, np.ndarray[Any, Any]]:
    """Lorenz-96 at F = 10, dt = 0.1, noise 0.1, the setting of Neural-GC, standardised."""
    rng = np.random.default_rng(seed)

    def slope(x: Any) -> Any:
        return (np.roll(x, -1) - np.roll(x, 2)) * np.roll(x, 1) - x + 10.0

    x, rows, dt = 10 + rng.standard_normal(variables), [], 0.02
    for step in range(5 * (steps + 200)):
        a = slope(x)
        b = slope(x + dt / 2 * a)
        c = slope(x + dt / 2 * b)
        x = x + dt / 6 * (a + 2 * b + 2 * c + slope(x + dt * c))
        if step >= 1000 and step % 5 == 0:
            rows.append(x)
    series = np.array(rows) + 0.1 * rng.standard_normal((steps, variables))
    graph = np.zeros((variables, variables), dtype=bool)
    for shift in (-2, -1, 0, 1):
        graph[np.arange(variables), (np.arange(variables) + shift) % variables] = True
    series = (series - series.mean(0)) / series.std(0)
    return torch.from_numpy(series).float(), graph


def test_cmlp_reaches_the_loop_s_auroc_in_a_fifth_of_its_time() -> None:
    """Both train the same grid and choose by the same rule; the loop as in Neural-GC.

    Its networks have 100 units and Adam's rate is 1e-3, the settings of Neural-GC; 200 steps.
    """
    variables, grid, ridge = 10, (0.01, 0.03, 0.1), 0.01
    series, graph = lorenz96(variables, 500, seed=0)
    inputs, targets = lagged(series), series[LAGS:].T.contiguous()
    rows = len(inputs)
    kept = rows - int(0.3 * rows)
    found: dict[str, torch.Tensor] = {}

    def looped() -> None:
        generator = torch.Generator().manual_seed(0)
        start = draw_bank(variables, LAGS * variables, 100, generator=generator, activation="relu")
        channels, errors, norms = series.T[None], [], []
        for strength in grid:
            nets = conv_nets(start, variables)
            optimiser = torch.optim.Adam([p for n in nets for p in n.parameters()], lr=1e-3)
            for _ in range(200):
                loss = torch.zeros(())
                for k, net in enumerate(nets):
                    fit = (net(channels)[:kept] - targets[k, :kept]).square().mean()
                    loss = loss + fit + loop_penalty(net, strength, ridge)
                optimiser.zero_grad()
                torch.autograd.backward(loss)
                optimiser.step()
            with torch.no_grad():
                held_out = [net(channels)[kept:] - targets[k, kept:] for k, net in enumerate(nets)]
                errors.append(torch.stack(held_out).square().mean(0))
                norms.append(torch.stack([n.first.weight.square().sum((0, 2)) for n in nets]))
        found["loop"] = norms[one_standard_error(torch.stack(errors), grid)].sqrt()

    def batched() -> None:
        generator = torch.Generator().manual_seed(0)
        start = draw_bank(variables, LAGS * variables, 32, generator=generator, activation="relu")
        bank = train(
            start.repeated(len(grid)),
            inputs[:kept],
            targets[:, :kept].repeat(len(grid), 1),
            penalty=hierarchical_group_lasso(LAGS, ridge),
            strength=torch.tensor(grid).repeat_interleave(variables),
            generator=generator,
            learning_rate=1e-2,
            steps=200,
        )
        predicted = bank.output(bank.hidden(inputs[kept:])).reshape(len(grid), variables, -1)
        best = one_standard_error((predicted - targets[:, kept:]).square().mean(1), grid)
        chosen = bank.subset(slice(best * variables, (best + 1) * variables))
        found["batched"] = first_layer_readout(chosen, inputs, LAGS)

    with threads(1):
        fast, slow = best_of([batched, looped], time.process_time, 2)
    reached = {name: auroc(s.double().numpy(), graph, diagonal="keep") for name, s in found.items()}
    print(f"\nbatched {fast:.2f} s, {slow / fast:.1f}x, AUROC {reached}")
    assert reached["batched"] >= reached["loop"] - 0.005
    assert slow >= 5 * fast
