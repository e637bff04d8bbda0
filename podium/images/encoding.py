"""Encode a set of pictures in one pass: its moments, a share of its features, its digest."""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium.errors import InputError
from podium.features.extractor import Features, Floats, Images
from podium.images.sets import PictureSet
from podium.metrics.moments import Moments


@dataclass(frozen=True)
class Encoded:
    """What scoring needs of a set.

    Attributes:
        origin: where the pictures come from.
        count: how many there are.
        ignored: how many other files lie beside them.
        distinct: how many different pictures there are among those kept.
        digest: SHA-256 of the sorted SHA-256s of the pictures (height and width as two 64-bit
            numbers, least byte first, then the pixels, RGB row by row): the same for every order
            and every kind of container.
        moments: of all features.
        kept: float32 [k, dimension], the features of at most the stated number of pictures.
    """

    origin: str
    count: int
    ignored: int
    distinct: int
    digest: str
    moments: Moments
    kept: Floats


def encode_set(
    pictures: PictureSet,
    features: Features,
    *,
    keep: int,
    salt: str,
    batch: int = 64,
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Read and encode a set batch by batch; memory is flat but for 32 bytes a picture.

    Which features are kept, and in which order, is drawn by a hash of ``salt`` and the picture, so
    it depends on neither the order nor the container of the set.

    Args:
        pictures: the set.
        features: the map.
        keep: the most features kept.
        salt: another one draws others.
        batch: pictures at a time.
        progress: hears how many pictures are done.

    Raises:
        InputError: a picture cannot be read, or the map gives no finite numbers of its dimension.
    """
    moments = Moments(features.dimension)
    sample = _Sample(keep, features.dimension, salt)
    seen: Counter[bytes] = Counter()
    done = 0
    for images in pictures.batches(batch):
        rows = encode(features, images)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all():
            raise InputError(
                "the feature map gives numbers that are not finite",
                where=f"{pictures.origin}, picture {done + int(finite.argmin()) + 1}",
                expected="finite features",
                found="NaN or infinity",
                fix=f"mend the map {features.name}",
            )
        moments.update(rows)
        for image, row in zip(images, rows, strict=True):
            key = _picture_digest(image)
            sample.offer(key, seen[key], row)
            seen[key] += 1
        done += len(images)
        if progress is not None:
            progress(done)
    return Encoded(
        origin=pictures.origin,
        count=done,
        ignored=pictures.ignored,
        distinct=len(set(sample.pictures)),
        digest=hashlib.sha256(b"".join(sorted(seen.elements()))).hexdigest(),
        moments=moments,
        kept=sample.rows(),
    )


def encode(features: Features, images: Sequence[Images]) -> Floats:
    """Return float32 [n, dimension] of pictures that may differ in size; equal sizes go together.

    Raises:
        InputError: the map gives another shape than it says.
    """
    result = np.empty((len(images), features.dimension), dtype=np.float32)
    groups: dict[tuple[int, ...], list[int]] = {}
    for index, image in enumerate(images):
        groups.setdefault(image.shape, []).append(index)
    for members in groups.values():
        given = features(np.stack([images[i] for i in members]))
        if given.shape != (len(members), features.dimension):
            raise InputError(
                "the feature map gives another shape than it says",
                where=features.name,
                expected=f"[{len(members)}, {features.dimension}]",
                found=str(list(given.shape)),
            )
        result[members] = given
    return result


def _picture_digest(image: Images) -> bytes:
    digest = hashlib.sha256(np.array(image.shape[:2], dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(image).data)
    return digest.digest()


class _Sample:
    """The features with the smallest keys of all offered so far.

    A picture that comes again gets another key each time: copies are drawn each on its own.
    """

    def __init__(self, limit: int, dimension: int, salt: str) -> None:
        self._limit = limit
        self._salt = salt.encode()
        self._rows = np.empty((min(limit, 256), dimension), dtype=np.float32)
        self._heap: list[tuple[int, int]] = []  # (-key, row)
        self.pictures: list[bytes] = []
        """The digests of the pictures kept, row by row."""

    def offer(self, picture: bytes, times: int, row: Floats) -> None:
        """Keep the row if its key is among the smallest; ``times`` it was offered before."""
        content = b"%b %d %b" % (picture, times, self._salt)
        key = -int.from_bytes(hashlib.sha256(content).digest())
        place = len(self._heap)
        if place < self._limit:
            if place == len(self._rows):
                more = np.empty((min(2 * place, self._limit), self._rows.shape[1]), np.float32)
                more[:place] = self._rows
                self._rows = more
            heapq.heappush(self._heap, (key, place))
            self.pictures.append(picture)
        elif self._limit and key > self._heap[0][0]:
            _, place = heapq.heapreplace(self._heap, (key, self._heap[0][1]))
            self.pictures[place] = picture
        else:
            return
        self._rows[place] = row

    def rows(self) -> Floats:
        """Return the rows that were kept, by rising key."""
        return self._rows[[place for _, place in sorted(self._heap, reverse=True)]]
