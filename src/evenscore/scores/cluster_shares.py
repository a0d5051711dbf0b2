"""How many independent observations a share of clustered ones is worth.

A share p = ΣI/ΣW, with I the weight of a cluster that it counts and W that of all its observations,
has the variance V = G/(G − 1) · Σd²/(ΣW)², d = I − pW, over the G clusters: whatever the dependence
within them. p(1 − p)/V is the number of independent observations with as much noise.

V is an estimate, and a poor one from few clusters. Three things keep it from promising too much:

- where few clusters make up the smaller side of the share, it is mixed with what the correlation
  within clusters makes of all the data (`icc`), as if `_ADDED` more clusters told so;
- Student's law takes the place of the normal one, with the degrees of freedom that the noise of V
  (the part that does not come from p, which Wilson's interval accounts for) leaves;
- it never says more than independent observations would: a negative correlation is not claimed.
"""

from dataclasses import dataclass

import numpy as np

from evenscore.scores.arrays import Floats, Ints, ratio
from evenscore.scores.clusters import Clusters

USUAL_Z = 1.96
"""The normal quantile for which sizes allow, where none is given."""

_ADDED = 2.0  # clusters, as in `share_size`; enough in benchmarks/covering/clusters.py


@dataclass(frozen=True, eq=False)
class ClusterMoments:
    """Sums over clusters behind many shares: `collect` them, then ask for `worth`.

    Parameters
    ----------
    share
        The shares p.
    sums
        Sums over clusters, shape (10, …).
    """

    share: Floats
    sums: Floats

    @classmethod
    def empty(cls, share: Floats) -> "ClusterMoments":
        """The sums over no cluster."""
        share = np.asarray(np.nan_to_num(share, nan=0.5))
        return cls(share, np.zeros((10, *share.shape)))

    def collect(self, inside: Floats, outside: Floats) -> None:
        """Add clusters: weights that the share counts and those that it does not, (…, clusters)."""
        whole = inside + outside
        off = inside - self.share[..., None] * whole
        square = off * off
        pairs = (
            (off, off),
            (square, off),
            (square, square),
            (square, whole),
            (off, whole),
            (whole, whole),
            (inside, inside),
            (outside, outside),
        )
        for total, (one, two) in zip(self.sums, pairs, strict=False):
            total += np.einsum("...g,...g->...", one, two)
        self.sums[8] += whole.sum(axis=-1)
        self.sums[9] += np.count_nonzero(whole > 0.0, axis=-1)

    @property
    def variance(self) -> Floats:
        """V, the variance of each share; infinite of one cluster, which tells nothing of it."""
        square, total, clusters = self.sums[[0, 8, 9]]
        found = ratio(square, np.square(total), 0.0) * clusters
        out: Floats = np.full_like(found, np.inf)
        np.divide(found, clusters - 1.0, out=out, where=clusters > 1.0)
        return out

    def per_cluster(self, independent: Floats) -> Floats:
        """How many of `independent` observations there are for each cluster of typical weight."""
        return np.maximum(independent * ratio(self.sums[5], np.square(self.sums[8]), 0.0), 1.0)

    def correlation(self, independent: Floats) -> Floats:
        """The correlation within clusters that V speaks of, between 0 and 1 (0 if it does not)."""
        each, p = self.per_cluster(independent), self.share
        with np.errstate(invalid="ignore", divide="ignore"):
            effect = self.variance * independent / (p * (1.0 - p))
            found = np.nan_to_num((effect - 1.0) / (each - 1.0), nan=0.0, posinf=1.0)
        return np.clip(np.where(each > 1.0 + 1e-9, found, 0.0), 0.0, 1.0)

    def worth(self, independent: Floats, icc: Floats | float) -> tuple[Floats, Floats]:
        """One over the number of observations each share is worth, and its degrees of freedom.

        `independent` is that number if all observations were independent, `icc` the correlation
        within clusters that the rest of the data speak of.
        """
        square, cube, fourth, heavy, cross, wholes, inside, outside, total, clusters = self.sums
        p = self.share
        q = 1.0 - p
        known = (total > 0.0) & (independent > 0.0)
        size = np.where(known, independent, 1.0)
        each = self.per_cluster(size)
        typical = (1.0 + (each - 1.0) * icc) / size
        with np.errstate(invalid="ignore", divide="ignore"):
            plain = self.variance / (p * q)
            behind = np.minimum(
                np.square(p * total) / np.maximum(inside, 1e-300),
                np.square(q * total) / np.maximum(outside, 1e-300),
            )
            behind = np.nan_to_num(behind, nan=0.0)
            # Of one cluster V is not known: it is worth one observation.
            plain = np.where(np.isfinite(plain), plain, np.where(clusters > 1.0, typical, 1.0))
            mixed = (behind * plain + _ADDED * typical) / (behind + _ADDED)
            inverse = np.maximum(np.maximum(plain, mixed), 1.0 / size)
            # The noise of log(V/pq), cluster by cluster: each adds d² to the sum, but changes p
            # and the total as well.
            slope = 2.0 * cross / (square * total) + (q - p) / (total * p * q)
            noise = (
                fourth / square**2
                + 4.0 * wholes / total**2
                + slope**2 * square
                - 4.0 * heavy / (square * total)
                - 2.0 * slope * cube / square
                + 4.0 * slope * cross / total
                - 1.0 / clusters
            )
        # That of normal sums, for as much of V as is due to clusters: the fourth powers of a few
        # sums are no better known than the squares.
        least = 2.0 * np.square(1.0 - 1.0 / each) / np.maximum(clusters - 1.0, 0.5)
        noise = np.maximum(np.nan_to_num(noise, nan=0.0, posinf=0.0), least)
        freedom = np.maximum(2.0 / np.maximum(noise, 1e-9), 1.0)
        return np.where(known, inverse, 0.0), freedom


