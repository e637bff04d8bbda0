"""CPU time of the Fréchet distance and its moments, as ratios measured in one run on one thread.

``python -m pytest -m performance -s tests/performance/test_frechet_speed.py`` prints all figures.
The features are rectified mixtures of Gaussians of 2048 dimensions, with a covariance whose
eigenvalues fall as a power law, as those of Inception's last pool do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from podium.metrics.frechet import Reference, frechet_distance, frechet_of_features
from podium.metrics.moments import Moments, moments_of
from podium.metrics.subset import SubsetFrechet

pytestmark = [pytest.mark.performance, pytest.mark.timeout(900)]

DIMENSION = 2048
BATCH = 50

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Peer = Callable[[str], Any]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(threads)


@cache
def mixing() -> Singles:
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION)))[0]
    scale = 6.0 * np.arange(1, DIMENSION + 1) ** -0.6
    result: Singles = (rotation * scale).T.astype(np.float32)
    return result


class Source:
    """A stream of features [n, 2048]: a rectified linear map of Gaussian vectors."""

    def __init__(self, seed: int, shift: float = 0.0) -> None:
        self._map = mixing()
        self._rng = np.random.default_rng([seed, 1])
        self._shift = np.float32(0.3 + shift)

    def draw(self, count: int) -> Singles:
        noise = self._rng.standard_normal((count, DIMENSION), dtype=np.float32)
        features: Singles = np.maximum(noise @ self._map + self._shift, 0)
        return features


@cache
def gaussian(seed: int, count: int, shift: float) -> tuple[Floats, Floats]:
    source, moments = Source(seed, shift), Moments(DIMENSION)
    for _ in range(0, count, 5000):
        moments.update(source.draw(5000))
    return moments.mean, moments.covariance()


def timed(work: Callable[[], Any], repeats: int = 1) -> tuple[Any, float]:
    """Return the result and the least CPU time of some repeats."""
    least = np.inf
    for _ in range(repeats):
        started = time.process_time()
        result = work()
        least = min(least, time.process_time() - started)
    return result, float(least)


def by_singular_values(
    first: tuple[Floats, Floats], second: tuple[Floats, Floats], root: Floats
) -> float:
    """Return the distance whose trace is the nuclear norm of a product of factors."""
    difference = first[0] - second[0]
    traces = float(np.trace(first[1]) + np.trace(second[1]))
    nuclear = float(np.linalg.svd(root, compute_uv=False).sum())
    return float(difference @ difference) + traces - 2 * nuclear


@pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")
def test_the_frechet_step_of_fifty_thousand_features(peer: Peer) -> None:
    theirs = peer("cleanfid.fid").frechet_distance
    torch_theirs = peer("torchmetrics.image.fid")._compute_fid
    first, second = gaussian(1, 50_000, 0.0), gaussian(2, 50_000, 0.05)
    value, ours = timed(lambda: frechet_distance(*first, *second), 3)
    tensors = [torch.from_numpy(a) for a in (*first, *second)]
    torch_value, torch_seconds = timed(lambda: float(torch_theirs(*tensors)))
    clean_value, clean_seconds = timed(lambda: theirs(*first, *second))
    root = np.linalg.cholesky(first[1]).T @ np.linalg.cholesky(second[1])
    exact = by_singular_values(first, second, root)
    print(
        f"\nd = 2048: {ours:.2f} s, clean-fid {clean_seconds:.2f} s ({clean_seconds / ours:.1f} "
        f"times), torchmetrics {torch_seconds:.2f} s ({torch_seconds / ours:.1f} times); "
        f"errors {value - exact:.1e}, {clean_value - exact:.1e}, {torch_value - exact:.1e} "
        f"of {exact:.6f}"
    )
    assert abs(value - exact) <= 1e-9
    assert clean_seconds / ours >= 12
    assert torch_seconds / ours >= 2


@pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")
@pytest.mark.parametrize(("count", "times"), [(256, 1000), (1000, 50)])
def test_fewer_samples_than_dimensions(peer: Peer, count: int, times: float) -> None:
    theirs = peer("cleanfid.fid").frechet_distance
    x, y = Source(1).draw(count), Source(2, 0.05).draw(count)
    frechet_of_features(x[:20], y[:20])
    value, ours = timed(lambda: frechet_of_features(x, y), 9)
    sets = [(rows.mean(axis=0), np.cov(rows.T)) for rows in (x.astype(float), y.astype(float))]
    clean_value, clean_seconds = timed(lambda: theirs(*sets[0], *sets[1]))
    left, right = x - sets[0][0], y - sets[1][0]
    exact = by_singular_values(sets[0], sets[1], left @ right.T / (count - 1))
    print(
        f"\nn = {count}: {ours:.4f} s, clean-fid {clean_seconds:.2f} s "
        f"({clean_seconds / ours:.0f} times); "
        f"errors {value - exact:.1e}, {clean_value - exact:.1e} of {exact:.6f}"
    )
    assert abs(value - exact) <= 1e-9
    assert abs(value - exact) < abs(clean_value - exact)
    assert clean_seconds / ours >= times


def fed(moments: Moments, features: Singles) -> Moments:
    for start in range(0, len(features), BATCH):
        moments.update(features[start : start + BATCH])
    moments.covariance()
    return moments


def test_moments_of_fifty_rows_at_a_time(peer: Peer) -> None:
    count = 4 * 4096
    features = Source(3).draw(count)

    def bound() -> None:
        for start in range(0, count, 4096):
            blas.ssyrk(1.0, features[start : start + 4096].T)

    def double_bound() -> None:
        for start in range(0, count, 4096):
            blas.dsyrk(1.0, doubles[start : start + 4096].T)

    doubles = features.astype(np.float64)
    metric = peer("torchmetrics.image.fid").FrechetInceptionDistance(Passed())
    batches = torch.from_numpy(features[: 40 * BATCH])

    def update() -> None:
        for start in range(0, len(batches), BATCH):
            metric.update(batches[start : start + BATCH], real=True)

    single, single_seconds = timed(lambda: fed(Moments(DIMENSION, precision="single"), features), 2)
    double, double_seconds = timed(lambda: fed(Moments(DIMENSION), features), 2)
    _, single_bound = timed(bound, 2)
    _, double_bound_seconds = timed(double_bound, 2)
    _, part = timed(update)
    torch_seconds = part * count / len(batches)
    exact = np.cov(doubles.T)
    mean = doubles.mean(axis=0)
    reference = Reference(*gaussian(4, 20_000, 0.05))
    distance = reference.distance(mean, exact)
    errors = [abs(reference.distance(m.mean, m.covariance()) - distance) for m in (single, double)]
    state = [
        sum(v.nbytes for v in vars(m).values() if hasattr(v, "nbytes")) for m in (single, double)
    ]
    print(
        f"\n{count} x 2048, {BATCH} rows at a time: torchmetrics {torch_seconds:.1f} s; "
        f"single {single_seconds:.2f} s ({torch_seconds / single_seconds:.1f} times faster; "
        f"{single_seconds / single_bound:.2f} times ssyrk), error {errors[0]:.1e}; "
        f"double {double_seconds:.2f} s ({torch_seconds / double_seconds:.1f} times; "
        f"{double_seconds / double_bound_seconds:.2f} times dsyrk), error {errors[1]:.1e}; "
        f"state {max(state) / 1e6:.1f} MB"
    )
    assert torch_seconds / single_seconds >= 8
    assert single_seconds / single_bound <= 2
    assert double_seconds / double_bound_seconds <= 2
    assert errors[0] <= 1e-6
    assert errors[1] <= 1e-9
    assert max(state) <= 80e6


class Passed(torch.nn.Module):
    """Features that are given as they are."""

    num_features = DIMENSION

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features


def test_the_error_of_single_precision_does_not_grow_with_the_mean() -> None:
    source = Source(5)
    features = source.draw(8192)
    # By a power of two far above the spread, so that the shifted rows are exact in float32.
    spread = float(features.std())
    offset = np.float32(2.0 ** np.ceil(np.log2(50 * spread)))
    moved: Singles = np.round(features * 2**10) / np.float32(2**10) + offset
    back = (moved - offset).astype(np.float64)
    moments = fed(Moments(DIMENSION, precision="single"), moved)
    reference = Reference(*gaussian(4, 20_000, 0.05))
    exact = reference.distance(back.mean(axis=0), np.cov(back.T))
    found = reference.distance(moments.mean - offset, moments.covariance())
    print(
        f"\nmean {offset / spread:.0f} times the spread: error {found - exact:.1e} of {exact:.6f}"
    )
    assert abs(found - exact) <= 1e-6


@pytest.mark.filterwarnings("ignore:The `disp` argument:DeprecationWarning")
@pytest.mark.parametrize(
    ("dimension", "times", "over_peer"), [(64, 3, 5), (1280, 10, 10), (2048, 10, 10)]
)
def test_swapping_a_subset_of_fifty(
    peer: Peer, dimension: int, times: float, over_peer: float
) -> None:
    """Ten times below full computations, the field's and our own, where these are long."""
    theirs = peer("cleanfid.fid").frechet_distance
    source = Source(6)
    real, generated = source.draw(8192)[:, :dimension], source.draw(5000)[:, :dimension]
    fresh = Source(7, 0.02).draw(50)[:, :dimension]
    rows = np.random.default_rng(0).choice(5000, 50, replace=False)
    one = moments_of(real)
    reference = Reference(one.mean, one.covariance())
    changed = generated.copy()
    changed[rows] = fresh

    def full() -> float:
        moments = moments_of(changed)
        return reference.distance(moments.mean, moments.covariance())

    def peers() -> float:
        rows = changed.astype(np.float64)
        return float(theirs(reference.mean, reference.covariance, rows.mean(0), np.cov(rows.T)))

    held, prepared = timed(lambda: SubsetFrechet(reference, generated))
    direct, first = timed(lambda: held.replaced(rows, fresh), 3)
    _, learned = timed(lambda: [held.replaced(rows, fresh) for _ in range(6)])
    # Where a step takes a millisecond, only the least of many says what it costs.
    repeats = 3 if dimension > 1000 else 30
    value, ours = timed(lambda: held.replaced(rows, fresh), 3 * repeats)
    exact, whole = timed(full, repeats)
    clean, clean_seconds = timed(peers, repeats // 3)
    print(
        f"\nd = {dimension}: swap {ours * 1e3:.2f} ms (the first ones {first * 1e3:.2f} ms), full "
        f"{whole * 1e3:.2f} ms ({whole / ours:.1f} times), clean-fid {clean_seconds * 1e3:.0f} ms "
        f"({clean_seconds / ours:.0f} times); preparation {prepared * 1e3:.0f} ms, eigenvectors "
        f"{(learned - first - 5 * ours) * 1e3:.0f} ms; differences {value - exact:.1e}, "
        f"{direct - exact:.1e}, {value - clean:.1e} of {exact:.6f}"
    )
    assert value == pytest.approx(exact, abs=1e-8)
    assert direct == pytest.approx(exact, abs=1e-8)
    assert clean_seconds / ours >= over_peer
    assert whole / ours >= times
