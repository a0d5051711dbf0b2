"""Drawing people again: how often each occurs in a replicate, alone or with their cluster."""

from collections.abc import Iterator, Sequence

import numpy as np

from evenscore.scores.arrays import Floats, Ints
from evenscore.scores.distribution import Distribution


def redraw(sample: Distribution, size: int, rng: np.random.Generator) -> Floats:
    """Weights of `size` replicates of a sample, shape (size, rows): its observations redrawn."""
    n = round(sample.n_observations)
    rows = len(sample)
    if n == 0:
        return np.zeros((size, 0))
    if n == rows:  # every row is one observation: count how often it is drawn
        return times_drawn(n, size, rng) * sample.weights
    assert sample.counts is not None
    shares = sample.counts / sample.counts.sum()
    return rng.multinomial(n, shares, size=size) * (sample.weights / sample.counts)


def breadth(sample: Distribution) -> int:
    """How many numbers a replicate of a sample takes."""
    return len(sample) if sample.clusters is None else max(len(sample), len(sample.clusters))


def redraw_both(
    one: Distribution, two: Distribution, size: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Replicate weights of two samples: with clusters these are drawn, for both if they share some.

    A sample whose clusters the other has none of is drawn by itself: so many of its clusters.
    """
    if share_clusters(one, two):
        first, second = redraw_clusters([one, two], size, rng)
        return first, second
    if not (one.is_clustered or two.is_clustered):
        return redraw(one, size, rng), redraw(two, size, rng)
    [first], [second] = (redraw_clusters([sample], size, rng) for sample in (one, two))
    return first, second


def share_clusters(one: Distribution, two: Distribution) -> bool:
    """Whether some cluster has observations in both samples."""
    if one.clusters is None or two.clusters is None:
        return False
    present = one.clusters.present, two.clusters.present
    return len(np.intersect1d(*present, assume_unique=True)) > 0


def redraw_clusters(
    samples: Sequence[Distribution], size: int, rng: np.random.Generator
) -> list[Floats]:
    """Weights of replicates of samples whose clusters are redrawn, all of them at once.

    Of a sample that comes out without anybody the weights are zero.
    """
    clusters = [sample.clusters for sample in samples]
    assert all(members is not None for members in clusters)
    known = [members for members in clusters if members is not None]
    n = max((members.n for members in known), default=0)
    present = np.unique(np.concatenate([members.present for members in known]))
    times = np.zeros((size, n))
    times[:, present] = times_drawn(len(present), size, rng)
    return [members.redrawn(times, len(s)) for members, s in zip(known, samples, strict=True)]


def times_drawn(n: int, size: int, rng: np.random.Generator) -> Ints:
    """How often each of n people is drawn in n draws, shape (size, n)."""
    drawn = rng.integers(0, n, (size, n))
    drawn += n * np.arange(size)[:, None]
    return np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)


def batch_sizes(total: int, most: int) -> Iterator[int]:
    """A number of draws in batches of a size that memory allows.

    >>> list(batch_sizes(7, 3))
    [3, 3, 1]
    """
    for start in range(0, total, max(most, 1)):
        yield min(max(most, 1), total - start)