def worth_at(inverse: Floats, freedom: Floats, z: Floats | float) -> Floats:
    """The number of observations, smaller by (z/t)², t being Student's quantile for the normal z.

    At least one; 0 where there is nobody at all. The quantile is that of
    `inference.intervals.student`.

    >>> worth_at(np.array([0.01]), np.array([1e12]), 1.96)
    array([100.])
    """
    z2 = np.maximum(np.square(z), 1e-9)
    growth = z2 * np.square((8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)) / freedom
    wider = freedom * np.expm1(np.minimum(growth, 500.0)) / z2
    wider = np.where(freedom < 1e9, np.maximum(wider, 1.0), 1.0)
    return np.where(inverse > 0.0, np.maximum(ratio(1.0, inverse * wider, 1.0), 1.0), 0.0)


def shares_of_cuts(n: float, steps: int = 64) -> Floats:
    """Shares at which the noise of a sample is looked at: even ones, and ever smaller at the ends.

    >>> shares_of_cuts(100, 4).round(2)
    array([0.01, 0.02, 0.04, 0.07, 0.13, 0.25, 0.5 , 0.75, 0.87, 0.93, 0.96,
           0.98, 0.99])
    """
    even = np.arange(1, steps) / steps
    n = max(n, 2.0 * steps)
    ends = np.geomspace(1.0 / n, 1.0 / steps, max(3, int(1.5 * np.log2(n / steps))))
    return np.unique(np.concatenate([even, ends, 1.0 - ends]).round(12))


def worth_of_cuts(
    clusters: Clusters, place: Ints, share: Floats, effective: float, independent: Floats
) -> tuple[Floats, Floats, Floats, float]:
    """What the shares above increasing cuts of a sample are worth: see `ClusterMoments.worth`.

    `place` says below how many of the cuts, from the highest, each row lies; `share` are the shares
    above them. `effective` and `independent` are the sizes of all and behind each share if all
    observations were independent. Gives the shares, one over their sizes, their degrees of freedom
    and the correlation within clusters.
    """
    if not len(share):  # all are equal: one cluster may be all there is above a cut
        half = np.array([0.5])
        return half, half * 2.0 / clusters.effective_number, half * 4e9, 1.0
    moments = ClusterMoments.empty(share)
    for sums in clusters.sums_by_place(place, len(share) + 1):
        above = np.cumsum(sums, axis=0)
        moments.collect(above[:-1], above[-1] - above[:-1])
    # The correlation of all cuts together: of V and of p(1 − p) the integrals over p.
    each = float(moments.per_cluster(np.asarray(effective))[0])
    p = np.concatenate([[0.0], share, [1.0]])
    variance = np.concatenate([[0.0], moments.variance, [0.0]])
    effect = np.trapezoid(variance, p) / np.trapezoid(p * (1.0 - p), p) * effective
    icc = float(np.clip((effect - 1.0) / max(each - 1.0, 1e-9), 0.0, 1.0))
    return share, *moments.worth(independent, icc), icc
