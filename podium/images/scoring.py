"""Score one set of pictures against another: Fréchet, KID, precision, recall, density, coverage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium.contracts import Undefined
from podium.errors import InputError
from podium.features.extractor import Features, Floats
from podium.features.inception import InceptionFeatures
from podium.images.encoding import Encoded, encode_set
from podium.images.sets import PictureSet
from podium.metrics.frechet import frechet_distance, frechet_of_features, unreliable
from podium.metrics.kernel_distance import mmd
from podium.metrics.neighbours import density_coverage, precision_recall
from podium.seeding import generator

KEPT = 10_000
"""KID, precision, recall, density and coverage use the features of at most so many pictures."""

SUBSETS, SUBSET_SIZE = 100, 1000
"""Subsets of KID, and pictures in each of them."""

RECALL_NEIGHBOURS, COVERAGE_NEIGHBOURS = 3, 5
"""Neighbours that make a ball, for precision and recall, and for density and coverage."""

Listener = Callable[[str, int, int], None]
"""Hears the role of a set, how many of its pictures are encoded, and how many there are."""


@dataclass(frozen=True)
class Score:
    """Distances and shares, with all that their names hold.

    Attributes:
        features: name of the feature map, which holds the resize rule.
        dimension: of its vectors.
        fid: whether the map is the network of FID, so that ``frechet`` is an FID.
        samples: the generated set, without its features.
        reference: the real set.
        kept: features of each set that KID and the shares use, samples first.
        frechet: Fréchet distance, in [0, inf), lower is better.
        kid: mean over subsets of the unbiased squared MMD; around 0 for equal distributions.
        kid_spread: standard deviation over the subsets (n - 1).
        subsets: how many subsets, of how many pictures.
        precision, recall, coverage: in [0, 1], higher is better.
        density: in [0, inf), higher is better.
        unreliable: whether there are fewer than 10 pictures a dimension.
        seed: draws what is kept, and the subsets.
    """

    features: str
    dimension: int
    fid: bool
    samples: Side
    reference: Side
    kept: tuple[int, int]
    frechet: float
    kid: float
    kid_spread: float
    subsets: tuple[int, int]
    precision: float
    recall: float
    density: float
    coverage: float
    unreliable: bool
    seed: int

    @property
    def label(self) -> str:
        """``FID-50K`` for 50,000 samples and the network of FID, ``FID-1797`` for so many."""
        thousands, rest = divmod(self.samples.count, 1000)
        number = str(self.samples.count) if rest else f"{thousands}K"
        return f"FID-{number}" if self.fid else f"Fréchet distance ({self.features})"

    @property
    def name(self) -> str:
        """What a number must share with another one to stand in its column."""
        kind = "fid" if self.fid else "frechet"
        count, digest = self.samples.count, self.reference.digest[:16]
        return f"{kind}[{self.features}, N={count}, reference=sha256:{digest}]"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, one sentence each."""
        if not self.unreliable:
            return ()
        least = min(self.samples.count, self.reference.count)
        return (
            f"unreliable: {least} pictures for {self.dimension} dimensions; the Fréchet distance "
            f"is biased upwards by ~1/N; N >= {10 * self.dimension} in both sets would do",
        )


@dataclass(frozen=True)
class Side:
    """One of the two sets: where it comes from, how many pictures, other files, its digest."""

    origin: str
    count: int
    ignored: int
    digest: str


