"""Steps of the trained entries of GCD accuracy: what a module adds to its host, and 30 s a run."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch

from podium.features.mobilenet_v2 import MobileNetV2
from podium.methods.cpf_gcd.method import run
from podium.nn.discovery.augment import Views
from podium.nn.discovery.host import Encoder, ParametricHost, Projector, Prototypes, Summary
from podium.nn.discovery.primitives import PrimitiveField
from podium.nn.discovery.refiner import TokenRefiner
from podium.nn.discovery.slots import SlotAttention
from podium.nn.discovery.token_mlp import matched_token_mlp

pytestmark = pytest.mark.performance

BATCH, TOKENS, FEATURES, CLASSES = 128, 49, 32, 10
"""The largest shapes of the small tier."""

STEPS: int = inspect.signature(run).parameters["steps"].default

Make = Callable[[torch.Generator], TokenRefiner | None]


def primitives(generator: torch.Generator) -> PrimitiveField:
    return PrimitiveField(FEATURES, 16, 4, generator)


MODULES: dict[str, Make] = {
    "simgcd": lambda _: None,
    "cpf_gcd": primitives,
    "token_mlp": lambda g: matched_token_mlp(FEATURES, primitives(g).size, g),
    "slot_attention": lambda g: SlotAttention(FEATURES, 16, 3, g),
}


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def make_step(make: Make) -> Callable[[], None]:
    """One step of a training as ``podium.nn.discovery.training`` takes it."""
    generator = torch.Generator().manual_seed(0)
    host = ParametricHost(
        Summary(make(generator)),
        Encoder(FEATURES, 128, generator),
        Prototypes(FEATURES, CLASSES, generator),
        Projector(FEATURES, 128, 64, generator),
        entropy_weight=1.0,
    )
    tokens = torch.randn(1000, TOKENS, FEATURES, generator=generator)
    labels = torch.arange(BATCH // 2) % 5
    optimiser = torch.optim.AdamW(host.parameters(), lr=1e-3, fused=True)
    views = Views(keep=1.0)

    def step() -> None:
        index = torch.randint(1000, (BATCH,), generator=generator)
        view, _ = views.draw(tokens, None, index, generator)
        parts = host.losses(view, None, labels, 0.5)
        optimiser.zero_grad()
        torch.autograd.backward(torch.stack(list(parts.values())).sum())
        optimiser.step()

    return step


def least_times(actions: dict[str, Callable[[], object]], times: int) -> dict[str, float]:
    """Return the least CPU time of each; they take turns, so that all meet the same load."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(times):
        for name, action in actions.items():
            start = time.process_time()
            action()
            taken[name].append(time.process_time() - start)
    return {name: min(seconds) for name, seconds in taken.items()}


def test_the_module_adds_at_most_15_percent_to_a_step_with_the_backbone() -> None:
    """The backbone sees each image once a step; the paper's host also trains its last block."""
    images = 4
    with one_thread(), torch.random.fork_rng():
        backbone = MobileNetV2().eval()
        pictures = torch.zeros(images, 3, 224, 224)

        def forward() -> torch.Tensor:
            with torch.inference_mode():
                found: torch.Tensor = backbone(pictures)
            return found

        actions: dict[str, Callable[[], object]] = {
            name: make_step(MODULES[name]) for name in ("simgcd", "cpf_gcd")
        }
        seconds = least_times({**actions, "backbone": forward}, 8)
    added = seconds["cpf_gcd"] - seconds["simgcd"]
    whole = seconds["simgcd"] + seconds["backbone"] * BATCH / images
    print(
        f"\nhost {seconds['simgcd'] * 1e3:.1f} ms a step, with the module"
        f" {seconds['cpf_gcd'] * 1e3:.1f} ms: {added / seconds['simgcd']:+.0%} on cached tokens;"
        f" backbone {seconds['backbone'] / images * 1e3:.1f} ms an image:"
        f" {added / whole:+.1%} of a step with the backbone"
    )
    assert added <= 0.15 * whole


def test_a_step_with_a_module_stays_within_reach_of_the_hosts() -> None:
    with one_thread():
        seconds = least_times({name: make_step(make) for name, make in MODULES.items()}, 8)
    print()
    for name, each in seconds.items():
        print(f"{name}: {each * 1e3:.1f} ms a step, {each * STEPS:.1f} s a run of {STEPS} steps")
    assert seconds["cpf_gcd"] <= 8 * seconds["simgcd"]
    assert max(seconds.values()) <= 12 * seconds["simgcd"]