def score_sets(
    samples: PictureSet,
    reference: PictureSet,
    features: Features,
    *,
    seed: int = 0,
    batch: int = 64,
    keep: int = KEPT,
    listen: Listener | None = None,
) -> Score:
    """Score generated pictures against real ones.

    The Fréchet distance takes all pictures; where the samples are fewer than the dimensions, in the
    n x n form. Everything else takes at most ``keep`` pictures of each set. The score is the same
    for every order of a set.

    Args:
        samples: the generated pictures, at least 2.
        reference: the real pictures, at least 2.
        features: the map.
        seed: draws what is kept, and the subsets of KID.
        batch: pictures at a time.
        keep: the most features kept of each set.
        listen: hears of progress.

    Returns:
        The scores. A share without a meaning, because pictures are all alike, is ``Undefined``.

    Raises:
        InputError: fewer than 2 pictures, a picture that cannot be read, or features that are not
            finite.

    Source: Heusel et al. (NeurIPS 2017); Bińkowski et al. (ICLR 2018); Kynkäänniemi et al. (NeurIPS
    2019); Naeem et al. (ICML 2020).
    """
    for role, given in (("samples", samples), ("reference", reference)):
        if given.count < 2:
            raise InputError(
                "too few pictures",
                where=f"{role}: {given.origin}",
                expected="at least 2, and 10 for each dimension of the features to be reliable",
                found=str(given.count),
            )

    def encoded(role: str, given: PictureSet) -> Encoded:
        def hear(done: int) -> None:
            if listen is not None:
                listen(role, done, given.count)

        salt = f"{seed} {role}"
        return encode_set(given, features, keep=keep, salt=salt, batch=batch, progress=hear)

    real = encoded("reference", reference)
    fake = encoded("samples", samples)
    kid, spread, size = _kid(real.kept, fake.kept, seed)
    precision, recall, density, coverage = _shares(real, fake)
    return Score(
        features=features.name,
        dimension=features.dimension,
        fid=isinstance(features, InceptionFeatures) and features.published,
        samples=Side(fake.origin, fake.count, fake.ignored, fake.digest),
        reference=Side(real.origin, real.count, real.ignored, real.digest),
        kept=(len(fake.kept), len(real.kept)),
        frechet=_frechet(real, fake),
        kid=kid,
        kid_spread=spread,
        subsets=(SUBSETS, size),
        precision=precision,
        recall=recall,
        density=density,
        coverage=coverage,
        unreliable=unreliable(min(fake.count, real.count), features.dimension),
        seed=seed,
    )


def _frechet(real: Encoded, fake: Encoded) -> float:
    whole = len(real.kept) == real.count and len(fake.kept) == fake.count
    if whole and min(real.count, fake.count) < real.kept.shape[1]:
        return frechet_of_features(real.kept, fake.kept)
    first, second = real.moments, fake.moments
    return frechet_distance(first.mean, first.covariance(), second.mean, second.covariance())


def _kid(real: Floats, fake: Floats, seed: int) -> tuple[float, float, int]:
    """Return mean and spread of KID over subsets, and how many pictures a subset has."""
    size = min(SUBSET_SIZE, len(real), len(fake))
    rng = generator(seed, "kid")
    values = [
        mmd(
            real[rng.choice(len(real), size, replace=False)],
            fake[rng.choice(len(fake), size, replace=False)],
        )
        for _ in range(SUBSETS)
    ]
    spread = float(np.std(values, ddof=1))
    if size == len(real) == len(fake):
        spread = Undefined(f"each subset is all that is kept of both sets, {size} pictures")
    return float(np.mean(values)), spread, size


def _shares(real: Encoded, fake: Encoded) -> tuple[float, float, float, float]:
    """Return precision, recall, density and coverage, each ``Undefined`` where it has no meaning.

    A ball reaches to the k-th neighbour; with k or fewer different pictures its radius is 0.
    """
    k, wide = RECALL_NEIGHBOURS, COVERAGE_NEIGHBOURS
    in_real, in_fake = _different(real), _different(fake)
    precision: float = _poor("reference", in_real, k)
    recall: float = _poor("samples", in_fake, k)
    density: float = _poor("reference", in_real, wide)
    coverage: float = density
    if min(in_real, in_fake) > k:
        precision, recall = precision_recall(real.kept, fake.kept, k)
    elif in_real > k and len(fake.kept) > k:
        precision, _ = precision_recall(real.kept, fake.kept, k)
    elif in_fake > k and len(real.kept) > k:
        _, recall = precision_recall(real.kept, fake.kept, k)
    if in_real > wide:
        density, coverage = density_coverage(real.kept, fake.kept, wide)
    return precision, recall, density, coverage


def _different(given: Encoded) -> int:
    """Return how many different pictures are kept, and not more than different features.

    Equal pictures of two batches may have features that differ by rounding, so these alone would
    not do.
    """
    return min(given.distinct, len(np.unique(given.kept, axis=0)))


def _poor(role: str, different: int, neighbours: int) -> Undefined:
    return Undefined(
        f"{different} different pictures in {role}, a ball around one needs {neighbours} others"
    )
